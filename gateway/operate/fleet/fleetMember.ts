import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AcceptedConfig, configHash } from '../../config/acceptedConfig.ts';
import type { FleetSettings, Snapshot } from '../../config/snapshot.ts';
import { OutageNotices } from '../../shared/outage.ts';
import { addressesOf } from '../../shared/targetAddress.ts';
import { messageOf } from '../../shared/text.ts';
import type { StopBlocker } from '../../usage/evidence/stopEvidence.ts';
import { earliest } from '../../usage/evidence/targetHealth.ts';
import type { BatchNumber, OutboxState } from '../../usage/ledger/outbox.ts';
import type { LedgerState } from '../../usage/ledger/writableLedger.ts';
import type { ServingReport } from '../../usage/observability/report.ts';
import type { BrownoutRecord } from '../../usage/usageRow.ts';
import type { FleetFacts } from '../../versions/retirement/facts.ts';
import { ConfigAgreement, type ConfiguredGateway } from './configAgreement.ts';
import { type FleetJson, fleetJson } from './fleetJson.ts';
import {
  FleetView,
  fleetFacts,
  monotonicNow,
  stopBlockers,
  unreadBlocker,
  unregisteredBlockers,
  unregisteredGaps,
} from './fleetView.ts';
import type { ForgetOutcome } from './forget.ts';
import { type GatewayIdentity, type GatewayState, ownAddresses, type StoreMemory } from './membership.ts';
import { CountsQuestions, loadsOf, type OwnQuestion, type QuestionOptions, readIntervalMs } from './questions.ts';
import type { MembershipAnswer, MembershipCommand, MembershipReport } from './workerMessages.ts';

// The store usually answers in a fraction of this time. A start, a reload or an operator does not wait longer for an answer.
const answerMs = 5_000;
// The same for a status. `status --wait` gives up sooner than the other commands.
const readMs = 750;
// A refused configuration is checked again every few heartbeats: another gateway may have accepted it, or a quiet period ended.
const heartbeatsPerCheck = 5;

const waitsForStore =
  'This gateway serves no clients before it has reached the shared store of its fleet (fleet.start: wait): the other gateways would not know of its calls.';

const storeSetBack = (reason: string): string =>
  `${reason}  Coverage restarts: the time before this does not count towards a quiet period.`;

/** What this gateway has in the outbox. `instance`, `epoch`: as in `GatewayIdentity`. */
type OwnOutbox = Pick<OutboxState, 'instance' | 'epoch' | 'rows' | 'since' | 'acknowledged' | 'previous'>;

export interface MemberOptions {
  readonly settings: FleetSettings;
  /** Undefined: the ledger cannot be opened. */
  readonly outbox: () => OwnOutbox | undefined;
  /** The rows that the ledger keeps in memory, because it cannot write them. */
  readonly unwritten: () => Pick<LedgerState, 'unwrittenRows' | 'unwrittenSince'>;
  /** The counts that are on their way to the store. */
  readonly unsentCounts: QuestionOptions['unsentCounts'];
  /** Sends a command to the fleet thread. */
  readonly send: (command: MembershipCommand) => void;
  readonly notice: (line: string) => void;
  readonly release: string;
}

/** What a member needs from its running gateway. */
export interface ServingGateway extends ConfiguredGateway {
  readonly ready: () => boolean;
  report(): Promise<ServingReport>;
  /** Sends the counts of all processes to the store. */
  flush(): Promise<unknown>;
}

type Command = Extract<MembershipCommand, { readonly id: number }>;
// Unlike Omit, this type applies to each member of the union.
type WithoutId<Kind> = Kind extends Command ? Omit<Kind, 'id'> : never;

