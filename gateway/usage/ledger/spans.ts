// Requests are added up over spans of three lengths, numbered from the epoch (UTC). A query over a long period reads a few
// long spans, and short ones only at its ends.

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

export const msPerSpan = { hour: hourMs, day: dayMs, block: 30 * dayMs } as const;

/** How long the requests of clients and routes are kept per hour. After that, they are kept per day. */
export const hoursKeptMs = 8 * dayMs;

/**
 * The start of a period whose requests are counted exactly, by client, route and version alike: the start of the hour, or of the day
 * (UTC) if some of its hours are no longer kept for clients and routes, or if `shortest` is `day`.
 */
export function countedSince(since: number, until: number, shortest: 'hour' | 'day'): number {
  const areHoursKept = until - since <= hoursKeptMs - dayMs;
  return spanAt(areHoursKept ? shortest : 'day', since) * (areHoursKept ? msPerSpan[shortest] : dayMs);
}

/** Later than any request. */
export const endOfTime = 100_000 * msPerSpan.block;

export type SpanLength = keyof typeof msPerSpan;

/** The spans of one length numbered `from` to `to`, both included; none if `from` > `to`. */
export interface SpanRange {
  readonly length: SpanLength;
  readonly from: number;
  readonly to: number;
}

export function spanAt(length: SpanLength, at: number): number {
  return Math.floor(at / msPerSpan[length]);
}

/**
 * The fewest spans that cover the time from `since` until `until`; both ends extend to whole hours. `shortest` is `day` if
 * hours are no longer kept: then both ends extend to whole days. `longest` is `day` for tables without blocks.
 */
export function spanRanges(
  since: number,
  until: number,
  shortest: 'hour' | 'day' = 'hour',
  longest: 'day' | 'block' = 'block',
): SpanRange[] {
  const allLengths: readonly SpanLength[] = ['hour', 'day', 'block'];
  const usable = allLengths.slice(allLengths.indexOf(shortest), allLengths.indexOf(longest) + 1);
  const [smallest = shortest] = usable;
  let from = spanAt(smallest, since) * msPerSpan[smallest];
  let to = Math.ceil(until / msPerSpan[smallest]) * msPerSpan[smallest];
  const spans: SpanRange[] = [];
  for (const [index, length] of usable.entries()) {
    const nextLength = usable[index + 1];
    const lengthMs = msPerSpan[length];
    // The part of the time that longer spans cover. It is empty for the last length: both ends are `from`.
    const longerFrom =
      nextLength === undefined ? from : Math.ceil(from / msPerSpan[nextLength]) * msPerSpan[nextLength];
    const longerTo = nextLength === undefined ? from : Math.floor(to / msPerSpan[nextLength]) * msPerSpan[nextLength];
    // No span of the next length fits into the rest, so the rest is one range.
    if (longerFrom >= longerTo) {
      spans.push({ length, from: from / lengthMs, to: to / lengthMs - 1 });
      break;
    }
    spans.push(
      { length, from: from / lengthMs, to: longerFrom / lengthMs - 1 },
      { length, from: longerTo / lengthMs, to: to / lengthMs - 1 },
    );
    from = longerFrom;
    to = longerTo;
  }
  return spans.filter((one) => one.from <= one.to);
}

/** The start of the earliest span, epoch ms; Infinity if there are none. */
export function beginOf(spans: readonly SpanRange[]): number {
  return Math.min(...spans.map(({ length, from }) => from * msPerSpan[length]));
}
