import { setTimeout as sleep } from 'node:timers/promises';
import type { FleetSettings, Snapshot } from '../../config/snapshot.ts';
import { addressesOf } from '../../shared/targetAddress.ts';
import type { Remark } from '../../usage/evidence/remark.ts';
import { earliestOf, type ServingReport } from '../../usage/observability/report.ts';
import { stageWithWaivers } from '../../versions/lifecycle/stage.ts';
import { type FleetView, monotonicNow } from './fleetView.ts';
import type { GatewayRow, GatewayState, VersionLoad } from './membership.ts';
import { RepeatedTimes } from './repeatedTimes.ts';
import { type CountedCalls, type CountsQuestion, countingNotes, type UnsentCounts, unsentCalls } from './unsent.ts';

/** A gateway reads the rows of the others at least this often, because a question may be in them. */
export const readIntervalMs = 2_000;
/** How long a question waits for the counts of other gateways. */
const countsWaitMs = 3 * readIntervalMs;
// How long a question stays in the row of its gateway after the wait. The other gateways answer it only while it is in the row, and
// the verdict reads their answers after the wait.
const shownMs = 30_000;
const pollMs = 250;
// A store that answers has a heartbeat after a fraction of this time.
const lastBeatMs = 2_000;
// A process passes on its counts this often. If it stops answering, its counts since the last time are still in its memory.
const flushMs = 5_000;

const notRead: Remark = {
  code: 'gateways_not_read',
  text: 'The shared store did not tell in time which gateways run now.',
};

/** A question of this gateway, with its own report. */
export interface OwnQuestion extends CountsQuestion {
  readonly report: ServingReport;
}

export interface QuestionOptions {
  readonly settings: FleetSettings;
  readonly release: string;
  readonly view: FleetView;
  /** The counts of this gateway that are on their way to the store. */
  readonly unsentCounts: Pick<UnsentCounts, 'calls' | 'earlierRunUnsentSince' | 'lossesSince'>;
  /** The id of this gateway in the store. */
  readonly self: () => string | undefined;
  /** Writes the state of this gateway to the store, and reads the states of the others. False: this gateway is starting or stopping. */
  readonly sendHeartbeat: () => Promise<boolean>;
}

/**
 * A question asks whether the shared ledger has the calls of a version up to now. It waits until every gateway has reported
 * that its counts are in the store. The gateway that asks writes the question to its row, so that the others see it and send
 * their counts at once.
 */
export class CountsQuestions {
  readonly #options: QuestionOptions;
  /**
   * The questions that wait, or have waited a short time ago; the last one is in the row of this gateway. Key: the id. Value: when the
   * wait began, by `monotonicNow`.
   */
  readonly #shown = new Map<number, number>();
  #lastId = 0;
  /** The questions in the rows of other gateways, by the id of the gateway. */
  #questionsOfOthers: ReadonlyMap<string, CountsQuestion> = new Map();
  readonly #repeatedTimes = new RepeatedTimes();
  /** Resolves when the rows of the other gateways are read. */
  #nextRead = Promise.withResolvers<void>();

  constructor(options: QuestionOptions) {
    this.#options = options;
  }

