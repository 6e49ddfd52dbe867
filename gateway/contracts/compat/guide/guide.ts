import type { RouteName } from '../../../contract/routes.ts';
import { isoText, rfc3339 } from '../../../shared/instant.ts';
import { firstOf, plural } from '../../../shared/text.ts';
import { looksRenamedPhrase, routeInWords } from '../rules/words.ts';

/**
 * What clients of one major have to change for the next one. Texts may contain names in backticks, as the sentences of the
 * report do.
 */
export interface Guide {
  /** `v1`. */
  readonly from: string;
  readonly to: string;
  /** The title of the older contract, or empty. */
  readonly title: string;
  readonly versionEnd: VersionEnd;
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
  /** Whether it is retired, but still serves some clients. */
  readonly isWaived?: boolean;
  /** When some requests are refused on purpose. */
  readonly brownouts?: readonly { readonly at: number; readonly end: number }[];
  /** `https://api.example.com/v1`, or `/v1` if the host is not known. */
  readonly oldBaseUrl: string;
  readonly newBaseUrl: string;
  /** The command that requests responses with unknown members. Undefined: the newer major cannot send such responses. */
  readonly grease?: string | undefined;
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
  readonly requestLine: BeforeAfter | undefined;
  /** Changes of this route only. */
  readonly topics: readonly Topic[];
  readonly shared: readonly SharedTopic[];
}

export interface SharedTopic {
  readonly topic: Topic;
  /** The part of the route that the topic affects: "response 200 field `drinks[]`". Empty for parameters, or the whole route. */
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
  /** Whether a value in the excerpt is generated from its schema, because the contract has no example of the value. */
  readonly isGenerated: boolean;
}

/** The name of a route in the older major, which clients know. A new route has only a name in the newer major. */
export function nameOf({ old, new: newRoute }: GuideRoute): string {
  const name = old ?? newRoute;
  return name ? routeInWords(name) : '';
}

/** The new name of a route; undefined if the name has not changed. */
export function newNameOf({ old, new: newRoute }: GuideRoute): string | undefined {
  if (!old || !newRoute) return undefined;
  const name = routeInWords(newRoute);
  return name === routeInWords(old) ? undefined : name;
}

/** The number of errors and warnings. */
export function changeCount(route: GuideRoute): number {
  return allTopics(route).reduce((sum, { changes }) => sum + changes.length, 0);
}

