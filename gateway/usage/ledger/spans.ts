// Use is added up over spans of three lengths, all of them counted from the epoch, in UTC: a query over a long time reads
// a few long spans and only at its ends short ones.

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

export const lengths = { hour: hourMs, day: dayMs, block: 30 * dayMs } as const;

/** Later than any request. */
export const endless = 100_000 * lengths.block;

export type Length = keyof typeof lengths;

/** Spans of one length with these numbers, both included; `from` > `to`: none. */
export interface Spans {
  readonly length: Length;
  readonly from: number;
  readonly to: number;
}

export function spanAt(length: Length, at: number): number {
  return Math.floor(at / lengths[length]);
}

/**
 * The fewest spans that cover from the hour of `since` to before the hour of `until`. `shortest` is `day` where hours are
 * kept no more: then the whole days of both count. `longest` is `day` where there are no blocks.
 */
export function spansOf(
  since: number,
  until: number,
  shortest: 'hour' | 'day' = 'hour',
  longest: 'day' | 'block' = 'block',
): Spans[] {
  const all: readonly Length[] = ['hour', 'day', 'block'];
  const usable = all.slice(all.indexOf(shortest), all.indexOf(longest) + 1);
  const [smallest = shortest] = usable;
  let from = spanAt(smallest, since) * lengths[smallest];
  let to = Math.ceil(until / lengths[smallest]) * lengths[smallest];
  const spans: Spans[] = [];
  for (const [index, length] of usable.entries()) {
    const next = usable[index + 1];
    const ms = lengths[length];
    const innerFrom = next === undefined ? from : Math.ceil(from / lengths[next]) * lengths[next];
    const innerTo = next === undefined ? from : Math.floor(to / lengths[next]) * lengths[next];
    // Without a longer span between the two ends they are one.
    if (innerFrom >= innerTo) {
      spans.push({ length, from: from / ms, to: to / ms - 1 });
      break;
    }
    spans.push({ length, from: from / ms, to: innerFrom / ms - 1 }, { length, from: innerTo / ms, to: to / ms - 1 });
    from = innerFrom;
    to = innerTo;
  }
  return spans.filter((one) => one.from <= one.to);
}

/** Of the earliest, epoch ms; Infinity for none. */
export function beginOf(spans: readonly Spans[]): number {
  return Math.min(...spans.map(({ length, from }) => from * lengths[length]));
}
