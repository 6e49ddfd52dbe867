import { type ApiReceiver, apiOf, namedApiOf } from '../../config/api.ts';
import type { NotifyReceiver } from '../../config/notifySettings.ts';
import type { Snapshot, Version } from '../../config/snapshot.ts';
import type { Document, Section } from '../../shared/document.ts';
import { dayText, type Instant, isoText, isoTextOrNull, rfc3339 } from '../../shared/instant.ts';
import { inLargestUnit, plural, printableExcerpt } from '../../shared/text.ts';
import { type EditWatchStatus, withoutOtherApis } from '../../versions/editWatch/watchStatus.ts';
import type { BrownoutStatus } from '../../versions/lifecycle/brownouts.ts';
import { stageOf, successorOf } from '../../versions/lifecycle/stage.ts';
import { shareInWords } from '../../versions/retirement/words.ts';

const dayMs = 86_400_000;
// A gateway that was stopped on the date still sends the event if it starts within this time.
const lateMs = 7 * dayMs;
// Without `brownout.notice`, a brownout is reported this long before it begins.
const defaultNoticeMs = 7 * dayMs;
// The queue remembers sent events, because a gateway may find them again. It forgets an event this long after the last time at
// which a gateway can find the event.
export const rememberedMs = 30 * dayMs;

/** The most events of one group, such as the new clients of a version on one day (UTC). A summary follows after the day. */
export const maxEventsPerGroup = 10;

type ConfiguredType = NotifyReceiver['events'][number];
export type NotifyEventType = ConfiguredType | 'digest' | 'test';

/**
 * Whose receivers get an event. Those of the root get the events of all APIs; other receivers get `version` if the version belongs to
 * their API, and `digest` if it is the one of their API. `host`: only those of the root.
 */
const audiences: Readonly<Record<NotifyEventType, 'version' | 'digest' | 'host'>> = {
  // The owners of the version have set the dates, and can move them.
  deprecation: 'version',
  'sunset-90d': 'version',
  'sunset-30d': 'version',
  'sunset-7d': 'version',
  brownout: 'version',
  // The clients of a version are the business of its API, and of no other one.
  'new-client': 'version',
  'came-back': 'version',
  // The version is worse off since an edit, whoever made it.
  'lost-requests': 'version',
  // All APIs share the ledger, and only its operator can mend it.
  'ledger-problem': 'host',
  // The one of the root is about the whole host; it would show each API the clients of the others.
  digest: 'digest',
  // A test goes to all receivers without the queue.
  test: 'host',
};

/** Whether a receiver gets events about this API. Whether it asked for their type is not considered. */
export function isAddressedTo({ type, api }: Pick<NotifyEvent, 'type' | 'api'>, receiver: Pick<ApiReceiver, 'api'>) {
  if (audiences[type] === 'digest' || receiver.api !== undefined) return receiver.api === api;
  return true;
}

/** The event with the API of its version, unless that is the root. */
export function withApi(event: NotifyEvent): NotifyEvent {
  const version = event.data['version'];
  if (audiences[event.type] !== 'version' || typeof version !== 'string') return event;
  const api = namedApiOf(version);
  return api === undefined ? event : { ...event, api, data: { ...event.data, api } };
}

/** An event that receivers are notified of, as plain data. Instants in epoch ms; texts are safe to print. */
export interface NotifyEvent extends Pick<Document, 'title'> {
  readonly sections: readonly Section[];
  /** The same on every gateway that finds the event, and at every start: the queue keeps one row per id and receiver. */
  readonly id: string;
  readonly type: NotifyEventType;
  /** The date that the event is about, or when it was found. */
  readonly at: number;
  /** For programs: the members of `data` in the JSON format. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Until when the queue must remember that the event was sent. */
  readonly keepUntil: number;
  /** Events of one group share a limit: at most `maxEventsPerGroup` are queued. */
  readonly group?: string;
  /** The base of the API that the event is about. Undefined: the root, or the whole host. */
  readonly api?: string;
  /** True if other gateways of the fleet cannot know of it. */
  readonly isOfOneGateway?: boolean;
}

