import { copyFileSync, linkSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ignoredClientsOf } from '../../../gateway/config/api.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { usageSinkOf } from '../../../gateway/process/runtime/ledgerMaintenance.ts';
import { CallMarker, CallMarks } from '../../../gateway/usage/ledger/callMarks.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { makeMarkFile, markFileOf, spareMarkFileOf } from '../../../gateway/usage/ledger/markFile.ts';
import { SqliteStore } from '../../../gateway/usage/ledger/store.ts';
import type { VersionReport, WorkerReport } from '../../../gateway/usage/observability/report.ts';
import type { LiveSources } from '../../../gateway/versions/retirement/liveFacts.ts';
import { copyLedger } from '../../support/ledgerCopy.ts';
import { coverTenDays, day, row } from '../../support/ledgerWith.ts';
import { machine } from './machine.ts';
import { type Call, type CallKind, ServingProcess } from './servingProcess.ts';

// What the kernel and SQLite do.
const { mark } = CallMarker.prototype;
CallMarker.prototype.mark = function (version, now) {
  mark.call(this, version, now);
  machine.noteChangedMarks();
};
const { transaction } = SqliteStore.prototype;
SqliteStore.prototype.transaction = function (...args) {
  if (machine.isDiskFull) throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
  return transaction.apply(this, args);
};

const retention = 400 * day;
const notAnswered = { isRefused: false, isUnanswered: true };
// A process sends its counts every few seconds. If it hangs for longer, the kernel has written its marks meanwhile.
const longestUnwrittenMs = 60_000;
// How often a process counts the requests that are open, and the gateway writes its ledger.
const beatMs = 5_000;

interface Run {
  readonly ledger: Ledger;
  readonly marks: CallMarks;
  readonly sink: ReturnType<typeof usageSinkOf>;
  readonly processes: ServingProcess[];
}

/** A gateway with a ledger on a disk. Each of its deaths is one that a real process can die. */
export class SimulatedGateway {
  /** Every call, also of clients that are ignored, and calls that no gateway has received. */
  readonly calls: Call[] = [];
  readonly events: string[] = [];
  snapshot: Snapshot;
  readonly #root: string;
  #folder = '';
  #folders = 0;
  #run: Run | undefined;
  /** An earlier copy of the ledger. */
  #backup: string | undefined;
  /** Whether the marks can be lost that tell which calls the last run had in memory. */
  #canLoseMarks = true;

  /** `template`: the ledger at the start, as of `coveredTemplate`. */
  constructor(root: string, template: string, snapshot: Snapshot) {
    this.#root = root;
    this.snapshot = snapshot;
    this.#folder = this.#newFolder();
    copyLedger(template, this.store);
    // The same file, which the ledger knows. The gateway makes another one.
    linkSync(markFileOf(template), markFileOf(this.store));
  }