export function isBreakingRoute(route: GuideRoute): boolean {
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

/** Shared topic → the routes that it is in. */
export function routesByTopic({ routes }: Guide): ReadonlyMap<Topic, readonly GuideRoute[]> {
  const byTopic = new Map<Topic, GuideRoute[]>();
  for (const route of routes) {
    for (const { topic } of route.shared) {
      const sharing = byTopic.get(topic);
      if (sharing) sharing.push(route);
      else byTopic.set(topic, [route]);
    }
  }
  return byTopic;
}

function allTopics({ topics, shared }: GuideRoute): Topic[] {
  return [...topics, ...shared.map(({ topic }) => topic)];
}

/** A name from a contract, for a text with backticks. */
export function inBackticks(name: string): string {
  return `\`${name.replaceAll('`', "'")}\``;
}

/** The first items of a list, and how many more there are, in words. */
export function firstItems<Item>(
  items: readonly Item[],
  most = 12,
): { readonly shown: readonly Item[]; readonly andMore: string } {
  const omitted = items.length - most;
  return omitted < 1 ? { shown: items, andMore: '' } : { shown: items.slice(0, most), andMore: ` and ${omitted} more` };
}

/** What every client has to do, in order. */
export function instructionsOf({ from, to, versionEnd, routes }: Guide): string[] {
  return [
    `Call ${inBackticks(versionEnd.newBaseUrl)} instead of ${inBackticks(versionEnd.oldBaseUrl)}.`,
    ...datesInWords(from, versionEnd),
    ...brownoutsInWords(from, versionEnd),
    routesInWords(from, routes),
    `Ignore unknown fields in the responses of ${to}. Additions are listed at the end.`,
    ...(versionEnd.grease === undefined
      ? []
      : [`To test this, use ${inBackticks(versionEnd.grease)}: its responses contain unknown fields.`]),
  ];
}

function datesInWords(
  from: string,
  { deprecation, sunset, isGoneAfterSunset, isRetired, isWaived }: VersionEnd,
): string[] {
  const exception = isWaived ? ', except requests of single clients, each until its own date' : '';
  if (isRetired) return [`Move now: ${from} is retired, and requests to it are answered with 410 Gone${exception}.`];
  const start = deprecation === undefined ? undefined : dateInWords(deprecation);
  if (sunset !== undefined) {
    const then = isGoneAfterSunset ? 'are answered with 410 Gone' : 'may fail';
    const deprecated = start === undefined ? '' : ` ${from} is deprecated from ${start}.`;
    return [`Move before ${dateInWords(sunset)}: after that, requests to ${from} ${then}.${deprecated}`];
  }
  return start === undefined ? [] : [`${from} is deprecated from ${start}. It has no sunset date yet.`];
}

function brownoutsInWords(from: string, { brownouts = [], isRetired }: VersionEnd): string[] {
  if (isRetired || brownouts.length === 0) return [];
  const times = firstOf(brownouts, 12, ({ at, end }) => `${rfc3339(at)} to ${rfc3339(end)}`);
  return [`Expect that requests to ${from} are refused in brownouts: ${times}.`];
}

function routesInWords(from: string, routes: readonly GuideRoute[]): string {
  const oldRoutes = routes.filter((route) => route.old !== undefined);
  const breakingCount = oldRoutes.filter((route) => route.state !== 'removed' && isBreakingRoute(route)).length;
  const movedCount = oldRoutes.filter(({ state }) => state === 'moved').length;
  const removedCount = oldRoutes.filter(({ state }) => state === 'removed').length;
  const oldRoutesInWords = plural(oldRoutes.length, 'route');
  if (breakingCount + movedCount + removedCount === 0)
    return `Nothing else is required: none of the ${oldRoutesInWords} of ${from} has breaking changes.`;
  const parts = [
    breakingCount > 0 ? `${breakingCount} ${breakingCount === 1 ? 'has' : 'have'} breaking changes` : [],
    movedCount > 0 ? `${movedCount} ${movedCount === 1 ? 'has' : 'have'} another path` : [],
    removedCount > 0 ? `${removedCount} ${removedCount === 1 ? 'was' : 'were'} removed` : [],
  ].flat();
  const listed = parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
  return `Check the routes that you call. Of the ${oldRoutesInWords} of ${from}, ${listed}.`;
}

/** The first sentence of the section about a removed route. */
export function removalInWords({ renamedTo }: GuideRoute): string {
  return renamedTo === ''
    ? 'This route was removed without a replacement.'
    : `This route was removed. It ${looksRenamedPhrase(renamedTo)}.`;
}

export interface Additions {
  /** "`GET /cocktails`, response 200", or the name of a shared schema. */
  readonly subject: string;
  readonly texts: readonly string[];
}

/** All additions of a guide, each listed once. */
export function additionsIn({ routes, shared }: Guide): Additions[] {
  const additionsOfRoutes = routes.flatMap(({ old, new: newRoute, topics }) => {
    const name = newRoute ?? old;
    return topics.map(({ subject, additions }) => ({
      subject: `${name ? inBackticks(routeInWords(name)) : ''}, ${subject.slice(0, 1).toLowerCase()}${subject.slice(1)}`,
      texts: additions.map(({ text }) => text),
    }));
  });
  const additionsInSeveralRoutes = shared.map(({ subject, additions }) => ({
    subject,
    texts: additions.map(({ text }) => text),
  }));
  return [...additionsInSeveralRoutes, ...additionsOfRoutes].filter(({ texts }) => texts.length > 0);
}

const longDate = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });

/** "30 June 2029", with the time of day in UTC unless it is midnight. */
function dateInWords(instant: number): string {
  const time = isoText(instant).slice(11, 16);
  return time === '00:00' ? longDate.format(instant) : `${longDate.format(instant)}, ${time} UTC`;
}
