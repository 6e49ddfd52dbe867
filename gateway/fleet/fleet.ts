import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { FleetSettings } from '../config/snapshot.ts';
import { packageVersion } from '../shared/release.ts';
import { OutageNotices } from '../usage/ledger/outage.ts';
import type { WritableLedger } from '../usage/ledger/writableLedger.ts';
import { FleetMember } from './fleetMember.ts';
import { StoreError } from './postgres.ts';
import type { FleetCommand, FleetReport, FleetWorkerData } from './workerMessages.ts';

const restartMs = 1000;

/** TypeScript in the sources, JavaScript in the built package, like this file. */
const workerFile = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);

export interface FleetOptions {
  readonly ledger: WritableLedger;
  /** Takes a line for the operator. */
  readonly notice?: (line: string) => void;
  /** The file of the thread. */
  readonly worker?: URL;
}

/** This gateway as a part of its fleet. A thread talks to the shared store; if the thread ends, another one is started. */
export class Fleet {
  readonly settings: FleetSettings;
  /** What this gateway and the others know of each other. */
  readonly member: FleetMember;
  readonly #ledger: WritableLedger;
  readonly #notice: (line: string) => void;
  readonly #outageNotices: OutageNotices;
  readonly #workerFile: URL;
  #worker: Worker | undefined;
  #restart: NodeJS.Timeout | undefined;
  /** Why the store cannot be used; undefined if it can; null before the thread has contacted it. */
  #problem: string | undefined | null = null;
  #isStopping = false;

  private constructor(settings: FleetSettings, options: FleetOptions) {
    const { ledger, notice = () => {}, worker = workerFile } = options;
    this.settings = settings;
    this.member = new FleetMember({
      settings,
      outbox: () => undefined,
      send: (command) => this.#send(command),
      notice,
      release: packageVersion(),
    });
    this.#ledger = ledger;
    this.#notice = notice;
    this.#outageNotices = new OutageNotices(notice);
    this.#workerFile = worker;
  }

  /**
   * Does not wait for the store: a gateway serves and counts without it.
   * @throws StoreError if this gateway cannot use any store: the package `pg` is missing, or the password cannot be read
   */
  static async start(settings: FleetSettings, options: FleetOptions): Promise<Fleet> {
    const fleet = new Fleet(settings, options);
    const worker = fleet.#startThread();
    const [first] = (await once(worker, 'message')) as [FleetReport];
    worker.unref();
    if (first.kind === 'unusable') {
      await fleet.stop(0);
      throw new StoreError(first.reason);
    }
    return fleet;
  }

  /** Whether the store answered the last statement. */
  get storeUp(): boolean {
    return this.#problem === undefined;
  }

  /** Why the store cannot be used; undefined if it can, or if it was not contacted yet. */
  get storeProblem(): string | undefined {
    return this.#problem ?? undefined;
  }

  /** Ends the thread, after at most `ms`. */
  async stop(ms: number): Promise<void> {
    this.#isStopping = true;
    this.member.stop();
    clearTimeout(this.#restart);
    const worker = this.#worker;
    if (worker === undefined) return;
    const ended = once(worker, 'exit');
    this.#send({ kind: 'stop', ms });
    // A thread that hangs in a system call must not keep the gateway from ending.
    const late = setTimeout(() => void worker.terminate(), ms + 500);
    await ended;
    clearTimeout(late);
  }

  #send(command: FleetCommand): void {
    this.#worker?.postMessage(command);
  }

  #startThread(): Worker {
    const workerData: FleetWorkerData = {
      settings: this.settings,
      ledger: this.#ledger.settings,
      salt: this.#ledger.salt,
    };
    const worker = new Worker(this.#workerFile, { workerData });
    this.#worker = worker;
    worker.on('message', (message: FleetReport) => this.#onMessage(message));
    let reason = '';
    worker.on('error', (error) => {
      reason = `: ${error instanceof Error ? error.message : error}`;
    });
    worker.on('exit', () => this.#onEnd(reason));
    return worker;
  }

  #onMessage(message: FleetReport): void {
    if (message.kind === 'store') this.#onStore(message.problem);
    else if (message.kind === 'unusable') this.#onStore(message.reason);
    else if (message.kind === 'notice') this.#notice(message.line);
    else if (message.kind === 'gateways' || message.kind === 'unheard' || message.kind === 'answer')
      this.member.onReport(message);
  }

  #onStore(reason: string | undefined): void {
    this.#problem = reason;
    if (reason === undefined) this.#outageNotices.recovered('The shared store of the fleet answers again.');
    else
      this.#outageNotices.failed(
        `The shared store of the fleet cannot be used: ${reason}.  Counts wait on disk until it can be.`,
      );
  }

  #onEnd(reason: string): void {
    this.#worker = undefined;
    if (this.#isStopping) return;
    const problem = `the thread that talks to it ended${reason}`;
    this.#onStore(problem);
    this.member.onReport({ kind: 'unheard', reason: problem });
    this.#restart = setTimeout(() => this.#startThread().unref(), restartMs).unref();
  }
}
