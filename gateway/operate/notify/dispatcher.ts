import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiReceiver } from '../../config/api.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Instant } from '../../shared/instant.ts';
import { OutageNotices } from '../../shared/outage.ts';
import { inWholeUnits, messageOf, printableExcerpt } from '../../shared/text.ts';
import { giveUpMs, hostOf, longestPauseMs, pauseAfter, receiverKeyOf, WebhookSender } from './delivery.ts';
import { isAddressedTo, type NotifyEvent } from './events.ts';
import { maxWaiting, NotifyQueue, type QueuedEvent } from './queue.ts';

const maxEventsInStatus = 20;
const maintainEveryMs = 60_000;
const maxUnqueuedEvents = 500;
const maxQueuedIds = 10_000;

export interface DispatcherSettings {
  /** Those of the root are first. */
  readonly receivers: readonly ApiReceiver[];
  /** The file of the queue. */
  readonly file: string;
  /** Undefined: this gateway is not part of a fleet. */
  readonly fleet: Parameters<typeof NotifyQueue.inStore>[0] | undefined;
}

/** The events that were sent, and those that wait, for reports. */
export interface NotifyStatus {
  /** Why events may be lost at a restart, or cannot be queued. */
  readonly problem: string | undefined;
  readonly recent: readonly (Omit<QueuedEvent, 'receiver'> & { readonly host: string })[];
}

/** `NotifyStatus` in `GET /api/status`. */
export interface NotifyJson {
  readonly problem: string | null;
  readonly recent: readonly (Omit<NotifyStatus['recent'][number], 'at' | 'nextAt'> & {
    readonly at: Instant;
    readonly next_at: Instant | null;
  })[];
}

/** The result of a test event for one receiver. */
export interface NotifyTest {
  readonly host: string;
  readonly accepted: boolean;
  readonly result: string;
}

/** A message to the thread of the dispatcher. `test` is answered with `tested`. `close` ends the thread. */
export type NotifyCommand =
  | { readonly kind: 'configure'; readonly settings: DispatcherSettings }
  | { readonly kind: 'events'; readonly events: readonly NotifyEvent[] }
  | { readonly kind: 'test'; readonly number: number; readonly event: NotifyEvent }
  | { readonly kind: 'close' };

export type NotifyReport =
  | { readonly kind: 'notice'; readonly line: string }
  | { readonly kind: 'status'; readonly status: NotifyStatus }
  | { readonly kind: 'tested'; readonly number: number; readonly results: readonly NotifyTest[] };

type QueueKind = 'file' | 'memory' | 'store';

interface ReceiverState {
  receiver: ApiReceiver;
  readonly failureNotices: OutageNotices;
  readonly droppedNotices: OutageNotices;
  /** By queue: the last result, if the queue could not record it yet. */
  readonly unrecorded: Map<QueueKind, Parameters<NotifyQueue['record']>>;
  /** Resolves when the due events are sent. Each receiver has its own, so that a receiver that hangs does not delay the others. */
  sending: Promise<void> | undefined;
  failuresInRow: number;
  /** After a failed attempt, nothing is sent to the receiver before this instant, epoch ms. */
  pausedUntil: number;
}

/** Queues events and sends them. Never throws. */
export class Dispatcher {
  readonly #clock: Clock;
  readonly #notice: (line: string) => void;
  readonly #sender = new WebhookSender();
  readonly #queues = new Map<QueueKind, NotifyQueue>();
  readonly #outages: Readonly<Record<QueueKind, OutageNotices>>;
  readonly #problemByQueue = new Map<QueueKind, string>();
  #settings: DispatcherSettings;
  #stateByReceiver = new Map<string, ReceiverState>();
  /** The ids of events that are queued for every receiver that wants them. */
  readonly #queuedIds = new Set<string>();
  /** Events whose queue could not be used, by id. */
  #unqueued = new Map<string, NotifyEvent>();
  #maintainedAt = 0;

