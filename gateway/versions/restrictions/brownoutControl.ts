import { apiOf } from '../../config/api.ts';
import type { BrownoutWindow } from '../../config/clientRules.ts';
import type { Snapshot, Version } from '../../config/snapshot.ts';
import type { Clock } from '../../shared/clock.ts';
import { rfc3339 } from '../../shared/instant.ts';
import { type MetricValues, metricOf } from '../../usage/observability/exposition.ts';
import { requestsIn } from '../../usage/observability/recentTraffic.ts';
import type { ServingReport } from '../../usage/observability/report.ts';
import type { BrownoutRecord } from '../../usage/usageRow.ts';
import {
  type BrownoutStatus,
  type BrownoutStop,
  beginLine,
  brownoutEndLine,
  brownoutKey,
  brownoutStatus,
  cancelledBrownouts,
} from '../lifecycle/brownouts.ts';
import { stageOf, successorOf } from '../lifecycle/stage.ts';
import {
  type BrownoutEstimate,
  hasUsableTarget,
  mayBeKnownAt,
  reasonToSkip,
  SuccessorWatch,
} from './brownoutConditions.ts';
import type { RestrictionState } from './restriction.ts';

// A stop by an operator, or by another gateway of the fleet, takes effect within two seconds.
const tickMs = 500;
// The processes are told about a brownout this long before it begins, so that it begins on time.
const leadMs = 30_000;
// A brownout is stopped if the ledger cannot be read for this long. A store that fails over answers again earlier.
const maxUnreadableMs = 5_000;
// How often the successor is checked during a brownout.
const sampleIntervalMs = 5_000;
// The longest time between two reads of the records: another gateway may stop a brownout long before it begins.
const longestReadPauseMs = 60_000;

export interface BrownoutControlOptions {
  readonly source: { readonly current: Snapshot };
  readonly clock: Clock;
  /** Takes a line for the operator. */
  readonly notice: (line: string) => void;
  /** The state of all processes. `withMetrics`: including their metrics. */
  readonly report: (options: { readonly withMetrics: boolean }) => Promise<ServingReport>;
  /** Undefined: the ledger cannot be read. */
  readonly estimate: (version: Version, window: BrownoutWindow, now: number) => Promise<BrownoutEstimate | undefined>;
  /** Stores new records and returns all records that are in effect. Undefined: the ledger, or the store of the fleet, does not answer. */
  readonly storeAndRead: (records: readonly BrownoutRecord[]) => Promise<readonly BrownoutRecord[] | undefined>;
  /** Tells all processes that serve clients which brownouts may refuse requests, and which are cancelled. */
  readonly restrict: (update: Pick<RestrictionState, 'brownouts' | 'cancelled'>) => Promise<void>;
}

/** A brownout that begins soon, is running, or has just ended. */
interface NearBrownout {
  readonly key: string;
  readonly version: Version;
  readonly window: BrownoutWindow;
}

/**
 * Decides on the operating side which brownouts start, and which end early. The processes that serve clients begin and end an
 * approved brownout by their own clocks. A brownout that is over, for whatever reason, does not start again.
 */