/** The body of `GET /api/digest`. */
export interface DigestJson extends Pick<NotifyEvent, 'type' | 'title' | 'sections' | 'data'> {
  readonly at: Instant;
}

export function digestJson({ type, at, title, sections, data }: NotifyEvent): DigestJson {
  return { type, at: isoText(at), title, sections, data };
}

/** What ends on a date: a version, or routes of a version that end together. */
interface Ending {
  readonly version: Version;
  /** A stable part of the ids of its events. */
  readonly key: string;
  /** `/v1`, or `GET /v1/search and 2 more routes`. */
  readonly subject: string;
  readonly isPlural: boolean;
  readonly routes: readonly string[] | undefined;
  readonly deprecation: number | undefined;
  readonly sunset: number | undefined;
}

const thresholds = [
  ['sunset-7d', 7],
  ['sunset-30d', 30],
  ['sunset-90d', 90],
] as const;

/**
 * Events about the dates of versions and routes, and about brownouts ahead. A sunset has one event: for the nearest threshold that has
 * been reached (7, 30 or 90 days). `brownouts`: those of the snapshot, as far as their states are known.
 */
export function dateEvents(snapshot: Snapshot, now: number, brownouts: readonly BrownoutStatus[] = []): NotifyEvent[] {
  const endingEvents = endingsOf(snapshot, now).flatMap((ending) => {
    const { version, key, subject, isPlural, routes, deprecation, sunset } = ending;
    const data = {
      version: version.name,
      ...(routes && { routes }),
      deprecation: isoTextOrNull(deprecation),
      sunset: isoTextOrNull(announcedSunset(ending)),
      successor: successorOf(version, snapshot, now)?.name ?? null,
    };
    const events: NotifyEvent[] = [];
    const add = (type: ConfiguredType, at: number, title: string, keepUntil: number): void => {
      const sections = [{ lines: outlook(ending, snapshot, now) }];
      events.push({ id: `${type} ${key} ${isoText(at)}`, type, at, title, sections, data, keepUntil });
    };
    if (deprecation !== undefined && deprecation <= now && now < deprecation + lateMs) {
      const title = `${subject} ${isPlural ? 'are' : 'is'} deprecated since ${dayText(deprecation)}`;
      add('deprecation', deprecation, title, deprecation + lateMs + rememberedMs);
    }
    if (sunset === undefined || sunset <= now) return events;
    const [type] = thresholds.find(([, days]) => sunset - now <= days * dayMs) ?? [];
    const title = `The sunset of ${subject} is in ${inLargestUnit(sunset - now)}: ${dayText(sunset)}`;
    if (type) add(type, sunset, title, sunset + rememberedMs);
    return events;
  });
  return [...endingEvents, ...announcedBrownouts(snapshot, now, brownouts)];
}

/** The brownouts that are due within their notice. Shortly before its start, a brownout may still be skipped. */
function announcedBrownouts(snapshot: Snapshot, now: number, statuses: readonly BrownoutStatus[]): NotifyEvent[] {
  const cancelledStatuses = statuses.filter(({ state }) => state === 'stopped' || state === 'skipped');
  const cancelled = new Set(cancelledStatuses.map(({ version, at: startText }) => `${version} ${startText}`));
  const versions = snapshot.sortedVersions.filter((version) => stageOf(version, now) !== 'retired');
  return versions.flatMap(({ name, brownouts }) => {
    const noticeMs = apiOf(name, snapshot).brownout.notice || defaultNoticeMs;
    return brownouts
      .filter(({ at }) => at > now && at - now <= noticeMs && !cancelled.has(`${name} ${rfc3339(at)}`))
      .map((window): NotifyEvent => {
        const lines = [
          `It ends at ${rfc3339(window.end)}, and refuses ${brownoutScope(window.clientShare, window.routes)}.`,
        ];
        const { at, end, clientShare: clients, routes } = window;
        const routeTexts =
          routes?.map(({ method, path }) => `${method} ${snapshot.gateway.basePath}/${name}${path}`) ?? null;
        return {
          id: `brownout announced ${name} ${rfc3339(at)}`,
          type: 'brownout',
          at,
          title: `A brownout of /${name} is due in ${inLargestUnit(at - now)}: ${rfc3339(at)}`,
          sections: [{ lines }],
          data: {
            version: name,
            state: 'announced',
            begin: isoTextOrNull(at),
            end: isoTextOrNull(end),
            clients,
            routes: routeTexts,
          },
          keepUntil: end + rememberedMs,
        };
      });
  });
}