/** This gateway as a member of its fleet: it announces itself, and knows the states of the others at the last heartbeat. */
export class FleetMember {
  readonly view: FleetView;
  readonly #options: MemberOptions;
  // Used while the ledger cannot be opened, because the gateway must be visible nevertheless.
  readonly #fallbackOutbox: OwnOutbox = {
    instance: randomUUID(),
    epoch: Date.now(),
    rows: 0,
    since: undefined,
    acknowledged: undefined,
    previous: undefined,
  };
  readonly #began = Date.now();
  readonly #addresses = ownAddresses();
  /** The `instance` of this gateway, once its fleet thread has read the store. */
  #self: string | undefined;
  /** What the store had at the last heartbeat. */
  #memory: StoreMemory | undefined;
  #gateway: ServingGateway | undefined;
  #heartbeatTimer: NodeJS.Timeout | undefined;
  #readTimer: NodeJS.Timeout | undefined;
  #sentHeartbeats = 0;
  /** What the last heartbeat contained. */
  #lastSent: { readonly snapshot: Snapshot; readonly identity: GatewayIdentity } | undefined;
  /** Why `fleet.members` does not tell which gateways run; undefined: it does. */
  #membersProblem: string | undefined = 'it was not looked up yet';
  #lastCommandId = 0;
  /** The hash of the current snapshot. It is kept because each heartbeat contains it. */
  #snapshotHash: { readonly snapshot: Snapshot; readonly hash: string } | undefined;
  /** Receives the answer to a command, by the id of the command. */
  readonly #onAnswer = new Map<number, (answer: MembershipAnswer) => void>();
  /** Resolves when the store has answered a heartbeat, or when the heartbeat has failed. */
  #nextAnswer = Promise.withResolvers<void>();
  #isStopped = false;
  readonly #agreement: ConfigAgreement;
  readonly #membersCheckNotices: OutageNotices;
  readonly #configCheckNotices: OutageNotices;
  readonly #questions: CountsQuestions;

  constructor(options: MemberOptions) {
    this.#options = options;
    this.view = new FleetView(options.settings.silentAfter);
    this.#membersCheckNotices = new OutageNotices(options.notice);
    this.#configCheckNotices = new OutageNotices(options.notice);
    const { settings, release, unsentCounts } = options;
    const [self, sendHeartbeat] = [() => this.#self, () => this.#sendHeartbeat()];
    this.#questions = new CountsQuestions({ settings, release, unsentCounts, view: this.view, self, sendHeartbeat });
    this.#agreement = new ConfigAgreement({
      name: options.settings.name,
      notice: options.notice,
      read: async () => {
        const answer = this.view.problem === undefined ? await this.#ask({ kind: 'readConfig' }) : undefined;
        return answer && 'config' in answer ? answer.config : null;
      },
      write: async (config) => 'config' in (await this.#ask({ kind: 'writeConfig', config })),
    });
  }

  /** What the store must still have. A store that lacks it was set back, so its counts are no evidence. Undefined: nothing is known. */
  get memory(): StoreMemory | undefined {
    return this.#memory;
  }

  /** Notes that the store has confirmed a batch. */
  onSent({ epoch, seq }: BatchNumber): void {
    const { instance } = this.#ownOutbox;
    if (this.#memory) this.#memory = { ...this.#memory, acknowledged: { instance, epoch, seq } };
  }

  /** Why this gateway must not become ready, in lines; undefined: it may. */
  get refusal(): readonly string[] | undefined {
    return this.#agreement.refusal;
  }

  /** What the fleet has announced, if the active configuration breaks it. */
  get announcedConfig(): AcceptedConfig | undefined {
    return this.#agreement.announcedConfig;
  }

  /**
   * Makes this gateway visible to the others before it serves clients. With `fleet.start: wait`, waits until the store has it: no other
   * gateway would know of the calls of a gateway that has never been heard. `onWait`: called once if that takes long.
   */
  async register(snapshot: Snapshot, now: () => number, onWait: () => Promise<void> = async () => {}): Promise<void> {
    const { start, heartbeat } = this.#options.settings;
    let isWaiting = false;
    do {
      const answer = this.#nextAnswer.promise;
      this.#sendState(snapshot, { versions: [], workers: [] }, { at: now(), ready: false });
      // The timer keeps the process alive: nothing else does before the gateway listens.
      const limit = new AbortController();
      const late = sleep(answerMs, undefined, { signal: limit.signal }).catch(() => {});
      await Promise.race([answer, late]);
      limit.abort();
      if (start !== 'wait' || this.#self !== undefined) return;
      if (!isWaiting) {
        this.#options.notice(waitsForStore);
        await onWait();
      }
      isWaiting = true;
      await sleep(heartbeat);
    } while (!this.#isStopped);
  }

  /** Compares the configuration with that of the fleet, and reports the state of the gateway from now on. */
  async join(gateway: ServingGateway): Promise<void> {
    this.#gateway = gateway;
    const { settings, send } = this.#options;
    this.#heartbeatTimer = setInterval(() => void this.#sendHeartbeatAndCheck(), settings.heartbeat).unref();
    if (settings.heartbeat > readIntervalMs)
      this.#readTimer = setInterval(() => send({ kind: 'read' }), readIntervalMs).unref();
    await this.#agreement.decide(gateway);
    await this.#sendHeartbeatAndCheck();
  }

  /** Records a configuration that the reload guard has accepted. */
  accept(snapshot: Snapshot): void {
    this.#agreement.accept(snapshot);
    void this.#sendHeartbeatAndCheck();
  }

  /** Stores decisions, and returns the decisions in effect in the fleet. Undefined: the store does not answer. */
  async shareBrownouts(records: readonly BrownoutRecord[]): Promise<readonly BrownoutRecord[] | undefined> {
    const answer = await this.#ask({ kind: 'brownouts', records });
    return 'brownouts' in answer ? answer.brownouts : undefined;
  }

  /**
   * Marks the silent gateways of this name as gone. `endedAt`: when they ended, if it is known, epoch ms. `failure`: why the store did
   * not answer.
   */
  async forget(name: string, reason: string, endedAt?: number): Promise<ForgetOutcome | { readonly failure: string }> {
    const silent = this.view.instances.filter((one) => one.name === name && one.state === 'silent');
    const lastKnownRows = silent.flatMap(({ row }) => row ?? []);
    const answer = await this.#ask({ kind: 'forget', name, reason, endedAt, lastKnownRows });
    if ('outcome' in answer) return answer.outcome;
    return { failure: 'failure' in answer ? answer.failure : 'it gave an unexpected answer' };
  }

  onReport(report: MembershipReport): void {
    if (report.kind === 'answer') {
      this.#onAnswer.get(report.id)?.(report.answer);
      this.#onAnswer.delete(report.id);
      return;
    }
    if (report.kind === 'membersCheck') {
      this.#onMembersCheck(report.problem);
      return;
    }
    if (report.kind === 'setBack') {
      this.#options.notice(storeSetBack(report.reason));
      return;
    }
    if (report.kind === 'gateways') {
      this.#self = report.self;
      this.#memory = report.memory;
      this.view.update(report.gateways, report.askedAt);
      this.#questions.onGatewayRowsRead(async () => this.#gateway?.flush());
    } else this.view.fail(report.reason);
    this.#nextAnswer.resolve();
    this.#nextAnswer = Promise.withResolvers();
  }

  #onMembersCheck(problem: string | undefined): void {
    this.#membersProblem = problem;
    const name = this.#options.settings.members?.host;
    if (problem === undefined) this.#membersCheckNotices.recovered(`fleet.members: ${name} lists this gateway.`);
    else
      this.#membersCheckNotices.failed(
        `fleet.members: ${name} does not list this gateway: ${problem}.  Until then, no silent gateway counts as gone.`,
      );
  }

  /** Reads which gateways run now. @returns whether the store has told it in time */
  async readGateways(): Promise<boolean> {
    const askedAt = monotonicNow();
    const late = sleep(readMs, 'late' as const, { ref: false });
    this.#options.send({ kind: 'read' });
    while (!this.view.isReadSince(askedAt) && this.view.problem === undefined)
      if ((await Promise.race([this.#nextAnswer.promise, late])) === 'late') break;
    return this.view.isReadSince(askedAt);
  }

  /**
   * Why the backends of a version are not safe to stop; empty if they are. `targets`: those that this gateway has for it. `areRead`: what
   * `readGateways` has returned. Gateways may have started since an earlier read.
   */
  stopBlockers(
    version: string,
    targets: readonly { readonly url: string }[],
    isAdapted: boolean,
    areRead: boolean,
  ): StopBlocker[] {
    const { settings } = this.#options;
    const isUnread = !areRead && this.view.problem === undefined;
    return [
      ...(isUnread ? [unreadBlocker] : []),
      ...stopBlockers(this.view, { version, addresses: addressesOf(targets), isAdapted }),
      ...unregisteredBlockers(settings, this.#membersProblem),
    ];
  }

  /** A question to the other gateways, for `facts` and `awaitCounts`: does the ledger have all calls that ended before now? */
  createCountsQuestion: CountsQuestions['createQuestion'] = () => this.#questions.createQuestion();

  /** What the verdict on a version has to know about the fleet. `quiet` in ms. */
  facts(version: string, quiet: number, question: OwnQuestion): FleetFacts {
    const facts = fleetFacts(this.view, version, this.#self, this.#options.settings.silentAfter, quiet);
    const notes = [...facts.notes, ...this.#questions.notes()];
    const gaps = [...facts.gaps, ...unregisteredGaps(this.#options.settings, this.#membersProblem)];
    return { ...facts, gaps, notes, remarksOnUnsent: this.#questions.remarksOnUnsent(version, question) };
  }

  /**
   * Waits, for a few seconds at most, until the shared ledger has the calls of these versions that ended before the question.
   * @returns why calls of a version may still be missing, by version
   */
  awaitCounts: CountsQuestions['awaitCounts'] = (versions, flushAndReport, question) =>
    this.#questions.awaitCounts(versions, flushAndReport, question);

  status(): FleetJson {
    return fleetJson(this.view, { instance: this.#self, ...this.#spooledRows() });
  }

  /** Called when a thread of the fleet has started: it has no heartbeat to write until it gets one. */
  onThreadStarted(): void {
    this.#sendHeartbeat().catch(() => {});
  }

  /**
   * Called before the last counts are sent. If the ledger was opened since the last heartbeat, sends another one: the counts of a run are
   * sent only after a heartbeat of this run.
   */
  announceLastRun(): void {
    const { instance, epoch } = this.#ownOutbox;
    if (!this.#lastSent) return;
    const { snapshot, identity } = this.#lastSent;
    if (instance === identity.instance && epoch === identity.epoch) return;
    this.#sendState(snapshot, { versions: [], workers: [] }, { at: Date.now(), ready: false });
  }

  stop(): void {
    clearInterval(this.#heartbeatTimer);
    clearInterval(this.#readTimer);
    this.#heartbeatTimer = undefined;
    this.#isStopped = true;
  }

  get #ownOutbox(): OwnOutbox {
    return this.#options.outbox() ?? this.#fallbackOutbox;
  }

  /** The rows that the store does not have yet. */
  #spooledRows(): Pick<GatewayState, 'spooled' | 'spooledSince'> {
    const { rows, since } = this.#ownOutbox;
    const { unwrittenRows, unwrittenSince } = this.#options.unwritten();
    return { spooled: rows + unwrittenRows, spooledSince: earliest(since, unwrittenSince) };
  }

  /** Never rejects. */
  async #sendHeartbeatAndCheck(): Promise<void> {
    try {
      const isReported = await this.#sendHeartbeat();
      this.#sentHeartbeats += 1;
      if (!isReported || !this.#gateway || this.#sentHeartbeats % heartbeatsPerCheck !== 0) return;
      if (await this.#agreement.retry(this.#gateway))
        this.#configCheckNotices.recovered('routes.yaml can be compared with the configuration of the fleet again.');
    } catch (error) {
      const reason = messageOf(error);
      this.#configCheckNotices.failed(
        `routes.yaml cannot be compared with the configuration of the fleet: ${reason}.  This is tried again.`,
      );
    }
  }

  /** @returns false while the gateway starts or stops */
  async #sendHeartbeat(): Promise<boolean> {
    const gateway = this.#gateway;
    if (!gateway || this.#heartbeatTimer === undefined) return false;
    const at = Date.now();
    const report = await gateway.report().catch(() => undefined);
    if (report === undefined) return false;
    const snapshot = gateway.source.current;
    const isReady = gateway.ready() && this.refusal === undefined;
    this.#sendState(snapshot, report, { at, ready: isReady });
    return true;
  }

  /** `at`: the time of the report, epoch ms. */
  #sendState(snapshot: Snapshot, report: ServingReport, { at, ready }: { at: number; ready: boolean }): void {
    const { settings, release, send } = this.#options;
    const { instance, epoch, acknowledged, previous } = this.#ownOutbox;
    const { name, silentAfter, start } = settings;
    const identity: GatewayIdentity = {
      instance,
      epoch,
      name,
      release,
      addresses: this.#addresses,
      silentAfter,
      start,
      began: this.#began,
      previous,
    };
    const state: GatewayState = {
      versions: loadsOf(snapshot, report, at),
      config: this.#hashOf(snapshot),
      ready,
      problem: this.#agreement.problem,
      ...this.#spooledRows(),
      counted: this.#questions.countedCalls(report, at),
      questionId: this.#questions.questionId,
    };
    this.#lastSent = { snapshot, identity };
    send({ kind: 'heartbeat', identity, state, acknowledged });
  }

  #hashOf(snapshot: Snapshot): string {
    if (this.#snapshotHash?.snapshot !== snapshot) this.#snapshotHash = { snapshot, hash: configHash(snapshot) };
    return this.#snapshotHash.hash;
  }

  #ask(command: WithoutId<Command>): Promise<MembershipAnswer> {
    this.#lastCommandId += 1;
    const id = this.#lastCommandId;
    const { promise, resolve } = Promise.withResolvers<MembershipAnswer>();
    this.#onAnswer.set(id, resolve);
    const late = setTimeout(() => {
      this.#onAnswer.delete(id);
      resolve({ failure: `no answer within ${answerMs / 1_000} s` });
    }, answerMs);
    this.#options.send({ ...command, id } as Command);
    return promise.finally(() => clearTimeout(late));
  }
}
