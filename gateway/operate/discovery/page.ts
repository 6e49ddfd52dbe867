import { segmentOf } from '../../config/api.ts';
import { rfc3339 } from '../../shared/instant.ts';
import { Html, html } from '../../shared/markup.ts';
import type { Stage } from '../../versions/lifecycle/stage.ts';
import { discoveryPage, indexStyle } from './html.ts';
import { isCurrentOrAhead, type Overview, type VersionOverview } from './overview.ts';
import { calendarPath, catalogPath, feedPath, indexPath } from './paths.ts';

/** The index as a page for browsers, without scripts. */
export function indexPage(overview: Overview): string {
  const { path, otherApis } = overview;
  const host = overview.origin.replace(/^https?:\/\//, '');
  const axis = axisOf(overview);
  const index = overview.origin + indexPath(path);
  const jsonCommand = overview.origin === '' ? html`<code>GET ${index}</code>` : html`<code>curl ${index}</code>`;
  const head = html`<link rel="api-catalog" href="${catalogPath}">
<link rel="alternate" type="text/calendar" href="${calendarPath(path)}">
<link rel="alternate" type="application/atom+xml" href="${feedPath(path)}">
`;
  const content = html`<header>
${host ? html`<p class="host">${host}</p>` : undefined}
<h1>API versions</h1>
<p class="lead">${lead(overview)}</p>
</header>
<main>
<ol class="versions" reversed>${overview.versions.toReversed().map((one) => section(one, overview, axis))}</ol>
${axis && timelineLegend()}
${otherApis.length === 0 ? undefined : apiList(otherApis)}</main>
<footer>
<p>Responses of a version that is or will be deprecated have the headers <code>Deprecation</code>, <code>Sunset</code> and <code>Link</code>. All times are UTC.</p>
<p>Subscribe to the dates as a <a href="${calendarPath(path)}">calendar</a> or as a <a href="${feedPath(path)}">feed</a>.</p>
<p>For programs: ${jsonCommand} returns this page as JSON, and the <a href="${catalogPath}">API catalog</a> lists the contracts.</p>
${overview.ownUsageUrl && html`<p>Send the API key of your client to <code>${overview.ownUsageUrl}</code> to see which of its calls will end.</p>`}
</footer>`;
  return discoveryPage(`API versions${host && ` · ${host}`}`, indexStyle, content, head);
}

/** The other APIs of the host. */
function apiList(apis: Overview['otherApis']): Html {
  const rows = apis.map(({ api, url }) => html`<li><a href="${url}">${api}</a></li>`);
  return html`<section aria-labelledby="apis"><h2 id="apis">Other APIs</h2><ul class="more">${rows}</ul></section>
`;
}

function lead({ versions, latest, isServed }: Overview): Html {
  if (!isServed) return html`The versions of each API are on its own page.`;
  if (latest === undefined) return html`No version is in service.`;
  const count = versions.filter(({ stage }) => stage !== 'retired').length;
  const inService = count === 1 ? '1 version is' : `${count} versions are`;
  return html`${inService} in service. The newest is <strong>${segmentOf(latest.name)}</strong>.`;
}

function section(overview: VersionOverview, { now, latest }: Overview, axis: TimeAxis | undefined): Html {
  const { version, stage, url } = overview;
  const name = segmentOf(version.name);
  const heading = `about-${name}`;
  const newest = version === latest ? html`<span class="badge newest">Newest</span>` : undefined;
  return html`
<li><article class="version" aria-labelledby="${heading}">
<div class="head">
<h2 id="${heading}">${name}</h2>
<span class="badge ${stage}">${labels[stage]}</span>
${newest}
<code class="url">${url}</code>
</div>
<p class="summary">${summaries[stage](overview)}</p>
${axis && timeline(overview, axis, now)}
${facts(overview, now)}
${adapterNote(overview)}
${overview.grease && html`<p class="extra">Test whether your client ignores unknown fields: <code>${overview.grease}</code></p>`}
${links(overview)}
</article></li>`;
}

const labels: Readonly<Record<Stage, string>> = {
  active: 'Active',
  announced: 'Deprecation announced',
  deprecated: 'Deprecated',
  sunset: 'Past its sunset',
  retired: 'Retired',
};

const summaries: Readonly<Record<Stage, (overview: VersionOverview) => string>> = {
  active: () => 'In service. No deprecation is planned.',
  announced: (overview) => `In service. Its deprecation is announced${withSuccessor('; plan the move to', overview)}.`,
  deprecated: (overview) => `In service, but no longer recommended${withSuccessor('. Move to', overview)}.`,
  sunset: (overview) =>
    `Its sunset date has passed, and it may stop at any time${withSuccessor('. Move now to', overview)}.`,
  retired: (overview) =>
    overview.isWaived
      ? `No longer in service: requests are answered with 410 Gone, except requests of single clients, each until its own date${withSuccessor('. Use', overview)}.`
      : `No longer in service: every request is answered with 410 Gone${withSuccessor('. Use', overview)}.`,
};

function withSuccessor(words: string, { successor }: VersionOverview): string {
  return successor ? `${words} ${successor.name}` : '';
}

function facts({ version, brownouts, stage, successor }: VersionOverview, now: number): Html | undefined {
  const shownSuccessor = stage === 'active' ? undefined : successor;
  const brownout = brownouts.find((one) => isCurrentOrAhead(one, now));
  const rows = [
    version.deprecation !== undefined && fact('Deprecation', date(version.deprecation, now)),
    version.sunset !== undefined && fact('Sunset', date(version.sunset, now)),
    brownout && fact(brownout.at > now ? 'Next brownout' : 'Brownout since', date(brownout.at, now)),
    shownSuccessor && fact('Successor', html`<a href="${shownSuccessor.about}">${shownSuccessor.name}</a>`),
  ].filter((row) => row instanceof Html);
  return rows.length > 0 ? html`<dl class="facts">${rows}</dl>` : undefined;
}

const maxRoutesShown = 20;

/** The version whose backend serves this one, and the routes that the adapter does not serve. */
function adapterNote({ version, adaptation }: VersionOverview): Html | undefined {
  if (adaptation === undefined) return undefined;
  const { from, unavailable } = adaptation;
  const servedNote = html`${segmentOf(version.name)} is served from ${from.name} through an adapter.`;
  if (unavailable.length === 0) return html`<p class="extra">${servedNote}</p>`;
  const rows = unavailable.slice(0, maxRoutesShown).map(({ route, reason }) => {
    return html`<li><code>${route}</code>${reason && html`<small>${reason}</small>`}</li>`;
  });
  const hiddenCount = unavailable.length - rows.length;
  const more =
    hiddenCount > 0
      ? html`<li>${wholeNumber.format(hiddenCount)} more, which the JSON form of this page lists</li>`
      : undefined;
  return html`<p class="extra">${servedNote} These routes are no longer available, and are answered with 410 Gone:</p>
<ul class="gone">${rows}${more}</ul>`;
}

function fact(name: string, value: Html): Html {
  return html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
}

function links({ version, contract, guide, successor }: VersionOverview): Html | undefined {
  const name = segmentOf(version.name);
  const rows = [
    contract &&
      html`<li><a href="${contract}">OpenAPI contract<span class="visually-hidden"> of ${name}</span></a></li>`,
    guide && html`<li><a href="${guide}">Guide from ${name} to ${successor?.name}</a></li>`,
    version.info && html`<li><a href="${version.info}">About the end of ${name}</a></li>`,
  ].filter((row) => row instanceof Html);
  return rows.length > 0 ? html`<ul class="more">${rows}</ul>` : undefined;
}

/** Maps an instant to a position on the axis that all versions share, in per cent. */
type TimeAxis = (instant: number) => number;

// The positions of the first and the last date on the axis, in per cent.
const [firstPosition, lastPosition] = [15, 85];

/** Undefined if no version has a date. No timeline is drawn then. */
export function axisOf({ now, versions }: Overview): TimeAxis | undefined {
  const dates = versions.flatMap(({ version }) => [version.deprecation ?? [], version.sunset ?? []].flat());
  if (dates.length === 0) return undefined;
  const first = Math.min(now, ...dates);
  // At least 1, because positions are divided by it.
  const spanMs = Math.max(now, ...dates) - first || 1;
  return (instant) => {
    const position = firstPosition + ((instant - first) / spanMs) * (lastPosition - firstPosition);
    return Math.min(100, Math.round(100 * position) / 100);
  };
}

/**
 * The life of a version as a bar. Screen readers skip it, because the dates are also text. The phases differ in height and in
 * color.
 */
export function timeline(overview: VersionOverview, axis: TimeAxis, now: number): Html {
  const { deprecation = Number.POSITIVE_INFINITY, sunset = Number.POSITIVE_INFINITY } = overview.version;
  const end = endOf(overview, now);
  // Positions in per cent.
  const [deprecationX, sunsetX, endX] = [axis(Math.min(deprecation, end)), axis(Math.min(sunset, end)), axis(end)];
  const todayX = axis(now);
  return html`<svg class="life" aria-hidden="true" focusable="false">
${bar('track', 0, 100)}${bar('in-service', 0, deprecationX)}${bar('leaving', deprecationX, sunsetX)}${bar('overdue', sunsetX, endX)}
<line class="today" x1="${todayX}%" x2="${todayX}%" y1="1" y2="19"/></svg>`;
}

/** The legend of the timelines. */
function timelineLegend(): Html {
  const samples = [
    ['in-service', 'in service'],
    ['leaving', 'deprecated'],
    ['overdue', 'past its sunset, still in service'],
  ] as const;
  return html`<p class="key" aria-hidden="true">${samples.map(
    ([kind, text]) => html`<span><svg focusable="false">${bar(kind, 0, 100)}</svg>${text}</span>`,
  )}<span><svg focusable="false"><line class="today" x1="50%" x2="50%" y1="1" y2="19"/></svg>today</span></p>`;
}

const heights = { track: 1, 'in-service': 7, leaving: 4, overdue: 2 };

function bar(kind: keyof typeof heights, from: number, to: number): Html | undefined {
  if (to <= from) return undefined;
  const height = heights[kind];
  return html`<rect class="${kind}" x="${from}%" y="${10 - height / 2}" width="${to - from}%" height="${height}"/>`;
}

function endOf({ version, stage }: VersionOverview, now: number): number {
  const sunset = version.sunset ?? Number.POSITIVE_INFINITY;
  // A version with `retired: true` ended at its sunset or earlier, and no later than today.
  if (version.retired) return Math.min(sunset, now);
  return stage === 'retired' || version.afterSunset === 'gone' ? sunset : Number.POSITIVE_INFINITY;
}

const dayMs = 86_400_000;
const longDate = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });
const wholeNumber = new Intl.NumberFormat('en');

/** A date, its time of day, and its distance. Midnight is left out: a date without a time in routes.yaml means midnight. */
function date(instant: number, now: number): Html {
  const iso = rfc3339(instant);
  const time = instant % dayMs === 0 ? undefined : html`<span>${iso.slice(11, 19)} UTC ·</span> `;
  return html`<time datetime="${iso}">${longDate.format(instant)}</time>
<small>${time}<span>${distance(instant, now)}</span></small>`;
}

/** The distance to an instant in whole days: `586 days left`, `144 days ago`. */
export function distance(instant: number, now: number): string {
  const days = Math.floor(Math.abs(instant - now) / dayMs);
  const isFuture = instant > now;
  if (days === 0) return isFuture ? 'less than a day left' : 'within the last day';
  return `${wholeNumber.format(days)} ${days === 1 ? 'day' : 'days'} ${isFuture ? 'left' : 'ago'}`;
}
