import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { start } from './start.ts';

describe.each(readdirSync('services').filter((name) => /^v\d+$/.test(name)))('%s', (version) => {
  it.each(['SIGTERM', 'SIGINT'] as const)('prints its URL, serves, and ends on %s', async (signal) => {
    const { child, exit } = launch(version, { PORT: '0' });
    const [line] = await once(createInterface(child.stdout), 'line');
    expect(line).toMatch(new RegExp(`^cocktails ${version} is listening on http://127\\.0\\.0\\.1:\\d+$`));
    // The idle connection of this request must not delay the end.
    expect((await fetch(`${line.slice(line.indexOf('http'))}/health`)).status).toBe(200);
    child.kill(signal);
    expect(await exit).toEqual([0, null]);
  });

  it('reports a port that is in use', async () => {
    const { url } = await start(() => {});
    const { child, exit } = launch(version, { PORT: new URL(url).port });
    const [line] = await once(createInterface(child.stderr), 'line');
    expect(line).toMatch(new RegExp(`^cocktails ${version} cannot serve: listen EADDRINUSE`));
    expect(await exit).toEqual([1, null]);
  });
});

function launch(version: string, env: Record<string, string>) {
  const child = spawn(process.execPath, ['server.ts'], {
    cwd: `services/${version}`,
    env: { ...process.env, HOST: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, exit: once(child, 'exit') };
}
