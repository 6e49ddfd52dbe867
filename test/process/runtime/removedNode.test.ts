import { once } from 'node:events';
import { copyFileSync, existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../config/temporary.ts';
import { okAnswer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { type StartedGateway, startWorkers } from './startWorkers.ts';

/** Two workers that run a file of their own as Node, which the test can take away, as an update of Node does. */
async function startOnOwnNode(settings: Readonly<Record<string, object>> = {}) {
  const folder = temporaryFolder();
  const [node, away] = [join(folder, 'node'), join(folder, 'node.away')];
  try {
    linkSync(process.execPath, node);
  } catch {
    // The folder is on another file system.
    copyFileSync(process.execPath, node);
  }
  const { url } = await startBackend(() => okAnswer);
  const version = { upstream: url, deprecation: '2026-01-01', brownouts: [{ at: '2099-03-02T14:00Z', for: '1h' }] };
  const gateway = await startWorkers(2, { '/v1': version, '/v2': url }, settings, { node });
  return {
    gateway,
    folder,
    removeNode: () => renameSync(node, away),
    restoreNode: () => renameSync(away, node),
    /** In place of Node, a program that starts and does nothing. Returns its process id once it runs. */
    hangInstead: () => {
      const pidFile = join(folder, 'pid');
      writeFileSync(node, `#!/bin/sh\necho $$ > ${pidFile}.new\nmv ${pidFile}.new ${pidFile}\nexec sleep 600\n`, {
        mode: 0o755,
      });
      return eventually(() => {
        expect(existsSync(pidFile)).toBe(true);
        return Number(readFileSync(pidFile, 'utf8'));
      });
    },
    removeProgram: () => rmSync(node),
  };
}

async function statusOfRequest({ port }: StartedGateway): Promise<number> {
  return (await fetch(`http://127.0.0.1:${port}/v1/x`, { headers: { connection: 'close' } })).status;
}

function isThere(pid: number, signal: NodeJS.Signals | 0 = 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

const notStarted = /it cannot be started: spawn .* ENOENT/.source;

it('while Node is removed, the workers keep serving, and each attempt to start one is reported', async () => {
  const { gateway, removeNode, restoreNode } = await startOnOwnNode({ gateway: { worker_timeout: '5s' } });
  const [first = 0, second = 0] = await gateway.pids();
  removeNode();
  gateway.child.kill('SIGUSR2');
  await gateway.printed(new RegExp(`rolling restart stopped, the other workers keep running: ${notStarted}`));
  expect(await gateway.pids()).toEqual([first, second]);
  expect(await statusOfRequest(gateway)).toBe(200);

  process.kill(first, 'SIGSTOP');
  onTestFinished(() => void isThere(first, 'SIGCONT'));
  await gateway.printed(new RegExp(`worker ${first} is not replaced yet: ${notStarted}`));
  expect(await statusOfRequest(gateway)).toBe(200);
  process.kill(first, 'SIGKILL');
  await gateway.printed(new RegExp(`a new worker cannot serve: ${notStarted}`));
  expect(await statusOfRequest(gateway)).toBe(200);

  restoreNode();
  await eventually(async () => expect(await gateway.pids()).toHaveLength(2));
  expect(await gateway.pids()).toContain(second);
});

it('a worker that ends while it starts gets the restrictions of that time with the next start', async () => {
  const { gateway, removeNode, restoreNode, hangInstead, removeProgram } = await startOnOwnNode();
  removeNode();
  const hanging = hangInstead();
  const [first = 0] = await gateway.pids();
  process.kill(first, 'SIGKILL');
  const pid = await hanging;
  const stopped = await fetch(`${gateway.admin}/api/brownouts/stop`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ version: 'v1', at: '2099-03-02T14:00:00Z' }),
  });
  expect([stopped.status, await stopped.json()]).toMatchObject([200, { brownout: { state: 'stopped' } }]);
  removeProgram();
  restoreNode();
  process.kill(pid, 'SIGKILL');
  await gateway.printed(new RegExp(`worker ${pid} has died and is replaced`));
  await eventually(async () => expect(await gateway.pids()).toHaveLength(2));
  expect(await statusOfRequest(gateway)).toBe(200);
});

it('without Node on the disk, the workers end quietly when the primary is killed', async () => {
  const { gateway, removeNode } = await startOnOwnNode();
  removeNode();
  const ended = once(gateway.child, 'close');
  gateway.child.kill('SIGKILL');
  // The output is closed once the last worker has ended.
  await ended;
  expect(gateway.output()).not.toContain('ENOENT');
});
