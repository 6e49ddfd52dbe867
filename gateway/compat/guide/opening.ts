import { plural } from '../../shared/text.ts';
import { type Guide, type GuideRoute, isBreaking, tasksOf } from './guide.ts';
import { dateInWords, named } from './words.ts';

/** What to do at all, in order. `now` decides between what will be and what has been. */
export function openingOf({ from, to, end, routes }: Guide): string[] {
  const { oldBase, newBase } = end;
  return [
    `Call ${named(newBase)} in place of ${named(oldBase)}.`,
    ...dates(from, end),
    `${summary(from, routes)}`,
    `Ignore what you do not know in the responses of ${to}: what is only new is listed at the end.`,
  ];
}

function dates(from: string, { deprecation, sunset, isGoneAfterwards, isRetired }: Guide['end']): string[] {
  if (isRetired) return [`Do it now: ${from} is retired, and every request to it is answered with 410 Gone.`];
  const since = deprecation === undefined ? '' : ` It is deprecated from ${dateInWords(deprecation)} on.`;
  if (sunset !== undefined) {
    const then = isGoneAfterwards ? 'answered with 410 Gone' : 'no longer promised to be answered';
    return [`Do it before ${dateInWords(sunset)}: from then on requests to ${from} are ${then}.${since}`];
  }
  return since === '' ? [] : [`${since.trim()} Its end has no date yet.`.replace('It is', `${from} is`)];
}

function summary(from: string, routes: readonly GuideRoute[]): string {
  const old = routes.filter(({ old }) => old !== undefined);
  const breaking = old.filter((route) => isBreaking(route)).length;
  const moved = old.filter(({ state }) => state === 'moved').length;
  const gone = old.filter(({ state }) => state === 'gone').length;
  if (breaking + moved === 0)
    return `Nothing else has to be done: none of the ${plural(old.length, 'route')} of ${from} breaks.`;
  const parts = [
    `${breaking - gone} with breaking changes`,
    `${moved} under another path`,
    `${gone} that ${gone === 1 ? 'is' : 'are'} gone`,
  ].filter((part) => !part.startsWith('0 '));
  return `Look through the routes that you call. Of the ${plural(old.length, 'route')} of ${from} there ${parts[0]?.startsWith('1 ') ? 'is' : 'are'} ${listed(parts)}.`;
}

function listed(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

/** "moved, 3 changes, breaking". */
export function stateInWords(route: GuideRoute): string {
  const { state } = route;
  const tasks = tasksOf(route);
  if (state === 'gone' || state === 'new' || state === 'unchanged') return state;
  if (tasks === 0) return state === 'changed' ? 'additions only' : state;
  return `${state === 'moved' ? 'moved, ' : ''}${plural(tasks, 'change')}${isBreaking(route) ? ', breaking' : ''}`;
}
