import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { gatewayMain } from '../../support/gatewayMain.ts';
import { type Running, run } from '../../support/process.ts';

export interface StartedGateway extends Running {
  readonly folder: string;
  readonly port: number;
  readonly admin: string;
  /** Replaces the `routes:` of the file, and adds `more` sections. */
  edit(routes: Readonly<Record<string, unknown>>, more?: Readonly<Record<string, unknown>>): void;
  pids(): Promise<number[]>;
}

/** The program to run instead of this Node and the build of this run. */
export interface Program {
  readonly node?: string;
  readonly main?: string;
}

/** The gateway as `start` runs it, with that many workers, its own file and free ports. */
export async function startWorkers(
  workers: number,
  routes: Readonly<Record<string, unknown>>,
  { gateway: settingsOfGateway = {}, ...settings }: Readonly<Record<string, object | string>> = {},
  { node = process.execPath, main = gatewayMain }: Program = {},
): Promise<StartedGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'workers-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'routes.yaml');
  const edit: StartedGateway['edit'] = (next, more) => {
    const ports = { listen: '127.0.0.1:0', admin: '127.0.0.1:0' };
    const gateway = { ...ports, workers, drain: '5s', ...Object(settingsOfGateway) };
    // JSON is valid YAML.
    writeFileSync(
      file,
      JSON.stringify({ gateway, usage: { store: join(folder, 'usage.db') }, routes: next, ...settings, ...more }),
    );
  };
  edit(routes);
  const running = run(node, [main, 'start', '--config', file]);
  const [, port] = await running.printed(/listens on https?:\/\/127\.0\.0\.1:(\d+)/);
  const [, admin] = await running.printed(/(http:\/\/127\.0\.0\.1:\d+)\/readyz/);
  return {
    ...running,
    folder,
    port: Number(port),
    admin: admin as string,
    edit,
    pids: async () => {
      const { workers: list } = (await (await fetch(`${admin}/api/status`)).json()) as { workers: { pid: number }[] };
      return list.map(({ pid }) => pid);
    },
  };
}

export interface Load {
  /** Number of responses by status, and of errors by code. */
  readonly seen: Map<string, number>;
  /** Requests whose new connection was reset, probably before it was accepted. */
  readonly unaccepted: string[];
  /** Waits until open requests are answered. */
  stop(): Promise<void>;
}

/** `clients` keep-alive connections that send one request after the other. `onAnswer` is called for each response. */
export function load(port: number, clients: number, path: string, method = 'GET'): Load {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const seen = new Map<string, number>();
  const unaccepted: string[] = [];
  let over = false;
  let count = 0;
  const ask = async (): Promise<void> => {
    count += 1;
    const target = `?${method}=${count}`;
    const note = (outcome: string): void => void seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
    await new Promise<void>((resolve) => {
      const outgoing = request({ port, host: '127.0.0.1', path: path + target, method, agent }, (incoming) => {
        text(incoming)
          .then(() => note(String(incoming.statusCode)))
          .catch((error: NodeJS.ErrnoException) => note(error.code ?? error.message))
          .finally(resolve);
      });
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        // It was in the accept queue of a listener that closed.
        if (error.code === 'ECONNRESET' && !outgoing.reusedSocket) unaccepted.push(target);
        else note(error.code ?? error.message);
        resolve();
      });
      outgoing.end();
    });
  };
  const loops = Array.from({ length: clients }, async () => {
    while (!over) {
      await ask();
      // The gateway has ended; further requests would fail in a busy loop.
      if (seen.has('ECONNREFUSED')) return;
    }
  });
  const stop = async (): Promise<void> => {
    over = true;
    await Promise.all(loops);
    agent.destroy();
  };
  onTestFinished(stop);
  return { seen, unaccepted, stop };
}
