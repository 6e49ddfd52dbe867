import type { Change, Step } from '../change.ts';
import type { CollectedChange, Occurrence } from '../collect.ts';
import type { Route } from '../diff/routes.ts';
import type { ContractPlace } from '../document/located.ts';
import { labelOf } from '../rules/subjects.ts';
import { split } from './side.ts';
import { named } from './words.ts';

/** Where a change is felt: in a route, below some parts, at a path of a value. */
export interface Spot {
  readonly route: Route;
  readonly steps: readonly Step[];
}

export interface Member {
  readonly change: Change;
  /** From what the group is about to the change. */
  readonly steps: readonly Step[];
  /** The same as keys of a value, the change's own name included. */
  readonly path: readonly string[];
}

/** Changes that are told together. */
export interface Group {
  readonly subject: string;
  /** More than one: it is told once for all of them. */
  readonly spots: readonly [Spot, ...Spot[]];
  readonly members: Member[];
}

/** Changes that are worth telling a client, by what they are about. */
export function groupsOf(changes: readonly CollectedChange[]): Group[] {
  const groups = new Map<string, Group>();
  const idOf = numbered();
  for (const { change, occurrences } of changes) {
    const spots = occurrences.filter(isInRoute);
    const [first, ...others] = spots;
    if (!first) continue;
    const component = others.length > 0 ? componentOf(change) : undefined;
    const steps = component?.steps ?? afterFirst(first.steps, change);
    const about = component ? named(component.name) : subjectOfPart(first.steps, change);
    const key = JSON.stringify([about, spots.map(({ route }) => idOf(route))]);
    const base = ([spot, ...more]: readonly [Spot, ...Spot[]]): [Spot, ...Spot[]] => [
      withoutEnd(spot, steps),
      ...more.map((one) => withoutEnd(one, steps)),
    ];
    const group = groups.get(key) ?? { subject: about, spots: base([first, ...others]), members: [] };
    group.members.push({ change, steps, path: [...split(steps).path, ...ownPath(change)] });
    groups.set(key, group);
  }
  return [...groups.values()];
}

function isInRoute(occurrence: Occurrence): occurrence is Occurrence & Spot {
  return occurrence.route !== undefined;
}

/** Where the schema that a change is in is told apart by its name: what clients generate types from. */
function componentOf({ kind, old, new: now }: Change): { name: string; steps: Step[] } | undefined {
  const place = (old ?? now)?.place;
  const keys = place ? keysOf(place) : [];
  const at = keys.findIndex((key, index) => key === 'components' && keys[index + 1] === 'schemas');
  const name = at === -1 ? undefined : keys[at + 2];
  if (name === undefined) return undefined;
  const steps = stepsIn(keys.slice(at + 3));
  if (kind === 'field' && steps.at(-1)?.kind === 'field') steps.pop();
  return { name, steps };
}

function stepsIn(keys: readonly string[]): Step[] {
  const steps: Step[] = [];
  for (let index = 0; index < keys.length; index += 1) {
    const [key, next] = [keys[index], keys[index + 1]];
    if (key === 'items') steps.push({ kind: 'items', text: '[]' });
    else if (key === 'properties' && next !== undefined) steps.push({ kind: 'field', text: next });
    if (key === 'properties') index += 1;
  }
  return steps;
}

function keysOf(place: ContractPlace): string[] {
  const keys: string[] = [];
  for (let at = place; at.parent !== undefined; at = at.parent) keys.push(at.key);
  return keys.reverse();
}

/** A parameter is told with the others; of all else the first part is the subject. */
function afterFirst(steps: readonly Step[], change: Change): readonly Step[] {
  return isAboutParameter(steps, change) || steps[0]?.kind !== 'part' ? steps : steps.slice(1);
}

function subjectOfPart([first]: readonly Step[], change: Change): string {
  if (isAboutParameter(first ? [first] : [], change)) return 'Parameters';
  if (change.kind === 'security') return 'Access';
  if (change.kind === 'body') return 'Request body';
  if (first?.kind !== 'part') return /status$/.test(change.kind) ? 'Responses' : 'The route';
  return `${first.text.slice(0, 1).toUpperCase()}${first.text.slice(1)}`;
}

function isAboutParameter([first]: readonly Step[], { kind }: Change): boolean {
  return kind === 'parameter' || (first?.kind === 'part' && / parameter `/.test(first.text));
}

function ownPath(change: Change): string[] {
  const { kind, name } = change;
  return (kind === 'field' || kind === 'presence') && name !== '' ? [labelOf(change)] : [];
}

/** Steps of a component are a spot's last ones, unless the two took different ways: then the spot is as near as it gets. */
function withoutEnd({ route, steps }: Spot, end: readonly Step[]): Spot {
  const from = steps.length - end.length;
  const isEnd = from >= 0 && end.every(({ text }, index) => steps[from + index]?.text === text);
  return { route, steps: isEnd ? steps.slice(0, from) : steps };
}

function numbered(): (route: Route) => number {
  const ids = new Map<Route, number>();
  return (route) => {
    const id = ids.get(route) ?? ids.size;
    ids.set(route, id);
    return id;
  };
}
