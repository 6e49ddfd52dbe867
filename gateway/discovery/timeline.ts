import { type Html, html } from './html.ts';
import type { Entry, Overview } from './overview.ts';

/** Where an instant lies on the axis that all versions share, in per cent. */
export type Axis = (instant: number) => number;

// Room on both sides, for the time before the first date and after the last one.
const first = 15;
const last = 85;

/** Undefined when no version has a date: there is nothing to draw. */
export function axisOf({ now, entries }: Overview): Axis | undefined {
  const dates = entries.flatMap(({ version }) => [version.deprecation ?? [], version.sunset ?? []].flat());
  if (dates.length === 0) return undefined;
  const from = Math.min(now, ...dates);
  const span = Math.max(now, ...dates) - from || 1;
  return (instant) => Math.min(100, Math.round(100 * (first + ((instant - from) / span) * (last - first))) / 100);
}

/**
 * A version's life as a bar. It repeats the dates beside it, so screen readers skip it;
 * its parts differ in height too, not by colour alone.
 */
export function timeline(entry: Entry, axis: Axis, now: number): Html {
  const { deprecation = Number.POSITIVE_INFINITY, sunset = Number.POSITIVE_INFINITY } = entry.version;
  const end = endOf(entry, now);
  const [leaving, overdue, stop] = [axis(Math.min(deprecation, end)), axis(Math.min(sunset, end)), axis(end)];
  const today = axis(now);
  return html`<svg class="life" aria-hidden="true" focusable="false">
${bar('track', 0, 100)}${bar('served', 0, leaving)}${bar('leaving', leaving, overdue)}${bar('overdue', overdue, stop)}
<line class="today" x1="${today}%" x2="${today}%" y1="1" y2="19"/></svg>`;
}

/** What the parts of the bars mean. */
export function timelineKey(): Html {
  const samples = [
    ['served', 'in service'],
    ['leaving', 'deprecated'],
    ['overdue', 'past its sunset, still served'],
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

function endOf({ version, stage }: Entry, now: number): number {
  const sunset = version.sunset ?? Number.POSITIVE_INFINITY;
  // A tombstone ended at its sunset or before: today is the latest that it can have been.
  if (version.retired) return Math.min(sunset, now);
  return stage === 'retired' || version.afterSunset === 'gone' ? sunset : Number.POSITIVE_INFINITY;
}
