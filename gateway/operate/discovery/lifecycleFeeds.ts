import { createHash } from 'node:crypto';
import { nameIn, segmentOf } from '../../config/api.ts';
import type { RouteEnd } from '../../config/snapshot.ts';
import { rfc3339 } from '../../shared/instant.ts';
import { html } from '../../shared/markup.ts';
import { printable } from '../../shared/text.ts';
import type { Overview, Overviews, VersionOverview } from './overview.ts';
import { feedPath, indexPath } from './paths.ts';

// All dates of the versions of one API or more, as a calendar (RFC 5545) and as a feed (RFC 4287).

/** A date or a period in the life of a version or of one of its routes. */
interface LifecycleEvent {
  /** Identifies the event, the same on all pages. It stays the same when a date is changed, except for brownouts. */
  readonly id: string;
  /** Epoch ms. */
  readonly at: number;
  /** The end of a period, epoch ms. */
  readonly end?: number;
  /** When the event was cancelled, epoch ms. */
  readonly cancelled?: number | undefined;
  readonly title: string;
  readonly text: string;
  /** The page about the event; may be relative. */
  readonly page: string;
}

/** The events of all versions of these APIs, earliest first. */
function eventsOf(apis: Overviews): LifecycleEvent[] {
  const [{ base }] = apis;
  const events = apis.flatMap((api) => api.versions.flatMap((one) => eventsOfVersion(one, api, base)));
  return events.sort((a, b) => a.at - b.at);
}

function eventsOfVersion(
  { version, stage, brownouts, isWaived, successor, guide }: VersionOverview,
  api: Overview,
  baseOfPage: string,
): LifecycleEvent[] {
  const [name, segment] = [nameIn(baseOfPage, version.name), segmentOf(version.name)];
  const idOf = (kind: string): string => uuidOf(`${segment} ${kind}`, api);
  const { deprecation, sunset, afterSunset, info, contract } = version;
  const waivedNote = isWaived ? ', except requests of single clients, each until its own date' : '';
  const page = info ?? guide ?? api.origin + indexPath(api.path);
  const moveNote = successor ? ` Move to /${nameIn(baseOfPage, successor.id)}: ${successor.url}` : '';
  const retiredNote =
    stage === 'retired' ? ` /${name} is retired: every request is answered 410 Gone${waivedNote}.` : '';
  const event = (kind: string, at: number | undefined, title: string, text: string): LifecycleEvent[] =>
    at === undefined
      ? []
      : [{ id: idOf(kind), at, title, text: text + (kind === 'retired' ? '' : retiredNote) + moveNote, page }];
  return [
    ...event('deprecation', deprecation, `/${name} is deprecated`, `/${name} is no longer recommended.`),
    ...event('sunset', sunset, `Sunset of /${name}`, `/${name} may stop at any time from now on.`),
    ...(afterSunset === 'gone'
      ? event('retired', sunset, `/${name} is retired`, `Every request to /${name} is answered 410 Gone${waivedNote}.`)
      : []),
    // The routes of an unpublished contract are not public.
    ...(contract?.publish === false ? [] : version.ends).flatMap((routeEnd) => {
      const [route, ownRoute] = [routeOf(name, routeEnd), routeOf(segment, routeEnd)];
      const since = Math.min(routeEnd.deprecation, deprecation ?? routeEnd.deprecation);
      return [
        ...event(`deprecation ${ownRoute}`, since, `${route} is deprecated`, `${route} is no longer recommended.`),
        ...event(
          `sunset ${ownRoute}`,
          routeEnd.sunset,
          `Sunset of ${route}`,
          `${route} is not continued in the next major.`,
        ),
      ];
    }),
    ...brownouts.map(({ at, end, routes, cancelled }) => {
      const id = idOf(`brownout ${rfc3339(at)}`);
      const title = `Brownout of /${name}`;
      if (cancelled !== undefined) {
        const text = `Cancelled: from ${rfc3339(cancelled)} on, this brownout refuses no requests.${moveNote}`;
        return { id, at, end, title: `Cancelled: ${title}`, text, page, cancelled };
      }
      const what = routes?.map((route) => routeOf(name, route)).join(', ') ?? `/${name}`;
      const text = `Requests of some clients to ${what} are refused until ${rfc3339(end)}.${moveNote}`;
      return { id, at, end, title, text, page };
    }),
  ];
}

/** When the event was changed last, epoch ms. */
function revisedAt({ cancelled = 0 }: LifecycleEvent, filesChangedAt: number): number {
  return Math.max(filesChangedAt, cancelled);
}

/** `GET /v1/legacy-search` */
function routeOf(name: string, { method, path }: Pick<RouteEnd, 'method' | 'path'>): string {
  return printable(`${method} /${name}${path}`);
}

