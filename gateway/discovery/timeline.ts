import { type Html, html } from './html.ts';
import type { Overview, VersionOverview } from './overview.ts';

/** Maps an instant to a position on the axis that all versions share, in per cent. */
export type TimeAxis = (instant: number) => number;

// Margins in per cent, for the time before the first date and after the last one.
const start = 15;
const end = 85;

/** Undefined if no version has a date: then no timeline is drawn. */
export function axisOf({ now, versions }: Overview): TimeAxis | undefined {
  const dates = versions.flatMap(({ version }) => [version.deprecation ?? [], version.sunset ?? []].flat());
  if (dates.length === 0) return undefined;
  const first = Math.min(now, ...dates);
  const span = Math.max(now, ...dates) - first || 1;
  return (instant) => Math.min(100, Math.round(100 * (start + ((instant - first) / span) * (end - start))) / 100);
}

/**
 * The life of a version as a bar. Screen readers skip it, since the dates are also text. The phases differ in height as well
 * as in color.
 */
export function timeline(overview: VersionOverview, axis: TimeAxis, now: number): Html {
  const { deprecation = Number.POSITIVE_INFINITY, sunset = Number.POSITIVE_INFINITY } = overview.version;
  const last = endOf(overview, now);
  const [leaving, overdue, stop] = [axis(Math.min(deprecation, last)), axis(Math.min(sunset, last)), axis(last)];
  const today = axis(now);
  return html`<svg class="life" aria-hidden="true" focusable="false">
${bar('track', 0, 100)}${bar('served', 0, leaving)}${bar('leaving', leaving, overdue)}${bar('overdue', overdue, stop)}
<line class="today" x1="${today}%" x2="${today}%" y1="1" y2="19"/></svg>`;
}

/** The legend of the timelines. */
export function timelineLegend(): Html {
  const samples = [
    ['served', 'in service'],
    ['leaving', 'deprecated'],
    ['overdue', 'past its sunset, still in service'],
  ] as const;
  return html`<p class="key" aria-hidden="true">${samples.map(
    ([kind, text]) => html`<span><svg focusable="false">${bar(kind, 0, 100)}</svg>${text}</span>`,
  )}<span><svg focusable="false"><line class="today" x1="50%" x2="50%" y1="1" y2="19"/></svg>today</span></p>`;
}

const heights = { track: 1, served: 7, leaving: 4, overdue: 2 };

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
