import { namedApiOf } from '../../config/api.ts';
import type { ExchangeRecord } from '../../usage/observability/exchangeRecord.ts';
import type { Stage } from '../../versions/lifecycle/stage.ts';
import { errorTypeOf, methodAttribute, noResponse } from './semantics.ts';

/** In seconds: the bucket bounds that the semantic conventions advise for http.server.request.duration. */
export const bucketBounds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** The limit of the OpenTelemetry SDKs for the attribute sets of a metric. Further sets are added up in one row. */
const maxRows = 2_000;
const overflowAttributes = { 'otel.metric.overflow': true };

/** The durations of the requests with the same attributes, in seconds. */
export interface DurationRow {
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** The number of durations in each bucket. There is one more bucket than there are bounds. */
  readonly bucketCounts: number[];
  count: number;
  sum: number;
  min: number;
  max: number;
}

interface CountedRow {
  readonly status: number;
  readonly stage: Stage | undefined;
  readonly method: string;
  readonly scheme: string;
  readonly errorType: string | undefined;
  readonly row: DurationRow;
}

/** The durations of one process since the last `take`. A request costs a look-up by its route and a few additions. */
export class DurationCounts {
  #byRoute = new Map<string | undefined, CountedRow[]>();
  #rows: DurationRow[] = [];
  #overflow: DurationRow | undefined;

  /** `route`: with its version, `/v1/drinks/{id}`. Tunnels and event streams are left out: their duration says nothing about latency. */
  add(exchange: ExchangeRecord, route: string | undefined): void {
    const { method, status, streamed, duration } = exchange;
    if (status === 101 || streamed || method === '') return;
    addDuration(this.#rowOf(exchange, route), duration / 1000);
  }

  take(): DurationRow[] {
    const rows = this.#overflow ? [...this.#rows, this.#overflow] : this.#rows;
    this.#byRoute = new Map();
    this.#rows = [];
    this.#overflow = undefined;
    return rows;
  }

  #rowOf(exchange: ExchangeRecord, route: string | undefined): DurationRow {
    const { method, status, stage, scheme } = exchange;
    const errorType = errorTypeOf(exchange);
    let rowsOfRoute = this.#byRoute.get(route);
    for (const one of rowsOfRoute ?? []) {
      const isSame = one.status === status && one.method === method && one.stage === stage;
      if (isSame && one.scheme === scheme && one.errorType === errorType) return one.row;
    }
    if (this.#rows.length >= maxRows) {
      this.#overflow ??= emptyRow(overflowAttributes);
      return this.#overflow;
    }
    const row = emptyRow(attributesOf(exchange, route, errorType));
    this.#rows.push(row);
    rowsOfRoute ??= [];
    rowsOfRoute.push({ status, stage, method, scheme, errorType, row });
    this.#byRoute.set(route, rowsOfRoute);
    return row;
  }
}

/** The durations of all processes since the start, or since the last `clear`. */
export class DurationTotals {
  readonly #rows = new Map<string, DurationRow>();

  add(rows: readonly DurationRow[]): void {
    for (const row of rows) {
      const total = this.#totalFor(row.attributes);
      for (const [bucket, count] of row.bucketCounts.entries())
        total.bucketCounts[bucket] = (total.bucketCounts[bucket] as number) + count;
      total.count += row.count;
      total.sum += row.sum;
      total.min = Math.min(total.min, row.min);
      total.max = Math.max(total.max, row.max);
    }
  }

  get rows(): readonly DurationRow[] {
    return [...this.#rows.values()];
  }

  clear(): void {
    this.#rows.clear();
  }

  #totalFor(attributes: DurationRow['attributes']): DurationRow {
    const key = JSON.stringify(attributes);
    const total = this.#rows.get(key);
    if (total) return total;
    if (this.#rows.size >= maxRows && attributes !== overflowAttributes) return this.#totalFor(overflowAttributes);
    const newTotal = emptyRow(attributes);
    this.#rows.set(key, newTotal);
    return newTotal;
  }
}

function emptyRow(attributes: DurationRow['attributes']): DurationRow {
  const bucketCounts = new Array<number>(bucketBounds.length + 1).fill(0);
  return { attributes, bucketCounts, count: 0, sum: 0, min: Number.POSITIVE_INFINITY, max: 0 };
}

function addDuration(row: DurationRow, seconds: number): void {
  let bucket = 0;
  while (bucket < bucketBounds.length && seconds > (bucketBounds[bucket] as number)) bucket += 1;
  row.bucketCounts[bucket] = (row.bucketCounts[bucket] as number) + 1;
  row.count += 1;
  row.sum += seconds;
  if (seconds < row.min) row.min = seconds;
  if (seconds > row.max) row.max = seconds;
}

function attributesOf(
  { method, status, scheme, version, stage }: ExchangeRecord,
  route: string | undefined,
  errorType: string | undefined,
): DurationRow['attributes'] {
  const api = namedApiOf(version);
  return {
    'http.request.method': methodAttribute(method),
    'url.scheme': scheme,
    ...(status === noResponse ? {} : { 'http.response.status_code': status }),
    ...(route === undefined ? {} : { 'http.route': route }),
    ...(errorType === undefined ? {} : { 'error.type': errorType }),
    ...(version === '' ? {} : { 'version_gateway.version': version }),
    ...(api === undefined ? {} : { 'version_gateway.api': api }),
    ...(stage === undefined ? {} : { 'version_gateway.stage': stage }),
  };
}
