import type { RouteName } from '../diff/routes.ts';
import { routeInWords } from '../rules/words.ts';

/**
 * What clients of one major have to change for the next one. Texts may contain names in backticks, as the sentences of the
 * report do; `partsOf` splits them.
 */
export interface Guide {
  /** `v1`. */
  readonly from: string;
  readonly to: string;
  /** The title of the older contract, or empty. */
  readonly title: string;
  readonly end: VersionEnd;
  /** The routes that need most work come first. */
  readonly routes: readonly GuideRoute[];
  /** Changes that several routes share, each listed once. */
  readonly shared: readonly Topic[];
}

/** The end of the older major, from routes.yaml. Instants are epoch milliseconds. */
export interface VersionEnd {
  readonly deprecation: number | undefined;
  readonly sunset: number | undefined;
  /** Whether requests are answered with 410 after the sunset. */
  readonly isGoneAfterSunset: boolean;
  readonly isRetired: boolean;
  /** `https://api.example.com/v1`, or `/v1` if the host is not known. */
  readonly oldBase: string;
  readonly newBase: string;
}

export type RouteState = 'removed' | 'changed' | 'moved' | 'new' | 'unchanged';

export interface GuideRoute {
  /** `get-drinks-id`: lower-case letters, digits and hyphens; unique in the guide. */
  readonly anchor: string;
  readonly state: RouteState;
  readonly old: RouteName | undefined;
  readonly new: RouteName | undefined;
  /** The `summary` in the contract, or empty. */
  readonly summary: string;
  /** For a removed route: its probable new name, or empty. */
  readonly renamedTo: string;
  /** The request line before and after. */
  readonly call: BeforeAfter | undefined;
  /** Changes of this route only. */
  readonly topics: readonly Topic[];
  readonly shared: readonly SharedTopic[];
}

export interface SharedTopic {
  readonly topic: Topic;
  /** The part of the route that the topic affects: "response 200 field `drinks[]`". */
  readonly where: string;
}

/** The changes to a body, to the parameters of a route, or to a schema that several routes share. */
export interface Topic {
  /** Empty unless several routes share it. */
  readonly anchor: string;
  /** "Response 200", "`Cocktail`". */
  readonly subject: string;
  /** Errors and warnings, errors first. */
  readonly changes: readonly DescribedChange[];
  /** Changes that need no action. */
  readonly additions: readonly DescribedChange[];
  readonly sample: BeforeAfter | undefined;
}

export interface DescribedChange {
  readonly level: 'error' | 'warn' | 'info';
  readonly text: string;
}

export interface BeforeAfter {
  readonly language: 'json' | 'http';
  readonly before: Excerpt | undefined;
  readonly after: Excerpt | undefined;
}

export interface Excerpt {
  readonly text: string;
  /** Whether a value in it is generated from its schema, because the contract has no example of it. */
  readonly isGenerated: boolean;
}

/** The name of a route in the older major, which clients know. A new route has only a name in the newer major. */
export function nameOf({ old, new: now }: GuideRoute): string {
  const name = old ?? now;
  return name ? routeInWords(name) : '';
}

/** The new name of a route; undefined if the name has not changed. */
export function newNameOf({ old, new: now }: GuideRoute): string | undefined {
  if (!old || !now) return undefined;
  const name = routeInWords(now);
  return name === routeInWords(old) ? undefined : name;
}

/** The number of errors and warnings. */
export function changeCount(route: GuideRoute): number {
  return allTopics(route).reduce((sum, { changes }) => sum + changes.length, 0);
}

export function isBreaking(route: GuideRoute): boolean {
  const changes = allTopics(route).flatMap((topic) => topic.changes);
  return route.state === 'removed' || changes.some(({ level }) => level === 'error');
}

/** Whether a route has more to show than its row in the table. */
export function hasSection(route: GuideRoute): boolean {
  return route.state === 'removed' || route.state === 'moved' || changeCount(route) > 0;
}

export function hasChanges({ changes }: Topic): boolean {
  return changes.length > 0;
}

/** The routes that share each topic. */
export function routesByTopic({ routes }: Guide): ReadonlyMap<Topic, readonly GuideRoute[]> {
  const known = new Map<Topic, GuideRoute[]>();
  for (const route of routes) {
    for (const { topic } of route.shared) {
      const found = known.get(topic);
      if (found) found.push(route);
      else known.set(topic, [route]);
    }
  }
  return known;
}

function allTopics({ topics, shared }: GuideRoute): Topic[] {
  return [...topics, ...shared.map(({ topic }) => topic)];
}