export class BrownoutControl {
  readonly #options: BrownoutControlOptions;
  /** The decisions that are stored, by key. */
  readonly #records = new Map<string, BrownoutRecord>();
  /** The decisions of this gateway that are not stored yet, by key. */
  readonly #pending = new Map<string, BrownoutRecord>();
  /** The watch of the successor, by the key of the brownout. */
  readonly #watches = new Map<string, SuccessorWatch>();
  /** The keys whose start was reported. */
  readonly #reportedStarts = new Set<string>();
  /** What the processes were told last, as JSON. */
  #published = '[[],[]]';
  #isLoaded = false;
  #isClosed = false;
  /** When decisions were last stored and read, by the monotonic clock. */
  #storeAskedAt = 0;
  /** Since when the ledger, or the store of the fleet, does not answer, epoch ms. */
  #unreadableSince: number | undefined;
  /** The keys of the brownouts for which `#inBackground` runs. */
  readonly #keysInBackground = new Set<string>();
  // Decisions are stored and read by one call at a time, so that an older answer never replaces a newer one.
  #lastStoreAndRead: Promise<unknown> = Promise.resolve();
  #checking: Promise<void> | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor(options: BrownoutControlOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.check(), tickMs).unref();
    void this.check();
  }

  /** After this call, no decision is made or stored. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }

  /** Every brownout of the current configuration, in the order of versions and starts. */
  status(): BrownoutStatus[] {
    const { source, clock } = this.#options;
    const { sortedVersions } = source.current;
    return sortedVersions.flatMap((one) => one.brownouts.map((window) => this.#statusOf(one, window, clock.now())));
  }

  /** Stops the running brownout, or one that begins soon. With `at` (its start, epoch ms): any brownout that has not ended. */
  async stop(name: string, at?: number, by = 'an operator'): Promise<BrownoutStop> {
    const now = this.#options.clock.now();
    const version = this.#options.source.current.versions.get(name);
    const lead = at === undefined ? leadMs : Number.POSITIVE_INFINITY;
    const window = version?.brownouts.find((one) => (at ?? one.at) === one.at && one.at - lead <= now && now < one.end);
    if (version === undefined || window === undefined) {
      const what = at === undefined ? 'is running' : `that begins at ${rfc3339(at)} can still be stopped`;
      return { kind: 'nothing', reason: `No brownout of /${name} ${what}.` };
    }
    const { state, reason } = this.#statusOf(version, window, now);
    const why = reason === null ? '' : `: ${reason}`;
    if (state === 'stopped' || state === 'skipped' || state === 'ended')
      return { kind: 'nothing', reason: `The brownout of /${name} was ${state} before${why}.` };
    const key = brownoutKey(name, window);
    this.#decide({ key, version, window }, 'stopped', `stopped by ${by}`);
    const [, isStored] = await Promise.all([this.#publish(), this.#storeAndReadInTurn()]);
    return { kind: 'stopped', brownout: this.#statusOf(version, window, now), isStored };
  }

  /** Never rejects. One check runs at a time. */
  check(): Promise<void> {
    this.#checking ??= this.#check()
      .catch(() => {})
      .finally(() => {
        this.#checking = undefined;
      });
    return this.#checking;
  }

  async #check(): Promise<void> {
    const { source, clock } = this.#options;
    const nearBrownouts = this.#nearBrownouts(clock.now());
    const windows = source.current.sortedVersions.flatMap(({ brownouts }) => brownouts);
    const hasPlanned = windows.some(({ end }) => clock.now() < end);
    const isFirstRead = !this.#isLoaded && windows.length > 0;
    const isReadDue = hasPlanned && performance.now() - this.#storeAskedAt >= longestReadPauseMs;
    if (nearBrownouts.length > 0 || this.#pending.size > 0 || isFirstRead || isReadDue) {
      const isLedgerReadable = await this.#storeAndReadInTurn();
      for (const brownout of nearBrownouts) this.#advance(brownout, isLedgerReadable);
    }
    void this.#publish();
    if (this.#pending.size > 0) await this.#storeAndReadInTurn();
  }

  /** The brownouts that begin soon, run, or have just ended. */
  #nearBrownouts(now: number): NearBrownout[] {
    return this.#options.source.current.sortedVersions.flatMap((version) =>
      version.brownouts.flatMap((window): NearBrownout[] => {
        const key = brownoutKey(version.name, window);
        const isToAdvance = now < window.end || this.#records.get(key)?.state === 'approved';
        return window.at - leadMs <= now && isToAdvance ? [{ key, version, window }] : [];
      }),
    );
  }

  /** Starts, watches, stops or ends a brownout, if it is time. */
  #advance(brownout: NearBrownout, isLedgerReadable: boolean): void {
    const { key, version, window } = brownout;
    const now = this.#options.clock.now();
    const record = this.#recordOf(key);
    if (record === undefined) {
      if (isLedgerReadable) this.#inBackground(key, () => this.#decideStart(brownout));
      else if (now >= window.at) this.#decide(brownout, 'skipped', unreadable);
    } else if (record.state === 'approved') {
      if (now >= window.end) this.#decide(brownout, 'ended', null);
      else if (!isLedgerReadable && now - (this.#unreadableSince ?? now) >= maxUnreadableMs)
        this.#decide(brownout, 'stopped', unreadable);
      else {
        if (now >= window.at && !this.#reportedStarts.has(key)) this.#options.notice(beginLine(version.name, window));
        if (now >= window.at) this.#reportedStarts.add(key);
        const sampledAt = this.#watches.get(key)?.sampledAt;
        const isDue = sampledAt === undefined || now < sampledAt || now - sampledAt >= sampleIntervalMs;
        if (isDue) this.#inBackground(key, () => this.#watchSuccessor(brownout));
      }
    }
  }

  /** Runs beside the checks, so that a slow worker or ledger does not delay the end of a brownout. */
  #inBackground(key: string, work: () => Promise<void>): void {
    if (this.#keysInBackground.has(key)) return;
    this.#keysInBackground.add(key);
    void work()
      .then(() => void this.#publish())
      .catch(() => {})
      .finally(() => this.#keysInBackground.delete(key));
  }

  async #decideStart(brownout: NearBrownout): Promise<void> {
    const { clock } = this.#options;
    const obstacle = await this.#obstacleTo(brownout);
    if (obstacle === undefined) this.#decide(brownout, 'approved', null);
    // A ledger that does not answer now may answer before the start.
    else if (!obstacle.mayEnd || clock.now() >= brownout.window.at) this.#decide(brownout, 'skipped', obstacle.reason);
  }

  /** Why the brownout must not start. `mayEnd`: whether it may start nevertheless, if the obstacle ends before its start. */
  async #obstacleTo({
    version,
    window,
  }: NearBrownout): Promise<{ readonly reason: string; readonly mayEnd: boolean } | undefined> {
    const { source, report, estimate, clock } = this.#options;
    const now = clock.now();
    if (stageOf(version, now) === 'retired') return { reason: 'the version is retired', mayEnd: false };
    const successor = successorOf(version, source.current, now);
    if (successor === undefined) return { reason: noSuccessor, mayEnd: false };
    if (!hasUsableTarget(await report({ withMetrics: false }), successor.name))
      return { reason: `its successor /${successor.name} has no healthy target`, mayEnd: false };
    const estimated = await estimate(version, window, now).catch(() => undefined);
    if (estimated === undefined) return { reason: unreadable, mayEnd: true };
    const reason = reasonToSkip(estimated, apiOf(version.name, source.current).brownout);
    const mayEnd = estimated.missing.length > 0 && mayBeKnownAt(estimated, window.at);
    return reason === undefined ? undefined : { reason, mayEnd };
  }

  async #watchSuccessor(brownout: NearBrownout): Promise<void> {
    const { source, report, clock } = this.#options;
    const { key, version } = brownout;
    const now = clock.now();
    const successor = successorOf(version, source.current, now);
    if (successor === undefined) {
      this.#decide(brownout, 'stopped', noSuccessor);
      return;
    }
    const watch = this.#watches.get(key) ?? new SuccessorWatch();
    this.#watches.set(key, watch);
    const serving = await report({ withMetrics: true });
    const problem = watch.add(now, requestsIn(serving, successor.name), hasUsableTarget(serving, successor.name));
    if (problem !== undefined) this.#decide(brownout, 'stopped', `its successor /${successor.name} ${problem}`);
  }

  /** A decision takes effect here at once, except for an approval: in a fleet, another gateway may have decided before. */
  #decide({ key, version, window }: NearBrownout, state: BrownoutRecord['state'], reason: string | null): void {
    const currentRecord = this.#recordOf(key);
    if (this.#isClosed || (currentRecord !== undefined && currentRecord.state !== 'approved')) return;
    this.#pending.set(key, { version: version.name, at: window.at, state, reason, changed: this.#options.clock.now() });
    if (state !== 'approved') this.#options.notice(brownoutEndLine(version.name, window, state, reason));
  }

  /** Stores the pending decisions, and reads all, when the earlier calls have ended. @returns false if the ledger, or the store of the fleet, does not answer */
  #storeAndReadInTurn(): Promise<boolean> {
    const isAnswered = this.#lastStoreAndRead.then(() => this.#storeAndReadNow());
    this.#lastStoreAndRead = isAnswered;
    return isAnswered;
  }

  async #storeAndReadNow(): Promise<boolean> {
    if (this.#isClosed) return false;
    const { storeAndRead, source, clock, notice } = this.#options;
    const sent = [...this.#pending];
    const startedAt = clock.now();
    this.#storeAskedAt = performance.now();
    const stored = await storeAndRead(sent.map(([, record]) => record)).catch(() => undefined);
    if (stored === undefined) {
      this.#unreadableSince ??= startedAt;
      return false;
    }
    this.#unreadableSince = undefined;
    this.#isLoaded = true;
    for (const record of stored) {
      const key = brownoutKey(record.version, record);
      const currentRecord = this.#recordOf(key);
      // A store that was restored from a backup may have lost the end of a brownout.
      if (currentRecord !== undefined && currentRecord.state !== 'approved') continue;
      this.#records.set(key, record);
      const version = source.current.versions.get(record.version);
      const window = version?.brownouts.find(({ at }) => at === record.at);
      if (version && window && currentRecord?.state === 'approved' && record.state !== 'approved')
        notice(brownoutEndLine(record.version, window, record.state, record.reason));
    }
    for (const [key, record] of sent) {
      if (this.#pending.get(key) !== record) continue;
      this.#pending.delete(key);
      // An approval takes effect only when it is read from the store. Any other decision stays in effect once it is stored.
      if (record.state !== 'approved') this.#records.set(key, record);
    }
    return true;
  }

  /** Tells the processes which brownouts may refuse clients. Never rejects. Checks do not await it, because a process may be slow. */
  async #publish(): Promise<void> {
    const now = this.#options.clock.now();
    const keys = this.#nearBrownouts(now)
      .filter(({ key, window }) => now < window.end && this.#recordOf(key)?.state === 'approved')
      .map(({ key }) => key);
    const cancelled = cancelledBrownouts(this.#options.source.current.sortedVersions, (key) => this.#recordOf(key));
    const published = JSON.stringify([keys, [...cancelled]]);
    if (published === this.#published) return;
    this.#published = published;
    await this.#options.restrict({ brownouts: new Set(keys), cancelled }).catch(() => {});
  }

  /** The decision that is in effect here: a pending one, unless it is an approval, or else the stored one. */
  #recordOf(key: string): BrownoutRecord | undefined {
    const pending = this.#pending.get(key);
    return pending && pending.state !== 'approved' ? pending : this.#records.get(key);
  }

  #statusOf(version: Version, window: BrownoutWindow, now: number): BrownoutStatus {
    const key = brownoutKey(version.name, window);
    return brownoutStatus(version.name, window, this.#recordOf(key), this.#watches.get(key)?.sampledAt, now);
  }
}

const unreadable = 'the usage ledger cannot be read';
const noSuccessor = 'it has no successor';

export function brownoutGauge(brownouts: readonly Pick<BrownoutStatus, 'version' | 'state'>[]): MetricValues {
  const groups = Map.groupBy(brownouts, ({ version, state }) => `${version} ${state}`);
  const samples = [...groups.values()].flatMap((group) =>
    group.slice(0, 1).map(({ version, state }) => ({ labels: { version, state }, value: group.length })),
  );
  return metricOf('version_gateway_brownouts', samples);
}
