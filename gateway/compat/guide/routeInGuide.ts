import type { Change } from '../change.ts';
import type { RouteComparison } from '../diff/contracts.ts';
import { type Route, routeInWords, withoutNames } from '../diff/routes.ts';
import { below } from '../document/located.ts';
import { subjectOf } from '../rules/subjects.ts';
import { renameInWords } from '../rules/words.ts';
import { callOf } from './calls.ts';
import type { Group, Spot } from './groups.ts';
import { type GuideRoute, isBreaking, type RouteState, type Topic, tasksOf } from './guide.ts';
import type { Contracts } from './topics.ts';
import { anchorFor } from './words.ts';

export interface Told {
  readonly group: Group;
  readonly isShared: boolean;
  readonly topic: Topic;
}

export interface Around {
  readonly taken: Set<string>;
  readonly contracts: Contracts;
  readonly bases: { readonly old: string; readonly now: string };
  readonly renames: ReadonlyMap<Change, string>;
}

/** What became of a route, with what is told of it alone and what it shares. */
export function routeInGuide(
  { route, was, comparison }: RouteComparison,
  told: readonly Told[],
  { taken, contracts, bases, renames }: Around,
): GuideRoute {
  const [first] = comparison.changes;
  const isGone = first?.kind === 'route' && first.effect === 'removed';
  const topics = told.filter(({ isShared }) => !isShared).map(({ topic }) => topic);
  const renamedTo = first && renames.get(first);
  const isMoved = was !== undefined && was.path !== route.path && !isSamePath(was, route);
  const showsCall = isMoved || topics.some(({ subject }) => subject === 'Parameters');
  return {
    anchor: anchorFor(routeInWords(was ?? route), taken),
    state: isGone ? 'gone' : isMoved ? 'moved' : stateOf(was !== undefined, told.length),
    old: was,
    now: isGone ? undefined : route,
    summary: text(below((was ?? route).operation, 'summary').value),
    note: isGone && renamedTo !== undefined ? renameInWords(renamedTo) : '',
    call: showsCall && was ? callOf(was, route, contracts, bases) : undefined,
    topics,
    shared: told
      .filter(({ isShared }) => isShared)
      // Put into words only for those that are shown: hundreds of routes may share hundreds of schemas.
      .map(({ group, topic }) => ({
        topic,
        get where() {
          return whereIn(group, route);
        },
      })),
  };
}

function stateOf(wasThere: boolean, changes: number): RouteState {
  if (!wasThere) return 'new';
  return changes > 0 ? 'changed' : 'unchanged';
}

function whereIn({ spots }: Group, route: Route): string {
  const spot: Spot | undefined = spots.find((one) => one.route === route);
  return spot ? subjectOf(spot.steps) : '';
}

/** Names of parameters are never sent. */
function isSamePath(a: Route, b: Route): boolean {
  return withoutNames(a.path) === withoutNames(b.path);
}

/** What needs most work comes first. */
export function rank(route: GuideRoute): number {
  const { state } = route;
  if (state === 'gone') return 0;
  if (isBreaking(route)) return 1;
  if (state === 'moved') return 2;
  if (tasksOf(route) > 0) return 3;
  return state === 'changed' ? 4 : state === 'new' ? 5 : 6;
}

/** A text of the contract, if it is one. */
export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
