import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runIn } from './io.ts';

it.each([
  [['chekc']],
  [['--colour']],
  [['check', '--formt', 'json']],
  [['check', '--format', 'xml']],
  [['check', '--config']],
  [['check', 'routes.yaml', '--config', 'other.yaml']],
  [['status', 'routes.yaml']],
  [['start', '--listen', '99999']],
  [['start', '--admin', '127.0.0.1:99999']],
])('%j is a usage error, reported in one line that mentions --help', async (args) => {
  const { code, stdout, stderr } = await runIn('/', args);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^error: .+\n(\(Did you mean .+\)\n)?Run the command with --help to see its options\.\n$/);
});

it.each(['--listen', '--admin'])('a wrong %s names the option and the remedy, not the file', async (option) => {
  const { stderr } = await runIn('/', ['start', option, '99999']);
  expect(stderr).toContain(`option '${option} <host:port>' argument '99999' is invalid. It has no host.`);
  expect(stderr).toContain('Write 127.0.0.1:99999');
  expect(stderr).not.toContain('routes.yaml');
});

it('running without a command is a usage error, and prints the commands', async () => {
  const { code, stdout, stderr } = await runIn('/', []);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain('Usage: version-gateway');
});

it.each([[['--help']], [['check', '--help']], [['help', 'check']]])('%j prints help', async (args) => {
  const { code, stdout, stderr } = await runIn('/', args);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('Usage: version-gateway');
});

it('prints its version', async () => {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { version: string };
  for (const option of ['--version', '-v'])
    expect(await runIn('/', [option])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
});