  constructor(settings: DispatcherSettings, clock: Clock, notice: (line: string) => void) {
    this.#clock = clock;
    this.#notice = (line) => notice(`notify: ${line}`);
    const outage = (): OutageNotices => new OutageNotices(this.#notice);
    this.#outages = { file: outage(), memory: outage(), store: outage() };
    this.#settings = settings;
    this.configure(settings);
  }

  /** A changed `file` or `fleet` takes effect at the next start, as for the ledger. */
  configure({ receivers }: DispatcherSettings): void {
    this.#settings = { ...this.#settings, receivers };
    this.#queuedIds.clear();
    this.#stateByReceiver = new Map(
      receivers.map((receiver) => {
        const key = receiverKeyOf(receiver);
        return [key, Object.assign(this.#stateByReceiver.get(key) ?? newReceiverState(this.#notice), { receiver })];
      }),
    );
  }

  /** Queues the events that are not known yet, for the receivers that want them. If that fails, `run` tries again. */
  async add(events: readonly NotifyEvent[]): Promise<void> {
    const unusable = new Set<QueueKind>();
    for (const event of events) {
      if (this.#queuedIds.has(event.id)) continue;
      const kind = this.#settings.fleet === undefined || event.isOfOneGateway ? 'file' : 'store';
      // A store that does not answer takes seconds to fail, so it is tried only once.
      const outcome = unusable.has(kind) ? 'failed' : await this.#addForReceivers(kind, event);
      if (outcome === 'queued') {
        if (this.#queuedIds.size >= maxQueuedIds) this.#queuedIds.clear();
        this.#queuedIds.add(event.id);
      } else if (outcome === 'failed') {
        unusable.add(kind);
        if (this.#unqueued.size < maxUnqueuedEvents) this.#unqueued.set(event.id, event);
      }
    }
  }

  /** Starts to send the events that are due. @returns the time after which to call it again, ms */
  async run(): Promise<number> {
    const now = this.#clock.now();
    if (Math.abs(now - this.#maintainedAt) >= maintainEveryMs) await this.#maintain(now);
    const unqueued = [...this.#unqueued.values()];
    this.#unqueued = new Map();
    await this.add(unqueued);
    const readyReceivers = [...this.#stateByReceiver].filter(([, state]) => !isPaused(state, now));
    for (const [key, state] of readyReceivers)
      state.sending ??= this.#sendDue(key, state).finally(() => {
        state.sending = undefined;
      });
    const readyKeys = readyReceivers.map(([key]) => key);
    const dueTimes = await this.#useAll(['file', 'memory', 'store'], (queue) => queue.nextDue(readyKeys));
    const pausedStates = [...this.#stateByReceiver.values()].filter((state) => isPaused(state, now));
    const pauseEnds = pausedStates.map(({ pausedUntil }) => pausedUntil);
    const nextAt = Math.min(...dueTimes.filter((at) => at !== undefined), ...pauseEnds);
    return Math.max(0, nextAt - now);
  }

  /** Waits until nothing is being sent, at most `ms`. */
  async awaitSending(ms: number): Promise<void> {
    const sending = [...this.#stateByReceiver.values()].map((state) => state.sending);
    await Promise.race([Promise.all(sending), sleep(ms, undefined, { ref: false })]);
  }

  /** Sends an event to all receivers at once, without the queue. */
  async test(event: NotifyEvent): Promise<NotifyTest[]> {
    return Promise.all(
      this.#settings.receivers.map(async (receiver) => {
        const { isAccepted: accepted, result } = await this.#sender.send(event, receiver, this.#clock.now());
        return { host: hostOf(receiver), accepted, result };
      }),
    );
  }

  async status(): Promise<NotifyStatus> {
    const keys = [...this.#stateByReceiver.keys()];
    const rows = await this.#useAll([...this.#queues.keys()], (queue) => queue.recent(maxEventsInStatus, keys));
    const rowsWithHosts = rows.flat().flatMap(({ receiver: key, ...row }) => {
      const state = this.#stateByReceiver.get(key);
      return state ? [{ ...row, host: hostOf(state.receiver) }] : [];
    });
    const recent = rowsWithHosts.sort((a, b) => b.at - a.at).slice(0, maxEventsInStatus);
    return { problem: this.#problemByQueue.values().next().value, recent };
  }

  async close(): Promise<void> {
    await this.#sender.close();
    for (const queue of this.#queues.values()) await queue.close().catch(() => {});
  }

  async #addForReceivers(kind: QueueKind, event: NotifyEvent): Promise<'queued' | 'failed' | 'dropped'> {
    let isDropped = false;
    // If an API names a receiver of the root, the root has sent the event to it already.
    const addresses = new Set<string>();
    for (const [key, { receiver, droppedNotices }] of this.#stateByReceiver) {
      const address = `${receiver.format} ${receiver.url}`;
      if (!isWanted(event, receiver) || addresses.has(address)) continue;
      addresses.add(address);
      const host = hostOf(receiver);
      const whyNotQueued = await this.#addTo(kind, event, key);
      if (whyNotQueued === 'failed') return 'failed';
      if (whyNotQueued === 'full') {
        isDropped = true;
        droppedNotices.failed(`${maxWaiting} events wait for ${host}; further ones are dropped until it accepts some.`);
      } else if (whyNotQueued === undefined) droppedNotices.recovered(`events for ${host} are queued again.`);
    }
    return isDropped ? 'dropped' : 'queued';
  }

  async #addTo(kind: QueueKind, event: NotifyEvent, key: string): Promise<'known' | 'full' | 'failed' | undefined> {
    const add = (queue: NotifyQueue) => queue.add(event, key, this.#clock.now());
    const outcome = await this.#useQueue(kind, add, 'failed' as const);
    if (outcome !== 'failed' || kind !== 'file') return outcome;
    // A full disk makes the file of the queue unusable. The queue in memory can still send a notification about it.
    return this.#useQueue('memory', add, 'failed' as const);
  }

  async #maintain(now: number): Promise<void> {
    this.#maintainedAt = now;
    const keys = [...this.#stateByReceiver.keys()];
    const titles = await this.#useAll([...this.#queues.keys()], (queue) => queue.maintain(keys, now - giveUpMs, now));
    for (const title of titles.flat()) this.#notice(givenUpLine(title, 'no gateway could send it'));
  }

  async #sendDue(key: string, state: ReceiverState): Promise<void> {
    const host = hostOf(state.receiver);
    for (const kind of this.#queues.keys()) {
      // A reload may remove the receiver, or change its secret, so its state is read again for each event.
      while (this.#stateByReceiver.get(key) === state && !isPaused(state, this.#clock.now())) {
        if (!(await this.#record(kind, state))) break;
        const claimed = await this.#useQueue(kind, (queue) => queue.claim(key, this.#clock.now()), undefined);
        if (claimed === undefined) break;
        const { event, attempt, queued } = claimed;
        const answer = await this.#sender.send(event, state.receiver, this.#clock.now());
        const now = this.#clock.now();
        const pause = answer.isAccepted ? undefined : pauseAfter(attempt, now - queued, answer);
        const nextAt = pause === undefined ? undefined : now + pause;
        const { isAccepted: isSent, result } = answer;
        state.unrecorded.set(kind, [claimed, { isSent, result, nextAt }, now]);
        await this.#record(kind, state);
        if (isSent) state.failureNotices.recovered(`${host} accepts notifications again.`);
        else if (nextAt === undefined) this.#notice(givenUpLine(event.title, `${host} answered ${result}`));
        else
          state.failureNotices.failed(
            `${host} does not accept notifications: ${result}.  Each is tried again for ${inWholeUnits(giveUpMs)}.`,
          );
        // Other events for this receiver would probably fail, too, so it is paused. With an age of 0, `pauseAfter` always returns a pause.
        state.failuresInRow = isSent ? 0 : state.failuresInRow + 1;
        state.pausedUntil = isSent ? 0 : now + (pauseAfter(state.failuresInRow, 0, answer) ?? 0);
      }
    }
  }

  /** Records the last result if the queue does not have it, so that the event is not sent again. @returns whether the queue has it */
  async #record(kind: QueueKind, { unrecorded }: ReceiverState): Promise<boolean> {
    const result = unrecorded.get(kind);
    if (result === undefined) return true;
    const isRecorded = await this.#useQueue(kind, (queue) => queue.record(...result).then(() => true), false);
    if (isRecorded) unrecorded.delete(kind);
    return isRecorded;
  }

  async #useAll<Result>(kinds: readonly QueueKind[], work: (queue: NotifyQueue) => Promise<Result>): Promise<Result[]> {
    const results: Result[] = [];
    for (const kind of kinds) {
      if (kind === 'store' && this.#settings.fleet === undefined) continue;
      // The queue in memory is opened only when an event is added to it.
      if (kind === 'memory' && !this.#queues.has('memory')) continue;
      const result = await this.#useQueue(kind, work, undefined);
      if (result !== undefined) results.push(result);
    }
    return results;
  }

  /** Runs `work` on a queue, which is opened if necessary. @returns its result, or `failed` */
  async #useQueue<Result, Failed>(
    kind: QueueKind,
    work: (queue: NotifyQueue) => Promise<Result>,
    failed: Failed,
  ): Promise<Result | Failed> {
    try {
      const queue = this.#queues.get(kind) ?? (await this.#open(kind));
      this.#queues.set(kind, queue);
      const result = await work(queue);
      this.#problemByQueue.delete(kind);
      this.#outages[kind].recovered(`${this.#nameOf(kind)} can be used again.`);
      return result;
    } catch (error) {
      const reason = messageOf(error);
      const kept = kind === 'file' ? 'are kept in memory' : 'are not queued';
      const problem = `${this.#nameOf(kind)} cannot be used: ${printableExcerpt(reason, 200)}.  Events ${kept} until it can be used again.`;
      this.#problemByQueue.set(kind, problem);
      this.#outages[kind].failed(problem);
      return failed;
    }
  }

  async #open(kind: QueueKind): Promise<NotifyQueue> {
    const { file, fleet } = this.#settings;
    if (kind === 'store' && fleet) return NotifyQueue.inStore(fleet);
    return NotifyQueue.open(kind === 'memory' ? ':memory:' : file);
  }

  #nameOf(kind: QueueKind): string {
    if (kind === 'store') return "the queue in the fleet's store";
    return kind === 'memory' ? 'the queue in memory' : this.#settings.file;
  }
}

function newReceiverState(notice: (line: string) => void): Omit<ReceiverState, 'receiver'> {
  const notices = { failureNotices: new OutageNotices(notice), droppedNotices: new OutageNotices(notice) };
  return { ...notices, unrecorded: new Map(), sending: undefined, failuresInRow: 0, pausedUntil: 0 };
}

function isPaused({ pausedUntil }: ReceiverState, now: number): boolean {
  // If the clock was set back, the end of the pause may be years away.
  return now < pausedUntil && pausedUntil - now <= longestPauseMs;
}

function isWanted(event: NotifyEvent, receiver: ApiReceiver): boolean {
  const { type } = event;
  const { events, digest } = receiver;
  if (!isAddressedTo(event, receiver)) return false;
  return type === 'digest' ? digest === 'weekly' : events.some((one) => one === type);
}

function givenUpLine(title: string, why: string): string {
  return `gave up after ${inWholeUnits(giveUpMs)}: ${why}.  Not delivered: ${title}`;
}