  /** A question about the calls that ended before now. */
  createQuestion(): CountsQuestion {
    this.#lastId = Math.max(this.#options.view.now, this.#lastId + 1);
    this.#repeatedTimes.watch();
    return { id: this.#lastId, at: Date.now() };
  }

  /** The id of the last question in the row of this gateway. Undefined: there is none. */
  get questionId(): number | undefined {
    return this.#shown.size === 0 ? undefined : Math.max(...this.#shown.keys());
  }

  /** Which calls of this gateway are counted in the store. `at`: the time of the report, epoch ms. */
  countedCalls({ unsentSince = {}, workers }: ServingReport, at: number): CountedCalls {
    const { unsentCounts } = this.#options;
    // If the clock was set back, calls from before a question may have a later time than the question.
    this.#repeatedTimes.watch();
    const earliest = (time: number): number => this.#repeatedTimes.earliest(time);
    const unsentByVersion = Object.entries(earliestOf([unsentSince, unsentCounts.calls]));
    const unresponsiveTimes = workers.flatMap(({ unresponsiveSince: since }) =>
      since === undefined ? [] : since - flushMs,
    );
    const unsentTimes = [
      ...unresponsiveTimes,
      ...(unsentCounts.earlierRunUnsentSince === undefined ? [] : [unsentCounts.earlierRunUnsentSince - flushMs]),
      ...(unsentCounts.lossesSince === undefined ? [] : [unsentCounts.lossesSince]),
    ];
    return {
      at,
      // Leaves out questions that were read after this report was made.
      answers: Object.fromEntries([...this.#questionsOfOthers].filter(([, question]) => question.at < at)),
      unsent: Object.fromEntries(unsentByVersion.map(([version, time]) => [version, earliest(time)])),
      // The versions of these unsent calls are not known, so they may be calls of all versions.
      all: unsentTimes.length === 0 ? undefined : earliest(Math.min(...unsentTimes)),
    };
  }

  /** Why calls of a version may be missing in the shared ledger for some seconds. */
  remarksOnUnsent(version: string, { report, ...question }: OwnQuestion): Remark[] {
    const { settings, release, view } = this.#options;
    const askedAt = this.#shown.get(question.id);
    if (askedAt !== undefined && !view.isReadSince(askedAt)) return [notRead];
    const self = this.#options.self() ?? '';
    const ownRow = view.instances.find(({ row }) => row !== undefined && row.instance === self)?.row;
    const counted = { ...this.countedCalls(report, Date.now()), answers: { [self]: question } };
    const ownCounts = { name: settings.name, release, counted, skewMs: ownRow?.skewMs ?? 0 };
    return unsentCalls([...this.#others, ownCounts], version, question.id, self);
  }

  /** How recent the counts of the other gateways are. */
  notes(): Remark[] {
    return countingNotes(this.#others, this.#options.view.now);
  }

  /**
   * Waits, for a few seconds at most, until the shared ledger has the calls of these versions that ended before the question.
   * `flushAndReport`: sends the counts of this gateway. @returns why calls of a version may still be missing, by version
   */
  async awaitCounts(
    versions: readonly string[],
    flushAndReport: () => Promise<ServingReport>,
    question: CountsQuestion,
  ): Promise<ReadonlyMap<string, string>> {
    const { view, sendHeartbeat } = this.#options;
    const deadline = performance.now() + countsWaitMs;
    this.#shown.set(question.id, monotonicNow());
    try {
      // A gateway that has just started is not in an earlier read.
      if (versions.length > 0) await this.#beatOnce();
      for (;;) {
        const isOver = performance.now() > deadline || view.problem !== undefined;
        const reasons = await this.#reasonsOfMissingCalls(versions, flushAndReport, question);
        if (reasons.size === 0 && versions.length > 0) await this.#beatOnce();
        if (reasons.size === 0 || isOver) return reasons;
        const nextRead = this.#nextRead.promise;
        if (!(await sendHeartbeat())) return reasons;
        await Promise.race([nextRead, sleep(pollMs)]);
        // No need to look more often: the others take up to 2 s to read the question.
        await sleep(pollMs);
      }
    } finally {
      setTimeout(() => this.#shown.delete(question.id), shownMs).unref();
    }
  }

  /**
   * Waits for the next heartbeat, or for `lastBeatMs`. A query after it checks that the store still has this heartbeat, and so everything
   * that the store had before, such as the answers of the other gateways.
   */
  async #beatOnce(): Promise<void> {
    const nextRead = this.#nextRead.promise;
    if (await this.#options.sendHeartbeat()) await Promise.race([nextRead, sleep(lastBeatMs)]);
  }

  /** Looks for new questions after the rows of the gateways were read. `sendCounts`: sends the counts of this gateway to the store. */
  onGatewayRowsRead(sendCounts: () => Promise<unknown>): void {
    this.#nextRead.resolve();
    this.#nextRead = Promise.withResolvers();
    const earlierQuestions = this.#questionsOfOthers;
    this.#repeatedTimes.watch();
    const at = Date.now();
    const askers = this.#others.flatMap(({ instance, questionId: id }) => (id === undefined ? [] : [{ instance, id }]));
    this.#questionsOfOthers = new Map(
      askers.map(({ instance, id }) => {
        const question = earlierQuestions.get(instance);
        return [instance, question?.id === id ? question : { id, at }];
      }),
    );
    if (askers.every(({ instance, id }) => earlierQuestions.get(instance)?.id === id)) return;
    // If this fails, the other gateway waits for the next heartbeat and the next regular batch.
    sendCounts()
      .then(() => this.#options.sendHeartbeat())
      .catch(() => {});
  }

  /** The other gateways that were heard. */
  get #others(): readonly GatewayRow[] {
    const { view, self } = this.#options;
    const rows = view.instances.flatMap(({ state, row }) => (state === 'heard' && row ? [row] : []));
    return rows.filter(({ instance }) => instance !== self());
  }

  /** Why calls may be missing, by version. A version that has all its calls is left out. */
  async #reasonsOfMissingCalls(
    versions: readonly string[],
    flushAndReport: () => Promise<ServingReport>,
    question: CountsQuestion,
  ): Promise<ReadonlyMap<string, string>> {
    if (versions.length === 0) return new Map();
    const report = await flushAndReport();
    return new Map(
      versions.flatMap((version) => {
        const [firstReason] = this.remarksOnUnsent(version, { report, ...question });
        return firstReason ? [[version, firstReason.text] as const] : [];
      }),
    );
  }
}

/** The requests in flight and waiting, of each version that was configured at any time since the start. */
export function loadsOf(
  snapshot: Snapshot,
  { versions, workers }: ServingReport,
  now: number,
): GatewayState['versions'] {
  // An unresponsive worker does not report its requests in flight.
  const incomplete = workers.some(({ unresponsiveSince }) => unresponsiveSince !== undefined);
  const reportByName = new Map(versions.map((one) => [one.name, one]));
  const versionNames = new Set([...snapshot.versions.keys(), ...reportByName.keys()]);
  return Object.fromEntries(
    [...versionNames].map((name): [string, VersionLoad] => {
      const version = snapshot.versions.get(name);
      const report = reportByName.get(name);
      // An adapter sends the requests of its version to the backends of another version.
      const from = version?.adapter?.mode === 'serve' ? snapshot.versions.get(version.adapter.from) : undefined;
      // A target that an edit has removed may still have requests.
      const inUse = report?.targets.filter(({ inFlight }) => inFlight > 0) ?? [];
      const load = {
        stage: version ? stageWithWaivers(version, now) : ('removed' as const),
        in_flight: report?.inFlight ?? 0,
        waiting: report?.waiting ?? 0,
        targets: addressesOf([...((from ?? version)?.targets ?? report?.targets ?? []), ...inUse]),
        ...(from && { adapted: true }),
      };
      return [name, incomplete ? { ...load, incomplete } : load];
    }),
  );
}
