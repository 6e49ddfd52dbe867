import { createServer } from 'node:http';
import { createAdmin } from './admin/app.ts';
import type { Snapshot } from './config/snapshot.ts';
import type { ConfigStatus, Trigger } from './observability/configStatus.ts';
import { end, listen, portOf } from './pipeline/listener.ts';
import { type Outcome, Reloader } from './reload.ts';
import { serveInProcess } from './serving/inProcess.ts';
import type { Serve, ServeOptions, Serving } from './serving/serving.ts';
import { systemClock } from './shared/clock.ts';
import { watchForStops } from './stops.ts';

export interface RunningGateway {
  /** What the listeners are bound to: another port than the file's where that is 0. */
  readonly port: number;
  readonly adminPort: number;
  /** Serves what the file says now, if that is sound and keeps the promises that were made. */
  reload(trigger: Trigger): Promise<Outcome>;
  readonly config: ConfigStatus;
  /** Takes no new connection, and waits until the exchanges under way are done, or `ms` have passed. */
  drain(ms: number): Promise<void>;
  /** Ends the listeners, and every connection with them. */
  close(): Promise<void>;
}

export interface StartOptions extends Partial<ServeOptions> {
  /** Who answers the clients; by default this process. */
  readonly serve?: Serve;
  /** Reads the file anew, or takes `text` for its content; without it there is nothing to reload. @throws ConfigError */
  readonly load?: (text?: string) => Snapshot;
  /** Hears of every snapshot that is taken over by a reload. */
  readonly onAccepted?: (snapshot: Snapshot) => void;
}

/** A gateway, and the operators' side of it. @throws the listeners' own errors, such as EADDRINUSE. */
export async function startGateway(snapshot: Snapshot, options: StartOptions = {}): Promise<RunningGateway> {
  const { clock = systemClock, notice = () => {}, load = () => snapshot, serve = serveInProcess } = options;
  const serving = await serve(snapshot, { clock, notice });
  let current = snapshot;
  const reloader = new Reloader(snapshot, {
    load,
    apply: async (next) => {
      await serving.apply(next);
      current = next;
      options.onAccepted?.(next);
    },
    use: async () => {
      const { versions } = await serving.report();
      return { lastServed: (name) => versions.find((one) => one.name === name)?.lastServed };
    },
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
        report: () => serving.report(),
        clock,
      },
    ),
  );
  await listenOrEnd(admin, snapshot, serving);
  const stopWatching = watchForStops(live, serving, clock, notice);
  return {
    port: serving.port,
    adminPort: portOf(admin),
    reload: (trigger) => reloader.reload(trigger),
    get config() {
      return reloader.status;
    },
    drain: (ms) => serving.drain(ms),
    close: async () => {
      stopWatching();
      await Promise.all([serving.close(), end(admin)]);
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
