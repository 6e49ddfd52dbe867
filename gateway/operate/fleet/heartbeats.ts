import type { FleetSettings } from '../../config/snapshot.ts';
import { messageOf } from '../../shared/text.ts';
import type { BatchNumber, OutboxState } from '../../usage/ledger/outbox.ts';
import { type FleetRows, monotonicNow } from './fleetView.ts';
import { forgetGateway } from './forget.ts';
import { Members } from './members.ts';
import { type GatewayIdentity, Membership, markGone } from './membership.ts';
import type { Sql, Transactions } from './postgres.ts';
import { mergeBrownouts, readSharedConfig, writeSharedConfig } from './sharedConfig.ts';
import type { MembershipAnswer, MembershipCommand, MembershipReport } from './workerMessages.ts';

type HeartbeatCommand = MembershipCommand & { readonly kind: 'heartbeat' };
type AnsweredCommand = Extract<MembershipCommand, { readonly id: number }>;

/** Writes the state of this gateway to the store, and reads the states of the others. Runs in the thread of the fleet. */
export class Heartbeats {
  readonly #store: Sql & Transactions;
  readonly #settings: FleetSettings;
  readonly #post: (report: MembershipReport) => void;
  readonly #onRegistered: (run: GatewayIdentity) => void;
  /** Checks the DNS name in `fleet.members`. */
  readonly #members: Members | undefined;
  /** The row of this gateway. */
  #membership: Membership | undefined;
  #lastHeartbeat: HeartbeatCommand | undefined;
  #isWriteDue = false;
  #isReadDue = false;
  #running: Promise<void> | undefined;
  #membersCheck: Promise<void> | undefined;
  /** Addresses in `fleet.members` from which no gateway was heard. */
  #unheardAddresses: readonly string[] = [];
  /** The last batch that the store has confirmed; undefined: none is known, or the store has lost it. */
  #acknowledged: BatchNumber | undefined;

  /** `onRegistered`: the store has a heartbeat of this run. */
  constructor(
    store: Sql & Transactions,
    settings: FleetSettings,
    post: (report: MembershipReport) => void,
    onRegistered: (run: GatewayIdentity) => void,
  ) {
    const { members, silentAfter, start } = settings;
    this.#store = store;
    this.#settings = settings;
    this.#post = post;
    this.#onRegistered = onRegistered;
    this.#members = members && new Members(members, silentAfter, start === 'serve');
  }

  /** The store has this batch. */
  onSent({ epoch, seq }: BatchNumber): void {
    this.#acknowledged = { epoch, seq };
  }

