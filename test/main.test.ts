import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { gatewayMain } from './support/gatewayMain.ts';
import { hour, ledgerWith, row } from './support/ledgerWith.ts';
import { startAdmin } from './support/startAdmin.ts';

const now = Date.parse('2026-11-21T12:34:56Z');
const routes = {
  '/v1': { upstream: 'http://127.0.0.1:3001', deprecation: '2026-09-01', sunset: '2026-11-01' },
  '/v2': 'http://127.0.0.1:3001',
};

/** Runs a command with stdout, or both outputs, connected to a pipe that is already closed. */
async function runInto(pipe: '|' | '|&', args: readonly string[]): Promise<{ code: number; other: string }> {
  // The reader exits at once, before the command writes.
  const script = `(sleep 0.3; exec "$@") ${pipe} true; exit "\${PIPESTATUS[0]}"`;
  const child = spawn('bash', ['-c', script, '-', process.execPath, gatewayMain, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let other = '';
  child.stderr.on('data', (chunk) => {
    other += chunk;
  });
  const [code] = await once(child, 'close');
  return { code: code as number, other };
}

it.each([
  ['yes', '/v1', 0],
  ['not yet', '/v2', 1],
])('can-retire keeps its exit code for %s when the pipe is closed', async (_answer, version, expected) => {
  const rows = Array.from({ length: 2_000 }, (_one, n) => row('v2', `client-${n}`, now - hour));
  const admin = await startAdmin(routes, ledgerWith(rows, now - 100 * 24 * hour).queries, now);
  for (const format of ['text', 'json']) {
    const { code, other } = await runInto('|', ['can-retire', version, '--format', format, '--admin', admin]);
    expect([code, other]).toEqual([expected, '']);
  }
});

it('usage prints no error about it', async () => {
  const rows = Array.from({ length: 5_000 }, (_one, n) => row('v1', `client-${n}`, now - hour));
  const admin = await startAdmin(routes, ledgerWith(rows, 0).queries, now);
  expect(await runInto('|', ['usage', '/v1', '--format', 'csv', '--admin', admin])).toEqual({ code: 0, other: '' });
});

it.each([
  [['--help'], 0],
  [['no-such-command'], 2],
  [['status', '--admin', '127.0.0.1:1'], 2],
] as const)('%j keeps its exit code when stderr is closed, too', async (args, expected) => {
  expect((await runInto('|&', args)).code).toBe(expected);
});
