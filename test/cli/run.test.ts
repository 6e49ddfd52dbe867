import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runIn } from './io.ts';

it.each([
  [[]],
  [['chekc']],
  [['--colour']],
  [['check', '--formt', 'json']],
  [['check', '--format', 'xml']],
  [['check', '--config']],
  [['check', 'routes.yaml']],
])('%j is wrong usage', async (args) => {
  const { code, stdout, stderr } = await runIn('/', args);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain('Usage: version-gateway');
});

it.each([[['--help']], [['check', '--help']], [['help', 'check']]])('%j prints help', async (args) => {
  const { code, stdout, stderr } = await runIn('/', args);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('Usage: version-gateway');
});

it('prints its version', async () => {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { version: string };
  expect(await runIn('/', ['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
});
