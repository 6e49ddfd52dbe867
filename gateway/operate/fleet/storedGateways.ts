import { setTimeout as sleep } from 'node:timers/promises';
import type { Snapshot } from '../../config/snapshot.ts';
import { printableExcerpt } from '../../shared/text.ts';
import type { Remark } from '../../usage/evidence/remark.ts';
import type { FleetFacts } from '../../versions/retirement/facts.ts';
import { fleetFacts, instancesOf, isServed, unregisteredGaps } from './fleetView.ts';
import type { FleetLedger } from './ledger.ts';
import { type GatewayRow, type GatewayRows, leftOrGoneAt, readGateways } from './membership.ts';
import { countingNotes, unreportedCalls } from './unsent.ts';

// A gateway passes on its counts every 5 s, and reports every `fleet.heartbeat`, 2 s by default.
const countsWaitMs = 10_000;
const pollMs = 250;
// For a gateway that does not report its `fleet.silent_after`: the default.
const silentAfterMs = 10_000;
// This command is no gateway, so it has no address that the DNS name could list.
const membersUnused = 'only a running gateway compares them';

/** The gateways of a fleet for a command that reads the store and asks none of them: what their rows tell about calls that it may lack. */
export class StoredGateways {
  readonly #read: GatewayRows;
  /** When the command began to wait, by the clock of the store, epoch ms. */
  readonly #began: number;
  readonly #fleet: Snapshot['fleet'];

  private constructor(read: GatewayRows, began: number, fleet: Snapshot['fleet']) {
    this.#read = read;
    this.#began = began;
    this.#fleet = fleet;
  }

  /**
   * Reads the rows. Waits, for some seconds at most, until each gateway that is heard has reported that the store has its calls up to
   * the beginning. To be called before the counts are read. `fleet`: the settings of the configuration, if it has some.
   * @throws Error with a sentence for the operator
   */
  static async read(ledger: FleetLedger, fleet: Snapshot['fleet']): Promise<StoredGateways> {
    const sql = { query: <Row extends object>(text: string) => ledger.all<Row>(text, []) };
    const deadline = performance.now() + countsWaitMs;
    let began: number | undefined;
    try {
      for (;;) {
        const rows = await readGateways(sql);
        began ??= rows.now;
        const gateways = new StoredGateways(rows, began, fleet);
        if (gateways.#haveReported || performance.now() > deadline) return gateways;
        await sleep(pollMs);
      }
    } catch (error) {
      throw new Error(ledger.problemOf(error), { cause: error });
    }
  }

  /** By the clock of the store, epoch ms. */
  get now(): number {
    return this.#read.now;
  }

  /** Whether no gateway writes to the store now, as far as the store knows. */
  get isNoneHeard(): boolean {
    return this.#heard.length === 0;
  }

  /** The versions that gateways serve, or may serve if they are not heard. */
  get servedVersions(): string[] {
    const served = this.#instances
      .filter(({ state }) => state === 'heard' || state === 'silent')
      .flatMap(({ row }) => Object.entries(row?.versions ?? {}))
      .filter(([, load]) => isServed(load));
    return [...new Set(served.map(([version]) => version))];
  }

  /** What a question about the calls of a version has to know about the fleet. `quiet` in ms. */
  facts(version: string, quiet: number): FleetFacts {
    const view = { problem: undefined, instances: this.#instances, ...this.#read };
    const facts = fleetFacts(view, version, undefined, this.#silentAfter, quiet);
    return {
      ...facts,
      gaps: [...facts.gaps, ...this.#unregisteredGaps],
      notes: [...facts.notes, ...countingNotes(this.#heard, this.#read.now)],
      remarksOnUnsent: unreportedCalls(this.#heard, version, this.#began),
    };
  }

  /** The configuration that the command was given may be a new one, so the gateways are asked, too, what theirs is. */
  get #unregisteredGaps(): Remark[] {
    const ofConfiguration = this.#fleet ? unregisteredGaps(this.#fleet, membersUnused) : [];
    if (ofConfiguration.length > 0) return ofConfiguration;
    const { rows } = this.#read;
    const running = rows.filter((row) => leftOrGoneAt(row) === undefined);
    const early = (running.length > 0 ? running : rows).find(({ start }) => start !== 'wait');
    return early ? [mayServeUnregistered(early)] : [];
  }

  get #silentAfter(): number {
    return this.#fleet?.silentAfter ?? silentAfterMs;
  }

  get #instances(): ReturnType<typeof instancesOf> {
    return instancesOf(this.#read, this.#read.now, this.#silentAfter);
  }

  get #heard(): GatewayRow[] {
    return this.#instances.flatMap(({ state, row }) => (state === 'heard' && row ? [row] : []));
  }

  get #haveReported(): boolean {
    return this.#heard.every((row) =>
      Object.keys(row.versions).every((version) => unreportedCalls([row], version, this.#began).length === 0),
    );
  }
}

/** `row`: of a gateway that may have served clients before the store knew it, so that others may do so now. */
function mayServeUnregistered({ name, start }: GatewayRow): Remark {
  const [why, remedy] =
    start === 'serve'
      ? ['has fleet.start: serve', 'Ask a running gateway, which compares fleet.members, or set fleet.start: wait.']
      : ['has an earlier release, which does not report fleet.start', 'Update it.'];
  const text = `Gateway ${printableExcerpt(name)} ${why}: a gateway may serve clients before the shared store knows it, so it is not known which gateways exist.`;
  return { code: 'gateways_unknown', text, remedy };
}
