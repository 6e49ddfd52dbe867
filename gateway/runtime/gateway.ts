import { createServer } from 'node:http';
import { createAdmin } from '../admin/app.ts';
import { LedgerThread } from '../admin/reading/ledgerThread.ts';
import type { Snapshot } from '../config/snapshot.ts';
import type { ConfigStatus, Trigger } from '../observability/configStatus.ts';
import { end, listen, portOf } from '../pipeline/listener.ts';
import { systemClock } from '../shared/clock.ts';
import type { WritableLedger } from '../usage/ledger/writableLedger.ts';
import { serveInProcess } from './inProcess.ts';
import { keep, sinkOf } from './ledgerMaintenance.ts';
import { type Outcome, Reloader } from './reload.ts';
import type { Serve, ServeOptions, Serving } from './serving.ts';
import { watchForStops } from './stoppedVersionMonitor.ts';
import { useFacts } from './versionUsage.ts';

export interface RunningGateway {
  /** What the listeners are bound to: another port than the file's where that is 0. */
  readonly port: number;
  readonly adminPort: number;
  /** Serves what the file says now, or `content` in its place, if that is sound and keeps the promises that were made. */
  reload(trigger: Trigger, content?: Uint8Array): Promise<Outcome>;
  readonly config: ConfigStatus;
  /** Opens the logs anew: for who has renamed them. */
  reopenLogs(): Promise<void>;
  /** Takes no new connection, and waits until the exchanges under way are done, or `ms` have passed. */
  drain(ms: number): Promise<void>;
  /** Ends the listeners, and every connection with them. */
  close(): Promise<void>;
}

export interface StartOptions extends Partial<Omit<ServeOptions, 'usage'>> {
  /** Who called what. It stays the caller's to close. */
  readonly ledger?: WritableLedger;
  /** Who answers the clients; by default this process. */
  readonly serve?: Serve;
  /** Reads the file anew; without it there is nothing to reload. @throws ConfigError */
  readonly load?: (content?: Uint8Array) => Snapshot | Promise<Snapshot>;
  /** The same for a look only, with `text` for its content where there is one. */
  readonly peek?: (text?: string) => Snapshot | Promise<Snapshot>;
  /** Hears of every snapshot that is taken over by a reload. */
  readonly onAccepted?: (snapshot: Snapshot) => void;
}

/** A gateway, and the operators' side of it. @throws the listeners' own errors, such as EADDRINUSE. */
export async function startGateway(snapshot: Snapshot, options: StartOptions = {}): Promise<RunningGateway> {
  const { clock = systemClock, notice = () => {}, load = () => snapshot, serve = serveInProcess, ledger } = options;
  const usage = ledger && sinkOf(ledger);
  const desk = ledger && new LedgerThread(ledger);
  const serving = await serve(snapshot, { clock, notice, usage, logs: options.logs ?? false });
  let current = snapshot;
  const reloader = new Reloader(snapshot, {
    load,
    peek: options.peek ?? (() => load()),
    apply: async (next) => {
      const unconfirmed = await serving.apply(next);
      current = next;
      ledger?.configure(next.usage);
      options.onAccepted?.(next);
      return unconfirmed;
    },
    use: () => useFacts(serving, desk, current, clock.now()),
    clock,
  });
  const live = {
    get current() {
      return current;
    },
  };
  const admin = createServer(
    createAdmin(
      live,
      { ready: () => serving.ready },
      {
        reload: () => reloader.reload('admin'),
        preview: (text) => reloader.preview(text),
        config: () => reloader.status,
        report: (metrics) => serving.report(metrics),
        flush: () => serving.flush(),
        clock,
        usage: desk,
      },
    ),
  );
  await listenOrEnd(admin, snapshot, serving);
  const stopWatching = watchForStops(live, serving, clock, notice);
  const stopKeeping = ledger && keep(ledger, clock, () => void serving.resalt());
  return {
    port: serving.port,
    adminPort: portOf(admin),
    reload: (trigger, content) => reloader.reload(trigger, content),
    get config() {
      return reloader.status;
    },
    reopenLogs: () => serving.reopenLogs(),
    drain: (ms) => serving.drain(ms),
    close: async () => {
      stopWatching();
      stopKeeping?.();
      await Promise.all([serving.close(), end(admin), desk?.close()]);
    },
  };
}

async function listenOrEnd(
  admin: ReturnType<typeof createServer>,
  { gateway }: Snapshot,
  serving: Serving,
): Promise<void> {
  try {
    await listen(admin, gateway.admin);
  } catch (error) {
    await serving.close();
    throw error;
  }
}
