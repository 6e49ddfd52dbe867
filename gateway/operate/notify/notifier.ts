import { hostname } from 'node:os';
import { receiversOf } from '../../config/api.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import type { Clock } from '../../shared/clock.ts';
import { isoText, isoTextOrNull } from '../../shared/instant.ts';
import { OutageNotices } from '../../shared/outage.ts';
import { threadFile } from '../../shared/packageFiles.ts';
import { SupervisedThread } from '../../shared/supervisedThread.ts';
import { messageOf } from '../../shared/text.ts';
import { type AnsweringGateway, gatewayFields } from '../../usage/observability/answeringGateway.ts';
import type {
  DispatcherSettings,
  NotifyCommand,
  NotifyJson,
  NotifyReport,
  NotifyStatus,
  NotifyTest,
} from './dispatcher.ts';
import {
  brownoutEvents,
  dateEvents,
  digestDue,
  ledgerProblemEvent,
  lostRequestsEvents,
  type NotifyEvent,
  withApi,
} from './events.ts';

const checkEveryMs = 10_000;
const datesEveryMs = 60_000;
// The query reads all clients of a day, which takes a fraction of a second in a large ledger.
const clientsEveryMs = 300_000;
/** A problem of the ledger is reported if it lasts this long. Most problems end sooner. */
const reportProblemAfterMs = 30_000;
/** The thread is terminated if it does not end within this time. */
const closeMs = 2_000;
/** A test waits this long for the results. Each receiver has 10 s to answer. */
const testMs = 20_000;

export interface NotifierOptions {
  readonly source: { readonly current: Snapshot };
  readonly clock: Clock;
  readonly notice: (line: string) => void;
  /** Undefined: the gateway keeps no usage ledger. */
  readonly ledger:
    | {
        readonly problem: string | undefined;
        /** An event that interrupted the coverage of the ledger and is over. */
        readonly lastIncident: { readonly at: number; readonly text: string } | undefined;
      }
    | undefined;
  /** Why the shared store of the fleet cannot be used; undefined: it can be used, or there is none. */
  readonly storeProblem: () => string | undefined;
  readonly brownouts: () => Parameters<typeof brownoutEvents>[0];
  /** What became of the requests after the last edits. */
  readonly editWatches: () => Parameters<typeof lostRequestsEvents>[0];
  /** The clients that call deprecated versions for the first time or again; rejects if the ledger does not answer. */
  readonly clientEvents: (now: number) => Promise<readonly NotifyEvent[]>;
  /** This gateway, which is named in every event. */
  readonly gateway: () => AnsweringGateway;
  /** The digest of the week that ends on `monday`; undefined: the ledger cannot be read. `api`: of this API; undefined: of the host. */
  readonly weeklyDigest: (monday: number, now: number, api: string | undefined) => Promise<NotifyEvent | undefined>;
}

/**
 * Finds events, and passes them to a thread that queues and sends them. Without `notify` in the configuration it does nothing.
 * Never throws.
 */
export class Notifier {
  readonly #options: NotifierOptions;
  readonly #thread: SupervisedThread<NotifyCommand, NotifyReport>;
  readonly #checkNotices: OutageNotices;
  #timer: NodeJS.Timeout | undefined;
  #status: NotifyStatus = { problem: undefined, recent: [] };
  /** When the dates were checked last, epoch ms. */
  #datesCheckedAt = Number.NEGATIVE_INFINITY;
  /** When the ledger was last asked for client events, epoch ms. */
  #clientsCheckedAt = Number.NEGATIVE_INFINITY;
  /** The Monday of the last digest that was passed on to the thread, epoch ms. */
  #digestMonday: number | undefined;
  /** Kind of problem → since when the problem exists, epoch ms. */
  readonly #problemSince = new Map<string, number>();
  /** The time of the last incident that was passed on to the thread, epoch ms. */
  #incidentAt: number | undefined;
  #lastTestNumber = 0;
  #isChecking = false;

