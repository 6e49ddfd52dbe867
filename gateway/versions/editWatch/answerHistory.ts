import type { AnswerCounts, ServingReport, WorkerReport } from '../../usage/observability/report.ts';

/** The requests to each version since the start of the gateway, in all processes. */
export type AnswerTotals = ReadonlyMap<string, AnswerCounts>;

interface Sample {
  /** In ms of a clock that is never set back. */
  readonly at: number;
  readonly totals: AnswerTotals;
}

const noAnswers: AnswerCounts = { requests: 0, lost: {} };

/**
 * The answers of all processes over the last minutes. The counts of a process begin with the process: a process that ends takes its
 * counts with it, and a new one begins at 0. So the differences between the reports of each process are added up.
 */
export class AnswerHistory {
  readonly #keptMs: number;
  /** The last counts of each process. */
  #lastByProcess = new Map<string, NonNullable<WorkerReport['answers']>>();
  #totals: AnswerTotals = new Map();
  #samples: Sample[];

  /** `at`: now; no request has been counted yet. `keptMs`: how far the samples reach back. */
  constructor(at: number, keptMs: number) {
    this.#keptMs = keptMs;
    this.#samples = [{ at, totals: this.#totals }];
  }

  get totals(): AnswerTotals {
    return this.#totals;
  }

  /** When the last sample was kept. */
  get sampledAt(): number {
    return this.#samples.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
  }

  /** Adds a report that was made at `at`. `isSample`: the totals are kept, so that `firstSince` can find them. */
  add({ workers }: Pick<ServingReport, 'workers'>, at: number, isSample: boolean): void {
    const totals = new Map(this.#totals);
    const lastByProcess = new Map<string, NonNullable<WorkerReport['answers']>>();
    for (const { pid, since, answers } of workers) {
      const key = `${pid} ${since}`;
      const last = this.#lastByProcess.get(key);
      // A process that does not answer reports no counts.
      if (answers)
        for (const [version, counts] of Object.entries(answers)) addTo(totals, version, counts, last?.[version]);
      const kept = answers ?? last;
      if (kept) lastByProcess.set(key, kept);
    }
    this.#lastByProcess = lastByProcess;
    this.#totals = totals;
    if (!isSample) return;
    this.#samples = this.#samples.filter((sample) => at - sample.at <= this.#keptMs);
    this.#samples.push({ at, totals });
  }

  /** The first totals that were kept at `at` or later. */
  firstSince(at: number): Sample {
    return this.#samples.find((sample) => sample.at >= at) ?? { at, totals: this.#totals };
  }
}

function addTo(
  totals: Map<string, AnswerCounts>,
  version: string,
  counts: AnswerCounts,
  last: AnswerCounts | undefined,
): void {
  totals.set(version, sum(totals.get(version) ?? noAnswers, last ? difference(counts, last) : counts));
}

function sum(a: AnswerCounts, b: AnswerCounts): AnswerCounts {
  const statuses = new Set([...Object.keys(a.lost), ...Object.keys(b.lost)]);
  const lost = [...statuses].map((status) => [status, (a.lost[status] ?? 0) + (b.lost[status] ?? 0)]);
  return { requests: a.requests + b.requests, lost: Object.fromEntries(lost) };
}

/** The answers since `earlier`. */
export function difference(later: AnswerCounts = noAnswers, earlier: AnswerCounts = noAnswers): AnswerCounts {
  const lost = Object.entries(later.lost)
    .map(([status, count]) => [status, count - (earlier.lost[status] ?? 0)] as const)
    .filter(([, count]) => count > 0);
  return { requests: later.requests - earlier.requests, lost: Object.fromEntries(lost) };
}

/** How many requests were lost, whatever the status. */
export function lostIn({ lost }: AnswerCounts): number {
  return Object.values(lost).reduce((total, count) => total + count, 0);
}
