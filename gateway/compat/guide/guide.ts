import { type RouteName, routeInWords } from '../diff/routes.ts';

/**
 * What clients of one major have to do to live with the next one. Texts may hold names between backticks, as the
 * sentences of the report do; whoever shows them splits them by `partsOf`.
 */
export interface Guide {
  /** `v1`. */
  readonly from: string;
  readonly to: string;
  /** What the older contract calls the API; empty where it does not say. */
  readonly title: string;
  readonly end: End;
  /** What needs most work first. */
  readonly routes: readonly GuideRoute[];
  /** What concerns several routes, told once. */
  readonly shared: readonly Topic[];
}

/** What routes.yaml says about the end of the older major; instants are epoch milliseconds. */
export interface End {
  readonly deprecation: number | undefined;
  readonly sunset: number | undefined;
  /** Whether its requests are refused once the sunset has passed, or are by now. */
  readonly isGoneAfterwards: boolean;
  readonly isRetired: boolean;
  /** `https://api.example.com/v1`, or as much of it as is known. */
  readonly oldBase: string;
  readonly newBase: string;
}

export type RouteState = 'gone' | 'changed' | 'moved' | 'new' | 'unchanged';

export interface GuideRoute {
  /** `get-drinks-id`: lower-case letters, digits and hyphens; unique in its guide. */
  readonly anchor: string;
  readonly state: RouteState;
  readonly old: RouteName | undefined;
  readonly now: RouteName | undefined;
  /** What the contract says that it is for. */
  readonly summary: string;
  /** What there is to say of a route that is gone. */
  readonly note: string;
  /** The request line. */
  readonly call: Sample | undefined;
  /** Changes of its own. */
  readonly topics: readonly Topic[];
  readonly shared: readonly { readonly topic: Topic; readonly where: string }[];
}

/** Changes of one thing: a body, the parameters, a schema that several routes share. */
export interface Topic {
  readonly anchor: string;
  /** "Response 200", "`Cocktail`". */
  readonly subject: string;
  /** What clients have to act on, or to look at: breaking ones first. */
  readonly changes: readonly ToldChange[];
  /** What they may use and need not. */
  readonly additions: readonly ToldChange[];
  readonly sample: Sample | undefined;
}

export interface ToldChange {
  readonly level: 'error' | 'warn' | 'info';
  readonly text: string;
}

/** The same before and after. */
export interface Sample {
  readonly language: 'json' | 'http';
  readonly before: Excerpt | undefined;
  readonly after: Excerpt | undefined;
}

export interface Excerpt {
  readonly text: string;
  /** True: no example of the contract says it; made up from the types. */
  readonly isMadeUp: boolean;
}

/** As clients know it: by its older name, if it has one. */
export function nameOf({ old, now }: GuideRoute): string {
  const name = old ?? now;
  return name ? routeInWords(name) : '';
}

/** How much there is to look at. */
export function tasksOf({ topics, shared }: GuideRoute): number {
  return [...topics, ...shared.map(({ topic }) => topic)].reduce((sum, { changes }) => sum + changes.length, 0);
}

export function isBreaking({ state, topics, shared }: GuideRoute): boolean {
  const all = [...topics, ...shared.map(({ topic }) => topic)].flatMap(({ changes }) => changes);
  return state === 'gone' || all.some(({ level }) => level === 'error');
}

/** By what is shared, the routes that share it. */
export function sharers({ routes }: Guide): ReadonlyMap<Topic, readonly GuideRoute[]> {
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
