import type { FleetMember } from '../../operate/fleet/fleetMember.ts';
import type { CountsQuestion } from '../../operate/fleet/unsent.ts';
import type { LiveFacts } from '../../usage/evidence/callEvidence.ts';
import type { LedgerState } from '../../usage/ledger/writableLedger.ts';
import type { ServingReport } from '../../usage/observability/report.ts';
import type { FactSources, FleetFacts } from './facts.ts';

/** What a running gateway can be asked about the calls to it. */
export interface LiveSources {
  /** Sends the counts of all processes to the ledger. @returns false if a process has not sent them */
  flush(): Promise<boolean>;
  /** The state of all processes. */
  report(): Promise<ServingReport>;
  /** Undefined: the gateway keeps no usage ledger. */
  readonly ledger: Pick<LedgerState, 'unwrittenRows'> | undefined;
  /** Undefined: the gateway is not in a fleet. */
  readonly fleet: Pick<FleetMember, 'createCountsQuestion' | 'awaitCounts' | 'facts'> | undefined;
}

/** What the processes and the other gateways know now. Plain data, which can be sent to a thread. */
export interface LiveState {
  readonly report: ServingReport;
  /** By version, for the versions that were asked for. */
  readonly facts: ReadonlyMap<string, LiveFacts>;
  /** The same as the fleet reports it. Empty if the gateway is not in a fleet. */
  readonly fleet: ReadonlyMap<string, FleetFacts>;
}

/** The length of the period of a question, ms: the same for all versions, or that of each version. */
export type QuestionPeriod = number | ((version: string) => number);

export function periodOfQuestion(period: QuestionPeriod, version: string): number {
  return typeof period === 'number' ? period : period(version);
}

/**
 * A question to all processes of this gateway, and to the other gateways of its fleet: which calls that ended before the question may be
 * missing in the ledger? Every answer about calls begins with one.
 */
export class CallsQuestion {
  readonly #sources: LiveSources;
  readonly #asked: CountsQuestion | undefined;

  constructor(sources: LiveSources) {
    this.#sources = sources;
    this.#asked = sources.fleet?.createCountsQuestion();
  }

  /** Waits, for a few seconds at most, until the other gateways have sent their calls of these versions. */
  async wait(versions: readonly string[]): Promise<void> {
    const flushAndReport = async (): Promise<ServingReport> => (await this.#flushAndReport()).report;
    if (this.#asked) await this.#sources.fleet?.awaitCounts(versions, flushAndReport, this.#asked);
  }

  /** What is known now. Sends the counts of this gateway to the ledger first. */
  async answer(versions: Iterable<string>, quiet: QuestionPeriod): Promise<LiveState> {
    const { ledger, fleet } = this.#sources;
    const { report, isFlushed } = await this.#flushAndReport();
    const hasUnwritten = !isFlushed || (ledger !== undefined && ledger.unwrittenRows > 0);
    const asked = this.#asked;
    const names = [...new Set(versions)];
    const fleetFacts = new Map(
      names.flatMap((name) =>
        fleet && asked ? [[name, fleet.facts(name, periodOfQuestion(quiet, name), { report, ...asked })] as const] : [],
      ),
    );
    const facts = names.map(
      (name) => [name, liveFactsOf(name, report, { hasUnwritten, fleet: fleetFacts.get(name) })] as const,
    );
    return { report, facts: new Map(facts), fleet: fleetFacts };
  }

  async #flushAndReport(): Promise<{ readonly report: ServingReport; readonly isFlushed: boolean }> {
    const isFlushed = await this.#sources.flush();
    return { report: await this.#sources.report(), isFlushed };
  }
}

/** `hasUnwritten`: whether counts of this gateway are not in its ledger. `fleet`: undefined if the gateway is not in a fleet. */
export function liveFactsOf(
  version: string,
  { versions, workers }: ServingReport,
  { hasUnwritten = false, fleet }: { readonly hasUnwritten?: boolean; readonly fleet?: FleetFacts | undefined } = {},
): LiveFacts {
  const reported = versions.find(({ name }) => name === version);
  const times = [reported?.lastInFlight, reported?.lastRefused].filter((at) => at !== undefined);
  return {
    inFlight: (reported?.inFlight ?? 0) + (fleet?.inFlight ?? 0),
    waiting: (reported?.waiting ?? 0) + (fleet?.waiting ?? 0),
    lastRemembered: times.length === 0 ? undefined : Math.max(...times),
    hasUnwritten,
    unresponsiveSince: workers.find((one) => one.unresponsiveSince !== undefined)?.unresponsiveSince,
    gaps: fleet?.gaps ?? [],
    pending: fleet?.remarksOnUnsent ?? [],
  };
}

/**
 * The facts for an answer that does not flush the counts and does not wait for other gateways: the calls of the last seconds are counted
 * soon, so they are not in it. `quiet`: the length of the period of the answer, ms.
 */
export function factsWithoutWaiting(
  version: string,
  report: ServingReport,
  quiet: number,
  fleet: Pick<FleetMember, 'createCountsQuestion' | 'facts'> | undefined,
): LiveFacts {
  const ofFleet = fleet?.facts(version, quiet, { report, ...fleet.createCountsQuestion() });
  // Open requests may be of clients that do not count.
  const facts = liveFactsOf(version, report, { fleet: ofFleet });
  return { ...facts, inFlight: 0, waiting: 0, lastRemembered: undefined, pending: [] };
}

/** The parts of a state that `gatherFacts` needs for one version. */
export function stateOfVersion(
  { report, facts, fleet }: LiveState,
  version: string,
): Pick<FactSources, 'report' | 'live' | 'fleet'> {
  return { report, live: facts.get(version), fleet: fleet.get(version) };
}
