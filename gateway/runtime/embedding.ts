import { resolve } from 'node:path';
import { LedgerThread } from '../admin/reading/ledgerThread.ts';
import { loadSnapshot, readRoutes, snapshotFrom } from '../config/load.ts';
import { LoadThread } from '../config/loadThread.ts';
import { digestOf } from '../config/namedFiles.ts';
import type { Snapshot, Version } from '../config/snapshot.ts';
import { WatchedFiles } from '../config/watchedFiles.ts';
import type { Discovery } from '../discovery/app.ts';
import type { ExchangeRecord } from '../observability/exchangeRecord.ts';
import { systemClock as clock } from '../shared/clock.ts';
import { ThreadedLedger } from '../usage/ledger/threadedLedger.ts';
import { type Assembly, assemble } from './dataPlane.ts';
import { keep, sinkOf } from './ledgerMaintenance.ts';
import { outcomeInWords, Reloader } from './reload.ts';
import { Telemetry } from './telemetry.ts';
import { useFacts } from './versionUsage.ts';

// Requests that are answered while the ledger is being opened, which may take seconds where its disk is slow.
const mostWaiting = 10_000;

/** What a gateway inside another server does besides answering; all of it is off by default. */
export interface EmbeddingOptions {
  /**
   * Applies edits of routes.yaml, and of the contracts that it names, without a restart. An edit with a fault, or one that
   * the guard refuses, changes nothing. Needs the path of a file.
   */
  readonly reload?: boolean;
  /** Counts who calls what, in the SQLite file that `usage.store` names. One process only may write to it. */
  readonly ledger?: boolean;
  /** Takes lines for the operator: what a reload changed, why an edit was refused, trouble with the ledger. */
  readonly notice?: (line: string) => void;
}

export interface EmbeddingSettings extends EmbeddingOptions {
  readonly discovery: Discovery | undefined;
  readonly forwards: boolean;
}

export interface Embedding {
  readonly assembly: Assembly;
  /** Stops watching files, closes connections to backends and writes what is still to be counted. */
  close(): Promise<void>;
}

/**
 * A gateway without listeners of its own. `config` is the path of a routes.yaml, or an object of the same shape.
 * @throws ConfigError with every fault of the file
 */
export function embed(config: string | object, settings: EmbeddingSettings): Embedding {
  const { discovery, forwards, reload = false, notice = () => {} } = settings;
  const { env } = process;
  const file = typeof config === 'string' ? resolve(config) : undefined;
  if (reload && file === undefined) throw new TypeError('reload: true needs the path of a routes.yaml.');
  // Before it is loaded, so that an edit in between is noticed.
  const digest = reload && file ? digestOf(readRoutes(file)) : undefined;
  const loaded =
    typeof config === 'string' ? loadSnapshot(config, env, forwards) : snapshotFrom(config, '.', env, forwards);
  const adapt = discovery ? (snapshot: Snapshot) => snapshot : withoutGuides;
  const first = adapt(loaded);
  const assembly = assemble(first, { clock, discovery, forwards });
  const usage = settings.ledger ? new Usage(first, assembly, notice) : undefined;
  const thread =
    reload && typeof config === 'string' && file
      ? new LoadThread({ file: config, path: file, cwd: process.cwd(), env, forwards }, { snapshot: first, digest })
      : undefined;
  const watched = thread && watchForEdits(first, thread, adapt, assembly, usage, notice);
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    watched?.close();
    await thread?.close();
    assembly.close();
    await usage?.close();
  };
  return {
    assembly,
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}

/** An open ledger, and what writes to it and asks it. */
interface OpenLedger {
  readonly ledger: ThreadedLedger;
  readonly telemetry: Telemetry;
  readonly desk: LedgerThread;
  stopKeeping(): void;
}

/** The ledger of an embedded gateway. The host need not wait until its file is open. */
class Usage {
  readonly #opened: Promise<OpenLedger>;

  constructor(snapshot: Snapshot, { context, uses }: Assembly, notice: (line: string) => void) {
    const waiting: ExchangeRecord[] = [];
    // The salt in the file decides how clients are named, so nothing is counted before it is known.
    context.recorder = { record: (facts) => void (waiting.length < mostWaiting && waiting.push(facts)) };
    this.#opened = ThreadedLedger.open(snapshot.usage, notice).then((ledger) => {
      const telemetry = new Telemetry(snapshot, { clock, notice, usage: sinkOf(ledger), logs: false }, uses);
      context.recorder = telemetry.recorder;
      for (const facts of waiting) telemetry.recorder.record(facts);
      const stopKeeping = keep(ledger, clock, () => void telemetry.resalt());
      return { ledger, telemetry, desk: new LedgerThread(ledger), stopKeeping };
    });
  }

  async desk(): Promise<LedgerThread> {
    return (await this.#opened).desk;
  }

  async apply(next: Snapshot): Promise<void> {
    const { ledger, telemetry } = await this.#opened;
    ledger.configure(next.usage);
    await telemetry.apply(next);
  }

  async flush(): Promise<boolean> {
    await (await this.#opened).telemetry.flush();
    return true;
  }

  async close(): Promise<void> {
    const { ledger, telemetry, desk, stopKeeping } = await this.#opened;
    stopKeeping();
    await telemetry.close();
    await desk.close();
    await ledger.close();
  }
}

function watchForEdits(
  first: Snapshot,
  thread: LoadThread,
  adapt: (snapshot: Snapshot) => Snapshot,
  assembly: Assembly,
  usage: Usage | undefined,
  notice: (line: string) => void,
): WatchedFiles {
  let current = first;
  const load = async (content?: Uint8Array) => adapt((await thread.load(content)).snapshot());
  const reloader = new Reloader(first, {
    load,
    peek: () => load(),
    apply: async (next) => {
      assembly.apply(next);
      await usage?.apply(next);
      current = next;
      follow(next);
      return [];
    },
    use: async () => {
      const serving = { report: async () => assembly.report(), flush: async () => (await usage?.flush()) ?? false };
      return useFacts(serving, await usage?.desk(), current, clock.now());
    },
    clock,
  });
  const onChange = async (content?: Uint8Array): Promise<void> => {
    const outcome = await reloader.reload('file', content);
    if (outcome.kind === 'unchanged' && !outcome.reverted) return;
    for (const line of outcomeInWords(outcome)) notice(line);
  };
  const watched = new WatchedFiles(
    (content) => void onChange(content),
    () => thread.lastRead,
  );
  const follow = ({ byMajor }: Snapshot): void => watched.follow(thread.path, byMajor);
  follow(first);
  return watched;
}

/** Nobody answers where a guide would be: no link may lead there. */
function withoutGuides(snapshot: Snapshot): Snapshot {
  const byMajor = snapshot.byMajor.map((version): Version => ({ ...version, guide: false }));
  return { ...snapshot, byMajor, versions: new Map(byMajor.map((version) => [version.name, version])) };
}