/** A name-based UUID (RFC 9562 §5.5) in the namespace of URLs. Unique among APIs if `public_url` is set. */
function uuidOf(name: string, { origin, path }: Overview): string {
  const namespace = Buffer.from('6ba7b8119dad11d180b400c04fd430c8', 'hex');
  const url = `${origin}${indexPath(path)}#${name}`;
  const hash = createHash('sha1').update(namespace).update(url).digest().subarray(0, 16);
  // The bits of the version (5) and of the variant (RFC 9562 §4).
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  return hash.toString('hex').replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5');
}

function titleOf({ origin }: Overview): string {
  return origin === '' ? 'API versions' : `API versions of ${origin.replace(/^https?:\/\//, '')}`;
}

/** The events as an iCalendar object (RFC 5545). */
export function calendarText(apis: Overviews): string {
  const [overview] = apis;
  const title = textValue(titleOf(overview));
  const events = eventsOf(apis).flatMap((event) => [
    'BEGIN:VEVENT',
    `UID:${event.id}`,
    // The last revision (§3.8.7.2). The gateway keeps no history of single events.
    `DTSTAMP:${calendarTime(revisedAt(event, overview.filesChangedAt))}`,
    // §3.8.1.11 and §3.8.7.4. Without a SEQUENCE, an event is revision 0.
    ...(event.cancelled === undefined ? [] : ['STATUS:CANCELLED', 'SEQUENCE:1']),
    `DTSTART:${calendarTime(event.at)}`,
    ...(event.end === undefined ? [] : [`DTEND:${calendarTime(event.end)}`]),
    `SUMMARY:${textValue(event.title)}`,
    `DESCRIPTION:${textValue(event.text)}`,
    // A relative reference is not a URI (§3.3.13).
    ...(URL.canParse(event.page) ? [`URL:${event.page}`] : []),
    // Subscribers are not busy on a date of an API.
    'TRANSP:TRANSPARENT',
    'END:VEVENT',
  ]);
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//version-gateway//lifecycle//EN',
    // The first two properties are from RFC 7986. Many programs know only the third.
    `NAME:${title}`,
    'REFRESH-INTERVAL;VALUE=DURATION:P1D',
    `X-WR-CALNAME:${title}`,
    ...(events.length > 0 ? events : utcTimeZone),
    'END:VCALENDAR',
  ];
  return `${lines.map(folded).join('\r\n')}\r\n`;
}

/** A calendar must have at least one component (§3.6). */
const utcTimeZone = [
  'BEGIN:VTIMEZONE',
  'TZID:Etc/UTC',
  'BEGIN:STANDARD',
  'DTSTART:19700101T000000',
  'TZOFFSETFROM:+0000',
  'TZOFFSETTO:+0000',
  'END:STANDARD',
  'END:VTIMEZONE',
];

/** `20261231T235959Z` */
function calendarTime(instant: number): string {
  return rfc3339(instant).replace(/[-:]/g, '');
}

/** Escapes a value of the type TEXT (§3.3.11). */
function textValue(text: string): string {
  return text.replace(/[\\;,]/g, '\\$&').replace(/\n/g, '\\n');
}

const longestLineBytes = 75;

/** Splits a line into lines of at most 75 octets, without splitting a character (§3.1). */
function folded(line: string): string {
  let text = '';
  let octets = 0;
  for (const character of line) {
    const length = Buffer.byteLength(character);
    if (octets + length > longestLineBytes) {
      text += '\r\n ';
      // The space that continues the line.
      octets = 1;
    }
    text += character;
    octets += length;
  }
  return text;
}

/** The events as an Atom feed (RFC 4287), latest first. */
export function feedText(apis: Overviews): string {
  const [overview] = apis;
  const { origin, path, filesChangedAt } = overview;
  const events = eventsOf(apis).toReversed();
  const entries = events.map(
    (event) => html`<entry>
<id>urn:uuid:${event.id}</id>
<title>${event.title}</title>
<updated>${rfc3339(revisedAt(event, overview.filesChangedAt))}</updated>
<link rel="alternate" href="${event.page}"/>
<content type="text">${event.text}</content>
</entry>
`,
  );
  // Nothing may precede the XML declaration, not even a line break.
  return html`<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<id>urn:uuid:${uuidOf('feed', overview)}</id>
<title>${titleOf(overview)}</title>
<updated>${rfc3339(Math.max(filesChangedAt, ...events.map((event) => revisedAt(event, overview.filesChangedAt))))}</updated>
<author><name>${origin === '' ? 'API' : new URL(origin).host}</name></author>
<link rel="self" type="application/atom+xml" href="${origin}${feedPath(path)}"/>
<link rel="alternate" type="text/html" href="${origin}${indexPath(path)}"/>
${entries}</feed>
`.toString();
}