  get store(): string {
    return join(this.#folder, 'usage.db');
  }

  get ledger(): Ledger | undefined {
    return this.#run?.ledger;
  }

  /** `skew`: how far the clock is off, ms. */
  start(skew: number, workers: number): void {
    this.events.push(`run with ${workers} processes, clock ${skew / 1000} s, ${this.#configured}`);
    machine.skew = skew;
    const { clock } = machine;
    const marks = CallMarks.open(this.store, clock.now());
    const ledger = Ledger.open({ store: this.store, retention, unmarked: this.#unmarked }, { clock, marks });
    const sink = usageSinkOf(ledger, { clock });
    const processes = Array.from({ length: workers }, (_, number) => this.#newProcess(number, marks));
    this.#run = { ledger, marks, sink, processes };
  }

  /** Time passes. */
  pass(ms: number): void {
    if (ms <= beatMs || this.#run === undefined) {
      machine.now += ms;
      return;
    }
    machine.now += ms - beatMs + 1_000;
    // What the processes count now arrives later, or never.
    for (const process of this.#answering) process.countOpen();
    this.#run.ledger.add([]);
    machine.now += beatMs - 1_000;
  }

  setClock(skew: number): void {
    if (skew === machine.skew) return;
    this.events.push(`the clock is set to ${skew / 1000} s`);
    machine.skew = skew;
  }

  reload(snapshot: Snapshot): void {
    // A process that hangs would serve with the former configuration.
    this.resume();
    this.flush();
    this.snapshot = snapshot;
    this.events.push(`reload, ${this.#configured}`);
    for (const process of this.#run?.processes ?? []) process.apply(snapshot);
    this.#run?.ledger.configure({ store: this.store, retention, unmarked: this.#unmarked });
  }

  /** The configuration is edited while the gateway is stopped. */
  edit(snapshot: Snapshot): void {
    this.snapshot = snapshot;
  }

  /** long: the answer does not end. waiting: it does not begin. */
  call(random: () => number, version: string, client: string, kind: CallKind | 'long' | 'waiting' = 'usual'): void {
    const process = this.#one(random);
    if (process === undefined) return;
    this.events.push(`${kind} call ${version} by ${client}`);
    const isOpen = kind === 'long' || kind === 'waiting';
    const call = process.begin(version, client, isOpen ? 'usual' : kind, kind !== 'waiting');
    // A version whose calls all fail may end.
    if (kind !== 'failing' || call.isRefused) this.calls.push(call);
    if (!isOpen || call.isRefused) process.finish(call);
  }

  /** Nobody answers, and nobody counts it. `outage`: for how long nobody answers, ms. */
  attempt(version: string, outage: number): void {
    this.events.push(`attempt ${version}`);
    this.calls.push({ version, client: 'a', from: machine.now, until: machine.now, skew: 0, ...notAnswered, outage });
  }

  finishLongCalls(): void {
    this.events.push('long calls end');
    for (const process of this.#answering) process.finishAll();
  }

  /** @returns whether all processes have answered */
  flush(): boolean {
    const answering = this.#answering;
    for (const process of answering) this.#flush(process);
    return answering.length === (this.#run?.processes.length ?? 0);
  }

  /** A worker answers no more. If it is the only process, the gateway cannot be asked either. */
  hang(random: () => number): void {
    const process = this.#one(random);
    if (process === undefined || (this.#run?.processes.length ?? 0) < 2) return;
    this.events.push(`a worker hangs with ${process.unflushed} calls in memory`);
    process.hangsSince = machine.clock.now();
  }

  resume(): void {
    for (const process of this.#run?.processes ?? []) {
      if (process.hangsSince === undefined) continue;
      this.events.push('a worker answers again');
      process.hangsSince = undefined;
    }
  }

  fillDisk(isFull: boolean): void {
    if (isFull === machine.isDiskFull) return;
    this.events.push(isFull ? 'the disk is full' : 'the disk has room');
    machine.isDiskFull = isFull;
  }

  /** A worker ends, and another one takes its place. */
  endWorker(random: () => number, how: 'killed' | 'drained'): void {
    const run = this.#run;
    const process = how === 'drained' ? this.#one(random) : oneOf(run?.processes ?? [], random);
    if (run === undefined || process === undefined || run.processes.length < 2) return;
    this.events.push(`a worker is ${how} with ${process.unflushed} calls in memory`);
    this.#endProcess(process, how);
    run.processes[run.processes.indexOf(process)] = this.#newProcess(process.number, run.marks);
  }

  end(): void {
    this.events.push('clean end');
    for (const process of this.#run?.processes ?? [])
      this.#endProcess(process, process.hangsSince === undefined ? 'drained' : 'killed');
    this.#run?.ledger.close();
    this.#run = undefined;
    this.#canLoseMarks = true;
  }

  /** The next run sees the files as they are now, as after kill -9. */
  crash(): void {
    const { ledger, processes } = this.#run ?? {};
    this.events.push(`crash with ${processes?.reduce((sum, { unflushed }) => sum + unflushed, 0)} calls in memory`);
    const before = this.#copyLedger();
    const unflushedSince = Math.min(...(processes ?? []).map((process) => process.unflushedSince));
    this.#canLoseMarks = machine.now - unflushedSince <= longestUnwrittenMs;
    for (const process of processes ?? []) process.kill();
    ledger?.close();
    this.#run = undefined;
    copyLedger(before, this.store);
  }

  /** The power fails. What the kernel had not written is lost: marks, and the last transactions. */
  reboot(lost: { readonly marks: 'none' | 'all' | 'file'; readonly ledger: boolean }): void {
    const startedMarksAt = machine.marksChangedAt;
    this.crash();
    const marks = this.#canLoseMarks ? lost.marks : 'none';
    this.events.push(`reboot that loses ${marks} marks${lost.ledger ? ' and transactions' : ''}`);
    machine.boot();
    if (marks === 'file') rmSync(markFileOf(this.store), { force: true });
    if (marks === 'all') this.#clearMarks();
    machine.marksChangedAt = startedMarksAt;
    if (lost.ledger && this.#backup !== undefined) copyLedger(this.#backup, this.store);
  }

  /** A backup of the ledger, also while the gateway runs. */
  backUp(): void {
    this.events.push('backup');
    this.#backup = this.#copyLedger();
    try {
      copyFileSync(markFileOf(this.store), markFileOf(this.#backup));
    } catch {
      // The marks were lost, or are elsewhere.
    }
  }

  /** Puts the backup in the place of the ledger. The marks stay: they are another file. */
  restore(): void {
    if (this.#backup === undefined) return;
    this.events.push('restore');
    copyLedger(this.#backup, this.store);
  }

  /** Puts the backup in the place of the ledger and of the marks. */
  restoreAll(how: 'new files' | 'in place'): void {
    if (this.#backup === undefined) return;
    this.restore();
    this.events.push(`restore the marks, ${how}`);
    if (how === 'new files') rmSync(markFileOf(this.store), { force: true });
    try {
      copyFileSync(markFileOf(this.#backup), markFileOf(this.store));
      machine.noteChangedMarks();
    } catch {
      // The backup has no marks.
    }
  }

  loseMarks(): void {
    if (!this.#canLoseMarks) return;
    this.events.push('the marks are lost');
    rmSync(markFileOf(this.store), { force: true });
  }

  loseJournal(): void {
    this.events.push('the journal is lost');
    rmSync(`${this.store}-wal`, { force: true });
  }

  lose(): void {
    this.events.push('the ledger is lost');
    this.#folder = this.#newFolder();
  }

  /** What the running gateway can be asked. */
  get sources(): LiveSources {
    const report = async () => ({ versions: this.#reports(), workers: this.#workers() });
    return { flush: async () => this.flush(), report, ledger: this.#run?.ledger, fleet: undefined };
  }

  /** The history is over. */
  remove(): void {
    for (const process of this.#run?.processes ?? []) process.kill();
    this.#run?.ledger.close();
    for (let folder = 1; folder <= this.#folders; folder += 1)
      rmSync(spareMarkFileOf(join(this.#root, String(folder), 'usage.db')), { force: true });
    rmSync(this.#root, { recursive: true });
  }

  get #unmarked(): readonly string[] {
    return ignoredClientsOf(this.snapshot);
  }

  get #configured(): string {
    const retired = this.snapshot.sortedVersions.filter((one) => one.retired).map(({ name }) => name);
    return `ignored: ${JSON.stringify(this.#unmarked)}, ${retired.join(' and ')} retired`;
  }

  get #answering(): readonly ServingProcess[] {
    return this.#run?.processes.filter(({ hangsSince }) => hangsSince === undefined) ?? [];
  }

  #newProcess(number: number, marks: CallMarks): ServingProcess {
    return new ServingProcess({ files: marks.files, process: number }, this.snapshot);
  }

  /** One that answers. */
  #one(random: () => number): ServingProcess | undefined {
    return oneOf(this.#answering, random);
  }

  #flush(process: ServingProcess): void {
    const counts = process.take();
    if (counts.batch.length > 0 || counts.counted !== undefined)
      this.#run?.sink.receive({ ...counts, salt: this.#run.ledger.salt });
  }

  #endProcess(process: ServingProcess, how: 'killed' | 'drained'): void {
    if (how === 'drained') {
      process.finishAll();
      this.#flush(process);
    }
    process.kill();
    // A gateway with one process ends with it.
    if (this.#run && this.#run.processes.length > 1) this.#run.sink.onProcessEnd?.(process.number, how === 'drained');
  }

  /** As the process that owns the ledger reports it. It does not tell when a version was last called: the ledger has to know. */
  #reports(): VersionReport[] {
    return [...this.snapshot.versions.keys()].map((name) => {
      const inFlight = this.#answering.reduce((sum, process) => sum + process.openCalls(name), 0);
      return { name, inFlight, waiting: 0, lastInFlight: undefined, targets: [] };
    });
  }

  #workers(): WorkerReport[] {
    const processes = this.#run?.processes ?? [];
    return processes.map(({ number, hangsSince }) => ({ pid: number, since: 0, unresponsiveSince: hangsSince }));
  }

  /** The file is as it was made, in the same place on the disk. */
  #clearMarks(): void {
    const isFull = machine.isDiskFull;
    machine.isDiskFull = false;
    const empty = join(this.#newFolder(), 'marks');
    makeMarkFile(empty);
    machine.isDiskFull = isFull;
    copyFileSync(empty, markFileOf(this.store));
  }

  #newFolder(): string {
    this.#folders += 1;
    const folder = join(this.#root, String(this.#folders));
    mkdirSync(folder);
    return folder;
  }

  #copyLedger(): string {
    const copy = join(this.#newFolder(), 'usage.db');
    copyLedger(this.store, copy);
    return copy;
  }
}

function oneOf(processes: readonly ServingProcess[], random: () => number): ServingProcess | undefined {
  return processes[Math.floor(random() * processes.length)];
}

/** A ledger from which the ledgers of all histories are copied: its gateway has served for ten days, and had two calls. */
export function coveredTemplate(folder: string, now: number): string {
  const store = join(folder, 'template', 'usage.db');
  const calls = [row('v4', 'x-client-id:b', now - 10 * day), row('v1', 'x-client-id:a', now - 5 * day)];
  coverTenDays(store, now, calls);
  const marks = CallMarks.open(store, now);
  Ledger.open({ store, retention }, { clock: { now: () => now }, marks }).close();
  return store;
}
