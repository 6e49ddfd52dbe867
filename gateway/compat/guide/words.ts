import { plural, printable } from '../../shared/text.ts';
import { renameInWords, routeInWords } from '../rules/words.ts';
import { type Guide, type GuideRoute, isBreaking, type VersionEnd } from './guide.ts';

/** A piece of a text: plain, or a name that was in backticks. */
export interface TextPart {
  readonly isCode: boolean;
  readonly text: string;
}

/** A stray backtick only changes which parts are code. The caller must still escape every part. */
export function partsOf(text: string): TextPart[] {
  return text
    .split('`')
    .map((part, index) => ({ isCode: index % 2 === 1, text: printable(part) }))
    .filter((part) => part.text !== '');
}

/** A name from a contract, for a text with backticks. */
export function inBackticks(name: string): string {
  return `\`${name.replaceAll('`', "'")}\``;
}

/** The first items of a list, and how many more there are, in words. */
export function firstItems<Item>(
  items: readonly Item[],
  most = 12,
): { readonly shown: readonly Item[]; readonly more: string } {
  const left = items.length - most;
  return left < 1 ? { shown: items, more: '' } : { shown: items.slice(0, most), more: ` and ${left} more` };
}

/** What every client has to do, in order. */
export function instructionsOf({ from, to, end, routes }: Guide): string[] {
  return [
    `Call ${inBackticks(end.newBase)} instead of ${inBackticks(end.oldBase)}.`,
    ...datesInWords(from, end),
    routesInWords(from, routes),
    `Ignore unknown fields in the responses of ${to}. Additions are listed at the end.`,
  ];
}

function datesInWords(from: string, { deprecation, sunset, isGoneAfterSunset, isRetired }: VersionEnd): string[] {
  if (isRetired) return [`Move now: ${from} is retired, and every request to it is answered with 410 Gone.`];
  const start = deprecation === undefined ? undefined : dateInWords(deprecation);
  if (sunset !== undefined) {
    const then = isGoneAfterSunset ? 'are answered with 410 Gone' : 'may not be answered';
    const deprecated = start === undefined ? '' : ` ${from} is deprecated from ${start}.`;
    return [`Move before ${dateInWords(sunset)}: after that, requests to ${from} ${then}.${deprecated}`];
  }
  return start === undefined ? [] : [`${from} is deprecated from ${start}. It has no sunset date yet.`];
}

function routesInWords(from: string, routes: readonly GuideRoute[]): string {
  const old = routes.filter((route) => route.old !== undefined);
  const breaking = old.filter((route) => route.state !== 'removed' && isBreaking(route)).length;
  const moved = old.filter(({ state }) => state === 'moved').length;
  const removed = old.filter(({ state }) => state === 'removed').length;
  const all = plural(old.length, 'route');
  if (breaking + moved + removed === 0)
    return `Nothing else is required: none of the ${all} of ${from} has breaking changes.`;
  const parts = [
    breaking > 0 ? `${breaking} ${breaking === 1 ? 'has' : 'have'} breaking changes` : [],
    moved > 0 ? `${moved} ${moved === 1 ? 'has' : 'have'} another path` : [],
    removed > 0 ? `${removed} ${removed === 1 ? 'was' : 'were'} removed` : [],
  ].flat();
  const listed = parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
  return `Check the routes that you call. Of the ${all} of ${from}, ${listed}.`;
}

/** What a section says first about a removed route. */
export function removalInWords({ renamedTo }: GuideRoute): string {
  return renamedTo === ''
    ? 'This route was removed without a replacement.'
    : `This route was removed. It ${renameInWords(renamedTo)}.`;
}

export interface Additions {
  /** "`GET /cocktails`, response 200", or the name of a shared schema. */
  readonly subject: string;
  readonly texts: readonly string[];
}

/** All additions of a guide, each listed once. */
export function additionsIn({ routes, shared }: Guide): Additions[] {
  const ofRoutes = routes.flatMap(({ old, new: now, topics }) => {
    const name = now ?? old;
    return topics.map(({ subject, additions }) => ({
      subject: `${name ? inBackticks(routeInWords(name)) : ''}, ${subject.slice(0, 1).toLowerCase()}${subject.slice(1)}`,
      texts: additions.map(({ text }) => text),
    }));
  });
  const ofShared = shared.map(({ subject, additions }) => ({ subject, texts: additions.map(({ text }) => text) }));
  return [...ofShared, ...ofRoutes].filter(({ texts }) => texts.length > 0);
}

const longDate = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });

/** "30 June 2029", with the time of day in UTC unless it is midnight. */
function dateInWords(instant: number): string {
  const time = new Date(instant).toISOString().slice(11, 16);
  return time === '00:00' ? longDate.format(instant) : `${longDate.format(instant)}, ${time} UTC`;
}