  constructor(options: NotifierOptions) {
    this.#options = options;
    const notice = (line: string): void => options.notice(`notify: ${line}`);
    this.#checkNotices = new OutageNotices(notice);
    this.#thread = new SupervisedThread<NotifyCommand, NotifyReport>({
      file: threadFile('operate/notify/worker'),
      task: 'sends notifications',
      workerData: () => this.#settings(),
      answerMs: testMs,
      closeMs,
      onReport: (report) => {
        if (report.kind === 'notice') options.notice(report.line);
        else this.#status = report.status;
      },
      onEnd: () => this.#findAllAgain(),
      notice,
    });
  }

  /** Applies the settings of the current snapshot. */
  configure(): void {
    const notify = receiversOf(this.#options.source.current);
    this.#thread.send({ kind: 'configure', settings: this.#settings() });
    clearInterval(this.#timer);
    this.#datesCheckedAt = this.#clientsCheckedAt = Number.NEGATIVE_INFINITY;
    // A receiver that was added gets the digest of this week, too. The queue knows which receivers have it already.
    this.#digestMonday = undefined;
    if (notify.length === 0) return;
    this.#timer = setInterval(() => void this.check(), checkEveryMs).unref();
    void this.check();
  }

  /** The last notifications, as `GET /api/status` lists them. */
  status(): NotifyJson {
    const { problem, recent } = this.#status;
    return {
      problem: problem ?? null,
      recent: recent.map(({ at, nextAt, ...row }) => ({
        at: isoText(at),
        ...row,
        next_at: isoTextOrNull(nextAt ?? undefined),
      })),
    };
  }

  /** Sends a test event to every receiver, without the queue. */
  async test(): Promise<readonly NotifyTest[]> {
    if (receiversOf(this.#options.source.current).length === 0) return [];
    this.#lastTestNumber += 1;
    const event = this.#testEvent(this.#lastTestNumber);
    try {
      return (await this.#thread.ask(() => ({ kind: 'test', event }))).results;
    } catch {
      return [];
    }
  }

  /** Looks for events. Called by a timer. */
  async check(): Promise<void> {
    if (this.#isChecking || receiversOf(this.#options.source.current).length === 0) return;
    this.#isChecking = true;
    try {
      const events = await this.#findEvents();
      this.#thread.start();
      const fields = gatewayFields(this.#options.gateway());
      const named = events.map(withApi).map((event) => ({ ...event, data: { ...fields, ...event.data } }));
      if (events.length > 0 && !this.#thread.send({ kind: 'events', events: named })) this.#findAllAgain();
      this.#checkNotices.recovered('events are found again.');
    } catch (error) {
      // A defect here must not end the gateway.
      this.#checkNotices.failed(`events cannot be found: ${messageOf(error)}`);
    } finally {
      this.#isChecking = false;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#thread.close({ kind: 'close' });
  }

  async #findEvents(): Promise<NotifyEvent[]> {
    const { source, clock, clientEvents, weeklyDigest } = this.#options;
    const notify = receiversOf(source.current);
    const now = clock.now();
    const brownouts = this.#options.brownouts();
    const events: NotifyEvent[] = [
      ...this.#ledgerProblemEvents(now),
      ...brownoutEvents(brownouts, source.current, now),
      ...lostRequestsEvents(this.#options.editWatches(), this.#name),
    ];
    // The absolute difference, so that the check also runs after the clock was set back.
    if (Math.abs(now - this.#datesCheckedAt) >= datesEveryMs) {
      this.#datesCheckedAt = now;
      events.push(...dateEvents(source.current, now, brownouts));
    }
    const wantsClientEvents = notify.some(
      (one) => one.events.includes('new-client') || one.events.includes('came-back'),
    );
    if (wantsClientEvents && Math.abs(now - this.#clientsCheckedAt) >= clientsEveryMs) {
      this.#clientsCheckedAt = now;
      // If the ledger does not answer, it is asked again after `clientsEveryMs`.
      events.push(...(await clientEvents(now).catch(() => [])));
    }
    const digestApis = new Set(notify.filter(({ digest }) => digest === 'weekly').map(({ api }) => api));
    const monday = digestApis.size > 0 ? digestDue(now) : undefined;
    if (monday !== undefined && monday !== this.#digestMonday) {
      let isWhole = true;
      for (const api of digestApis) {
        const digest = await weeklyDigest(monday, now, api).catch(() => undefined);
        if (digest) events.push(digest);
        else isWhole = false;
      }
      // Those that are found again are known to the queue.
      if (isWhole) this.#digestMonday = monday;
    }
    return events;
  }

  #ledgerProblemEvents(now: number): NotifyEvent[] {
    const { ledger, storeProblem } = this.#options;
    const gateway = this.#name;
    const problemsByKind = [
      ['ledger', ledger?.problem],
      ['store', storeProblem()],
    ] as const;
    const events: NotifyEvent[] = [];
    for (const [kind, problem] of problemsByKind) {
      if (problem === undefined) {
        this.#problemSince.delete(kind);
        continue;
      }
      const since = this.#problemSince.get(kind);
      if (since === undefined) this.#problemSince.set(kind, now);
      else if (now - since >= reportProblemAfterMs) events.push(ledgerProblemEvent(gateway, kind, problem, since));
    }
    const incident = ledger?.lastIncident;
    if (incident && incident.at !== this.#incidentAt) {
      this.#incidentAt = incident.at;
      events.push(ledgerProblemEvent(gateway, 'coverage', incident.text, incident.at));
    }
    return events;
  }

  #testEvent(number: number): NotifyEvent {
    const now = this.#options.clock.now();
    return {
      id: `test ${this.#name} ${now} ${number}`,
      type: 'test',
      at: now,
      title: 'Test of the notifications',
      sections: [{ lines: [`Sent by \`version-gateway notify test\` through ${this.#name}.`] }],
      data: { gateway: this.#name },
      keepUntil: now,
    };
  }

  get #name(): string {
    return this.#options.source.current.fleet?.name ?? hostname();
  }

  #settings(): DispatcherSettings {
    const { current } = this.#options.source;
    const { usage, fleet } = current;
    return { receivers: receiversOf(current), file: usage.store.replace(/(?:\.db)?$/, '-notifications.db'), fleet };
  }

  /** For events that the thread has not queued. The queue knows those that it has. */
  #findAllAgain(): void {
    this.#digestMonday = this.#incidentAt = undefined;
    this.#datesCheckedAt = this.#clientsCheckedAt = Number.NEGATIVE_INFINITY;
  }
}
