import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { type ClientRequest, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../config/temporary.ts';
import { eventually } from '../support/eventually.ts';
import { gatewayMain } from '../support/gatewayMain.ts';
import { coverTenDays } from '../support/ledgerWith.ts';

/** A request that the backend has received. */
export interface BackendCall {
  readonly version: string;
  /** The path below the version. A call of `wait` is never answered, one of `missing` is answered 404, one of `slow` after a while. */
  readonly path: string;
  readonly client: string;
  /** Real time, epoch ms. */
  readonly at: number;
  isAnswered: boolean;
}

/** A gateway process with a ledger that covers the last ten days, on a disk that can be filled, before a backend that logs its calls. */
export interface CountedGateway {
  /** Starts the gateway, and waits until it serves. */
  start(): Promise<void>;
  /** Calls a version, and waits for the answer. @returns its status; undefined if the connection broke */
  call(version: string, path?: string, client?: string): Promise<number | undefined>;
  /** Ends the gateway with SIGKILL or SIGTERM. @returns its exit code */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null>;
  /** Kills the worker processes, one after the other, and waits until the gateway has noticed it. */
  killWorkers(): Promise<void>;
  /** The process ids of the workers, from the system. Empty with one worker. */
  workerPids(): number[];
  /** Sends a signal to the primary process. */
  signal(name: NodeJS.Signals): void;
  /** Whether the version may be retired, as the admin API answers. */
  verdict(version: string): Promise<Verdict>;
  /** `GET /api/digest` */
  digest(): Promise<Digest>;
  /** Whether the reload guard would accept `retired: true`. */
  guardAccepts(version: string): Promise<boolean>;
  /** The routes.yaml with `retired: true` for the version. */
  withRetired(version: string): string;
  /** Saves that file and reloads it. @returns whether it is served now */
  reload(version: string): Promise<boolean>;
  /** Sets `retire.ignore_clients`, and reloads it. @returns whether all workers have confirmed it */
  ignore(clients: readonly string[]): Promise<boolean>;
  fillDisk(): void;
  freeDisk(): void;
  /** Makes the disk read-only, or writable again. Only while the gateway does not run. */
  setReadOnly(isReadOnly: boolean): Promise<void>;
  /** Changes the clock of the gateway by `ms`, also while it runs. */
  setClock(ms: number): void;
  ledger(): Promise<{ readonly problem: string | null; readonly heldRows: number }>;
  /** Every request that the backend has received. */
  readonly log: readonly BackendCall[];
  readonly stderr: () => string;
  /** The folder of the ledger: a small disk of its own, if this user may mount one. */
  readonly disk: string;
  readonly hasOwnDisk: boolean;
  readonly store: string;
  readonly file: string;
  /** `127.0.0.1:41231` */
  readonly admin: string;
  readonly isRunning: boolean;
  /** Ends the gateway and the backend, and unmounts the disk. Done at the end of the test if it is not called. */
  close(): Promise<void>;
}

export interface Digest {
  readonly data: {
    readonly versions: readonly { readonly version: string; readonly blocked_by: readonly object[] }[];
  };
}

export interface Verdict {
  readonly answer: string;
  readonly covered_since: string | null;
  readonly reasons: readonly { readonly code: string; readonly text: string }[];
}

interface Settings {
  readonly workers?: number;
  /** `retire.quiet` and `guard.quiet`. The hour before the test must not matter, and a restart must not be longer than a tenth of it. */
  readonly quiet?: string;
  /** `retire.ignore_clients` */
  readonly ignored?: readonly string[];
  readonly versions?: readonly string[];
}

interface Route {
  readonly upstream?: string | undefined;
  readonly prefix: 'forward';
  readonly deprecation: string;
  readonly sunset: string;
  readonly retired?: boolean;
}

export async function countedGateway({
  workers = 1,
  quiet = '1h',
  ignored = [],
  versions = ['v1', 'v2'],
}: Settings = {}): Promise<CountedGateway> {
  const folder = temporaryFolder();
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  const hasOwnDisk = mountDisk(disk);
  const store = join(disk, 'usage.db');
  coverTenDays(store);
  // One server for each version: a backend that two versions use is never safe to stop.
  const names = [...versions, 'v99'];
  const backend = await startBackends(names);
  const file = join(folder, 'routes.yaml');
  const clock = new ClockFile(join(folder, 'clock'));
  // The backend reads the version from the path.
  const ended: Route = { prefix: 'forward', deprecation: '2026-01-01', sunset: '2026-02-01' };
  let configuration = {
    gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', workers, drain: '1s' },
    retire: { quiet, rhythm: 'off', ignore_clients: ignored },
    guard: { quiet },
    usage: { store },
    routes: Object.fromEntries<Route>(
      names.map((name) => [`/${name}`, { ...ended, upstream: backend.urls.get(name) }]),
    ),
  };
  const retiring = (version: string): typeof configuration => {
    const retired = { ...ended, retired: true };
    return { ...configuration, routes: { ...configuration.routes, [`/${version}`]: retired } };
  };
  const withRetired = (version: string): string => JSON.stringify(retiring(version));
  writeFileSync(file, JSON.stringify(configuration));
  let child: ChildProcess | undefined;
  let ports = { client: 0, admin: 0 };
  let errors = '';
  const isRunning = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null;
  const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> => {
    if (!child || !isRunning()) return null;
    const exited = once(child, 'exit');
    child.kill(signal);
    const [code] = await exited;
    return code as number | null;
  };
  const openCalls = new Set<ClientRequest>();
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    const left = workerPids();
    await end('SIGKILL');
    // A stopped worker does not notice that the primary is gone.
    for (const pid of left) killQuietly(pid, 'SIGKILL');
    for (const one of openCalls) one.destroy();
    await backend.close();
    clock.close();
    if (hasOwnDisk) execFileSync('umount', ['-l', disk]);
  };
  onTestFinished(close);
  const api = (path: string, body?: object): Promise<unknown> => askJson(ports.admin, path, body);
  const reportedPids = async (): Promise<number[]> => {
    const { workers: list } = (await api('/api/status')) as { readonly workers: readonly { readonly pid: number }[] };
    return list.map(({ pid }) => pid);
  };
  const workerPids = (): number[] => (child?.pid !== undefined && isRunning() ? childrenOf(child.pid) : []);
  return {
    start: async () => {
      const args = ['--import', './test/support/clockOffset.mjs', gatewayMain, 'start', '--config', file];
      const started = spawn(process.execPath, args, {
        env: { ...process.env, CLOCK_OFFSET_FILE: clock.path },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child = started;
      let banner = '';
      started.stdout.on('data', (chunk) => (banner += chunk));
      started.stderr.on('data', (chunk) => (errors += chunk));
      await eventually(() => {
        const client = /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(banner)?.[1];
        const admin = /http:\/\/127\.0\.0\.1:(\d+)\/readyz/.exec(banner)?.[1];
        if (!isRunning()) return;
        if (client === undefined || admin === undefined) throw new Error(`not started: ${banner}${errors}`);
        ports = { client: Number(client), admin: Number(admin) };
      });
      if (!isRunning()) throw new Error(`ended: ${errors}`);
    },
    call: (version, path = 'x', client = 'a') =>
      new Promise((resolve) => {
        const target = { port: ports.client, host: '127.0.0.1', path: `/${version}/${path}`, agent: false };
        const outgoing = request({ ...target, headers: { 'X-Client-Id': client } }, (incoming) => {
          text(incoming).then(
            () => resolve(incoming.statusCode),
            () => resolve(undefined),
          );
        });
        openCalls.add(outgoing);
        outgoing.on('error', () => resolve(undefined));
        outgoing.on('close', () => openCalls.delete(outgoing));
        outgoing.end();
      }),
    end,
    killWorkers: async () => {
      const before = await reportedPids();
      for (const pid of before) process.kill(pid, 'SIGKILL');
      await eventually(async () => {
        const now = await reportedPids();
        if (now.length < workers || now.some((pid) => before.includes(pid))) throw new Error('not replaced yet');
      });
    },
    workerPids,
    signal: (name) => void (isRunning() && child?.kill(name)),
    verdict: async (version) => {
      const answer = (await api(`/api/versions/${version}/retirement`)) as Verdict;
      if (answer.answer === undefined) throw new Error(JSON.stringify(answer));
      return answer;
    },
    digest: async () => (await api('/api/digest')) as Digest,
    guardAccepts: async (version) => {
      const outcome = (await api('/api/reload/preview', { routes_yaml: withRetired(version) })) as {
        readonly kind: string;
      };
      return outcome.kind === 'reloaded';
    },
    withRetired,
    reload: async (version) => {
      writeFileSync(file, withRetired(version));
      const outcome = (await api('/api/reload', {})) as { readonly kind: string };
      // The gateway may have noticed the edit itself.
      const isServed = outcome.kind === 'reloaded' || outcome.kind === 'unchanged';
      if (isServed) configuration = retiring(version);
      writeFileSync(file, JSON.stringify(configuration));
      return isServed;
    },
    ignore: async (clients) => {
      configuration = { ...configuration, retire: { ...configuration.retire, ignore_clients: clients } };
      writeFileSync(file, JSON.stringify(configuration));
      const { kind } = (await api('/api/reload', {})) as { readonly kind: string };
      return kind !== 'incomplete';
    },
    fillDisk: () => {
      // Only a disk of its own is filled: dd ends when there is no room.
      if (!hasOwnDisk) return;
      try {
        execFileSync('dd', ['if=/dev/zero', `of=${join(disk, 'filler')}`, 'bs=4096'], { stdio: 'ignore' });
      } catch {
        // The disk is full now.
      }
    },
    freeDisk: () => {
      if (existsSync(join(disk, 'filler'))) rmSync(join(disk, 'filler'));
    },
    setReadOnly: async (isReadOnly) => {
      if (!hasOwnDisk) return;
      // The kernel closes the files of a killed process a moment after its end. Until then, the disk is busy.
      const options = ['-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, disk];
      await eventually(() => execFileSync('mount', options, { stdio: 'ignore' }));
    },
    setClock: (ms) => clock.set(ms),
    ledger: async () => {
      const { usage } = (await api('/api/status')) as {
        readonly usage: { readonly problem: string | null; readonly held_rows: number };
      };
      return { problem: usage.problem, heldRows: usage.held_rows };
    },
    log: backend.log,
    stderr: () => errors,
    disk,
    hasOwnDisk,
    store,
    file,
    get admin() {
      return `127.0.0.1:${ports.admin}`;
    },
    get isRunning() {
      return isRunning();
    },
    close,
  };
}

const slowAnswerMs = 700;

/** A backend for each of these versions. They log each request before they answer. */
async function startBackends(versions: readonly string[]) {
  const log: BackendCall[] = [];
  const receive = (req: IncomingMessage, res: ServerResponse): void => {
    const [, version = '', path = ''] = req.url?.split('/') ?? [];
    const client = String(req.headers['x-client-id']);
    const call: BackendCall = { version, path, client, at: Date.now(), isAnswered: false };
    log.push(call);
    const answer = (): void => {
      call.isAnswered = !res.destroyed;
      res.writeHead(path === 'missing' ? 404 : 200).end('{}');
    };
    if (path === 'slow') setTimeout(answer, slowAnswerMs);
    else if (path !== 'wait') answer();
  };
  const servers = versions.map(() => createServer(receive).listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const urls = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const close = async (): Promise<void> => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  };
  return { urls: new Map(versions.map((name, at) => [name, urls[at]])), log, close };
}

/** The file from which `clockOffset.mjs` reads. It is written in place, so that no process reads a part of a number. */
class ClockFile {
  readonly path: string;
  readonly #descriptor: number;

  constructor(path: string) {
    this.path = path;
    this.#descriptor = openSync(path, 'w');
    this.set(0);
  }

  set(ms: number): void {
    writeSync(this.#descriptor, String(ms).padEnd(16), 0);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

/** On a connection of its own: one that is kept alive may be closed by the gateway just then. */
async function askJson(port: number, path: string, body?: object): Promise<unknown> {
  const outgoing = request({
    port,
    host: '127.0.0.1',
    path,
    agent: false,
    ...(body && { method: 'POST', headers: { 'Content-Type': 'application/json' } }),
  });
  outgoing.end(body && JSON.stringify(body));
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  return JSON.parse(await text(incoming));
}

/** The child processes of a process. */
function childrenOf(pid: number): number[] {
  try {
    const list = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1');
    return list.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Does nothing if the process has ended. */
export function killQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

function mountDisk(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