// `missed` is left out: a gateway that has just started gives this state to every past brownout, until it has read the ledger.
const brownoutStates: Partial<Record<BrownoutStatus['state'], string>> = {
  running: 'has begun',
  ended: 'has ended',
  stopped: 'was stopped',
  skipped: 'is skipped',
};

/** The brownouts that have begun or ended, or will not begin. `data` has the members of an announced brownout, and `reason`. */
export function brownoutEvents(
  brownouts: readonly BrownoutStatus[],
  { gateway: { basePath } }: Pick<Snapshot, 'gateway'>,
  now: number,
): NotifyEvent[] {
  return brownouts.flatMap((status): NotifyEvent[] => {
    const { version, at, until, clients, routes, state, reason } = status;
    const what = brownoutStates[state];
    const end = Date.parse(until);
    if (what === undefined || now >= end + dayMs) return [];
    const why = reason === null ? [] : [`The reason: ${printableExcerpt(reason, 300)}.`];
    const lines = state === 'running' ? [`It ends at ${until}, and refuses ${brownoutScope(clients, routes)}.`] : why;
    return [
      {
        id: `brownout ${state} ${version} ${at}`,
        type: 'brownout',
        at: now,
        title: `The brownout of /${version} at ${at} ${what}`,
        sections: [{ lines: [...lines, `\`version-gateway brownout report /${version}\` shows what the clients do.`] }],
        data: {
          version,
          state,
          begin: isoTextOrNull(Date.parse(at)),
          end: isoTextOrNull(end),
          clients,
          routes: routes?.map((route) => route.replace(' ', ` ${basePath}/${version}`)) ?? null,
          reason,
        },
        keepUntil: end + rememberedMs,
      },
    ];
  });
}

function brownoutScope(clientShare: number, routes: readonly unknown[] | null | undefined): string {
  const what = routes ? `the requests to ${plural(routes.length, 'route')}` : 'the requests';
  return clientShare < 1 ? `${what} of ${shareInWords(clientShare)} of the clients` : what;
}

/** The versions in service, and the routes of each that end before it does. */
function endingsOf({ sortedVersions, gateway }: Snapshot, now: number): Ending[] {
  return sortedVersions
    .filter((version) => stageOf(version, now) !== 'retired')
    .flatMap((version) => {
      const { name, deprecation, sunset, ends } = version;
      const wholeEnding = {
        version,
        key: name,
        subject: `/${name}`,
        isPlural: false,
        routes: undefined,
        deprecation,
        sunset,
      };
      const endsByDates = Map.groupBy(ends, (end) => `${end.deprecation} ${end.sunset}`);
      const partEndings = [...endsByDates].map(([dates, group]): Ending => {
        const routes = group.map(({ method, path }) => `${method} ${gateway.basePath}/${name}${path}`);
        const more = routes.length - 1;
        const subject = printableExcerpt(routes[0] ?? '') + (more > 0 ? ` and ${plural(more, 'more route')}` : '');
        const [first] = group;
        const endDates = { deprecation: first?.deprecation, sunset: first?.sunset };
        return { version, key: `${name} ${dates}`, subject, isPlural: more > 0, routes, ...endDates };
      });
      return [wholeEnding, ...partEndings];
    });
}

/** The sunset in the responses: a route without a sunset of its own ends with its version. */
function announcedSunset({ version, sunset }: Ending): number | undefined {
  return sunset ?? version.sunset;
}