  onCommand(command: MembershipCommand): void {
    if ('id' in command) {
      void this.#answer(command);
      return;
    }
    if (command.kind === 'read') {
      if (this.#lastHeartbeat === undefined) return;
      this.#isReadDue = true;
    } else {
      // While the store is slow, only the latest state is written.
      this.#lastHeartbeat = command;
      this.#isWriteDue = true;
    }
    this.#running ??= this.#writeAndRead().finally(() => {
      this.#running = undefined;
    });
  }

  /**
   * Writes the last state of this gateway. `rows`: how many rows of counts the store does not have yet. `since`: when the oldest of
   * them began to wait. @throws StoreError
   */
  async end({ rows, since }: Pick<OutboxState, 'rows' | 'since'>): Promise<void> {
    this.#isWriteDue = this.#isReadDue = false;
    await this.#running;
    const lastHeartbeat = this.#lastHeartbeat;
    if (!this.#membership || !lastHeartbeat) return;
    if (rows === 0) await this.#membership.leave(this.#acknowledged);
    else {
      const problem = 'It has stopped before the store had all its counts.';
      await this.#membership.writeHeartbeat(
        {
          ...lastHeartbeat.state,
          versions: {},
          ready: false,
          problem,
          spooled: rows,
          spooledSince: since,
          counted: undefined,
        },
        this.#acknowledged,
      );
    }
  }

  async #writeAndRead(): Promise<void> {
    while ((this.#isWriteDue || this.#isReadDue) && this.#lastHeartbeat) {
      const isWrite = this.#isWriteDue;
      this.#isWriteDue = this.#isReadDue = false;
      try {
        if (isWrite) await this.#writeHeartbeat(this.#lastHeartbeat);
        if (this.#membership) await this.#read(this.#membership, this.#lastHeartbeat);
      } catch (error) {
        this.#post({ kind: 'heartbeatFailed', reason: messageOf(error) });
      }
    }
  }

  async #writeHeartbeat({ identity, state, acknowledged }: HeartbeatCommand): Promise<void> {
    const former = this.#membership;
    let reason: string | undefined;
    if (former?.hasIdentity(identity)) reason = await former.writeHeartbeat(state, this.#acknowledged);
    else {
      const membership = new Membership(this.#store, identity);
      // What the file of the ledger has: it is older than what this thread knows, but may be from an earlier run.
      this.#acknowledged ??= acknowledged;
      // While its ledger could not be opened, the gateway had a temporary id. It gets its lasting id in the same transaction in which
      // the temporary one leaves: otherwise the others could see only that it has left, although it serves clients. A run whose ledger
      // file was removed does not leave: counts that waited in the file are lost, so the run stays open.
      reason = await this.#store.transaction(async (sql) => {
        if (former?.isContinuedBy(identity)) await former.leave(undefined, sql);
        return membership.writeHeartbeat(state, this.#acknowledged, sql);
      });
      this.#membership = membership;
    }
    if (reason !== undefined) {
      // The loss is recorded. The batches that are missing cannot be sent again.
      this.#acknowledged = undefined;
      this.#post({ kind: 'setBack', reason });
    }
    this.#onRegistered(identity);
  }

  async #read(membership: Membership, { identity }: HeartbeatCommand): Promise<void> {
    const askedAt = monotonicNow();
    const gateways = { ...(await membership.read()), unheardAddresses: this.#unheardAddresses };
    const memory = membership.memory(this.#acknowledged);
    this.#post({ kind: 'gateways', gateways, self: membership.instance, askedAt, memory });
    this.#checkMembers(gateways, identity.addresses);
  }

  /** Starts a check of `fleet.members`. Does not wait for the result, because a slow DNS server must not delay a heartbeat. */
  #checkMembers(gateways: FleetRows, ownAddresses: readonly string[]): void {
    const dnsName = this.#settings.members;
    if (!this.#members || !dnsName || this.#membersCheck) return;
    const check = this.#members.check(gateways, ownAddresses).then(async ({ gone, unheardAddresses, problem }) => {
      this.#unheardAddresses = unheardAddresses;
      this.#post({ kind: 'membersCheck', problem });
      if (gone.length === 0) return;
      const reason = `none of its addresses is in ${dnsName.host}, and its admin port does not answer`;
      await markGone(this.#store, gone, reason);
    });
    // If a gateway could not be marked as gone, the next check finds it again.
    this.#membersCheck = check
      .catch(() => {})
      .finally(() => {
        this.#membersCheck = undefined;
      });
  }

  async #answer(command: AnsweredCommand): Promise<void> {
    let answer: MembershipAnswer;
    try {
      answer = await this.#execute(command);
    } catch (error) {
      answer = { failure: messageOf(error) };
    }
    this.#post({ kind: 'answer', id: command.id, answer });
  }

  async #execute(command: AnsweredCommand): Promise<MembershipAnswer> {
    if (command.kind === 'forget') {
      const { name, reason, endedAt, lastKnownRows } = command;
      const marking = { name, reason, endedAt };
      return { outcome: await forgetGateway(this.#store, marking, this.#settings.silentAfter, lastKnownRows) };
    }
    if (command.kind === 'brownouts') return { brownouts: await mergeBrownouts(this.#store, command.records) };
    if (command.kind === 'writeConfig') await writeSharedConfig(this.#store, command.config);
    return { config: await readSharedConfig(this.#store) };
  }
}
