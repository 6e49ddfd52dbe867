import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync, writeFileSync } from 'node:fs';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../config/temporary.ts';
import { eventually } from '../support/eventually.ts';
import { gatewayMain } from '../support/gatewayMain.ts';

interface Gateway {
  readonly child: ChildProcess;
  readonly stderr: () => string;
  readonly port: number;
  /** The read end of its stdout, a pipe. Only the banner is read from it. */
  readonly reader: number;
}

/** Starts the gateway with a pipe as its stdout, which is only read up to the banner. */
async function startUnread(workers: number, drain: string, upstream: string, nodeFlags: string[] = []) {
  const folder = temporaryFolder();
  const file = join(folder, 'routes.yaml');
  const gateway = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', workers, drain };
  const usage = { store: join(folder, 'usage.db') };
  writeFileSync(file, JSON.stringify({ gateway, usage, log: { access: 'stdout' }, routes: { '/v1': upstream } }));
  const pipe = fifoIn(folder);
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(pipe, constants.O_WRONLY);
  const args = [...nodeFlags, gatewayMain, 'start', '--config', file];
  const child = spawn(process.execPath, args, { stdio: ['ignore', writer, 'pipe'] });
  closeSync(writer);
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  let errors = '';
  child.stderr?.on('data', (chunk) => {
    errors += chunk;
  });
  let banner = '';
  await eventually(() => {
    banner += readAvailable(reader);
    expect(banner, errors).toContain('/readyz');
  });
  const port = Number(/listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(banner)?.[1]);
  return { child, stderr: () => errors, port, reader } satisfies Gateway;
}

it.each([1, 2])('stops while its stdout is not read, %i workers', async (workers) => {
  const { url } = await startBackend();
  const gateway = await startUnread(workers, '20s', url);
  // More than a pipe buffers.
  for (let count = 0; count < 100; count += 1) await ask(gateway.port, `/v1/${'x'.repeat(1000)}`);
  expect(await stop(gateway)).toBe(0);
});

it.each([1, 2])('stops after the reader of its stdout has exited, %i workers', async (workers) => {
  const { url } = await startBackend();
  const gateway = await startUnread(workers, '20s', url);
  closeSync(gateway.reader);
  await ask(gateway.port, '/v1/x');
  await eventually(() => expect(gateway.stderr()).toContain('EPIPE'));
  expect(await stop(gateway)).toBe(0);
});

it.each([1, 2])('stops while a thread of libuv is blocked, %i workers', async (workers) => {
  const { url } = await startBackend();
  const gateway = await startUnread(workers, '20s', url, blockedThread());
  await ask(gateway.port, '/v1/x');
  expect(await stop(gateway)).toBe(0);
});

it('a second signal ends the gateway at once, also while a thread is blocked', async () => {
  const backend = await startBackend(() => {});
  const gateway = await startUnread(1, '10m', backend.url, blockedThread());
  ask(gateway.port, '/v1/x').catch(() => {});
  await eventually(() => expect(backend.requests()).toBe(1));
  const ended = once(gateway.child, 'exit');
  gateway.child.kill('SIGTERM');
  await eventually(() => expect(readAvailable(gateway.reader)).toContain('version-gateway is stopping'));
  gateway.child.kill('SIGINT');
  expect(await ended).toEqual([0, null]);
});

it('SIGHUP and SIGUSR2 during the shutdown neither end nor delay the shutdown', async () => {
  const waiting: (() => void)[] = [];
  const backend = await startBackend((answer) => waiting.push(answer));
  const gateway = await startUnread(2, '10m', backend.url);
  const answer = ask(gateway.port, '/v1/x');
  await eventually(() => expect(waiting).toHaveLength(1));
  const ended = once(gateway.child, 'exit');
  gateway.child.kill('SIGTERM');
  await eventually(() => expect(readAvailable(gateway.reader)).toContain('version-gateway is stopping'));
  gateway.child.kill('SIGHUP');
  gateway.child.kill('SIGUSR2');
  waiting[0]?.();
  expect(await answer).toBe(200);
  expect(await ended).toEqual([0, null]);
});

/** Makes Node open a FIFO without a writer: a thread is blocked in open(2), as by a name lookup without an answer. */
function blockedThread(): string[] {
  const pipe = fifoIn(temporaryFolder());
  const code = `import { open } from 'node:fs'; open(${JSON.stringify(pipe)}, 'r', () => {});`;
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
}

async function startBackend(onRequest: (answer: () => void) => void = (answer) => answer()) {
  let requests = 0;
  const server = createServer((_req, res) => {
    requests += 1;
    onRequest(() => res.end('ok'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests: () => requests };
}

async function ask(port: number, path: string): Promise<number | undefined> {
  const [response] = await once(get({ host: '127.0.0.1', port, path, agent: false }), 'response');
  await text(response);
  return response.statusCode;
}

async function stop({ child }: Gateway): Promise<number | null> {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const [code] = await ended;
  return code;
}

function fifoIn(folder: string): string {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  return pipe;
}

function readAvailable(fd: number): string {
  const buffer = Buffer.alloc(64 * 1024);
  try {
    return buffer.toString('utf8', 0, readSync(fd, buffer));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return '';
    throw error;
  }
}