function outlook(ending: Ending, snapshot: Snapshot, now: number): string[] {
  const { version, routes } = ending;
  const { name } = version;
  const sunset = announcedSunset(ending);
  const successor = successorOf(version, snapshot, now);
  const sunsetText = sunset === undefined ? 'No sunset is set.' : `The sunset is ${dayText(sunset)}.`;
  const successorText = successor ? `The successor is /${successor.name}.` : `/${name} has no successor.`;
  const listedRoutes = (routes ?? []).slice(0, 20).map((route) => printableExcerpt(route, 100));
  const more = (routes ?? []).length - listedRoutes.length;
  const usageHint = `\`version-gateway usage /${name}\` shows who still calls it.`;
  return [
    `${sunsetText} ${successorText} ${usageHint}`,
    ...listedRoutes,
    ...(more > 0 ? [`and ${plural(more, 'more route')}`] : []),
  ];
}

/** The client's name as it is shown. Anyone may choose a User-Agent or a client id. */
export function clientNameOf({ client, name }: { readonly client: string; readonly name: string | undefined }): string {
  return printableExcerpt(name ?? client);
}

/**
 * `kind`: what failed; at most one event of a kind is sent for each hour. `text`: sentences for the operator. `at`: when it
 * began, epoch ms.
 */
export function ledgerProblemEvent(gateway: string, kind: string, text: string, at: number): NotifyEvent {
  const hour = isoText(at).slice(0, 13);
  return {
    id: `ledger-problem ${gateway} ${kind} ${hour}`,
    type: 'ledger-problem',
    at,
    title: `The usage ledger of ${printableExcerpt(gateway)} has a problem`,
    sections: [{ lines: [printableExcerpt(text, 1_000)] }],
    data: { gateway, kind, text },
    keepUntil: at + rememberedMs,
    isOfOneGateway: true,
  };
}

/** The versions whose share of lost requests has jumped since an edit. A jump is reported once, also if it is over by now. */
export function lostRequestsEvents(watches: readonly EditWatchStatus[], gateway: string): NotifyEvent[] {
  return watches.map(withoutOtherApis).flatMap((watch): NotifyEvent[] => {
    const { version, found_at: foundAt, text, edits, before, after, undo, undo_lines: undoLines } = watch;
    if (foundAt === null) return [];
    const at = Date.parse(foundAt);
    const more = undoLines - undo.length;
    const changes = edits.flatMap((edit) => edit.changes.map((change) => printableExcerpt(change, 300)));
    const undoTexts = undo.map((one) => printableExcerpt(one.text, 300));
    const sections: Section[] = [
      { lines: [`${text}.`] },
      {
        heading: 'What the edit changed',
        lines: changes.length > 0 ? changes : ['No version and no setting that the gateway lists.'],
      },
      ...(undo.length > 0
        ? [{ heading: 'To undo it', lines: [...undoTexts, ...(more > 0 ? [`and ${plural(more, 'more line')}`] : [])] }]
        : []),
    ];
    const lastEdit = edits.at(-1)?.at ?? '';
    return [
      {
        id: `lost-requests ${gateway} ${version} ${lastEdit}`,
        type: 'lost-requests',
        at,
        title: `/${version} loses requests since an edit of routes.yaml on ${printableExcerpt(gateway)}`,
        sections,
        data: { gateway, version, edits, before, after, undo },
        keepUntil: at + rememberedMs,
        isOfOneGateway: true,
      },
    ];
  });
}

const weekMs = 7 * dayMs;
// Monday, 5 January 1970, 06:00 UTC. All digests are a multiple of a week later.
const firstDigestMs = 4 * dayMs + 6 * 3_600_000;
// A gateway that was stopped on Monday still sends the digest if it starts within this time.
const digestLateMs = 2 * dayMs;

/** The Monday, 06:00 UTC, of the digest that is due at `now`; undefined: none is. Epoch ms. */
export function digestDue(now: number): number | undefined {
  const monday = Math.floor((now - firstDigestMs) / weekMs) * weekMs + firstDigestMs;
  return now < monday + digestLateMs ? monday : undefined;
}
