/** What the size limits of the gateway apply to: `limits.body`, `gateway.limits.url` and `gateway.limits.head`. */
export type SizePart = 'body' | 'target' | 'head';

/** The size of each part, or its limit, in bytes. The head includes the request target. */
export type RequestSizes = Readonly<Record<SizePart, number>>;

/** The largest requests of one day. `at`: the start of the day, epoch ms. */
export interface SizesOfDay extends RequestSizes {
  readonly at: number;
}

/** A limit that recent requests exceed, although they were answered. */
export interface ExceededLimit {
  readonly part: SizePart;
  /** The limit of the edit, bytes. */
  readonly limit: number;
  /** The limit that applies now, bytes; undefined: it is not known. */
  readonly current: number | undefined;
  /** The largest request that exceeds the limit, bytes, and its day. */
  readonly largest: number;
  readonly at: number;
  /**
   * False: the largest requests of these days exceed the present limit, too, so they are refused already. Smaller ones that only the
   * new limit refuses are not recorded.
   */
  readonly isKnown: boolean;
}

export const sizeParts = ['body', 'target', 'head'] as const satisfies readonly SizePart[];

/** Whether `limits` refuse a request that `current` accept, for some size. */
export function areLower(limits: RequestSizes, current: RequestSizes | undefined): boolean {
  return current === undefined || sizeParts.some((part) => limits[part] < current[part]);
}

/** The limits of an edit that the recent requests of a route exceed, and that refuse requests which are answered now. */
export function exceededLimits(
  days: readonly SizesOfDay[],
  limits: RequestSizes,
  current: RequestSizes | undefined,
): readonly ExceededLimit[] {
  return sizeParts.flatMap((part) => {
    const [limit, currentLimit] = [limits[part], current?.[part]];
    if (currentLimit !== undefined && currentLimit <= limit) return [];
    const exceeding = days.filter((day) => day[part] > limit);
    const answered = exceeding.filter((day) => currentLimit === undefined || day[part] <= currentLimit);
    const isKnown = answered.length > 0;
    const [largest] = (isKnown ? answered : exceeding).toSorted((a, b) => b[part] - a[part]);
    if (largest === undefined) return [];
    return [{ part, limit, current: currentLimit, largest: largest[part], at: largest.at, isKnown }];
  });
}
