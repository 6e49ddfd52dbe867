import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { defaultConfig } from '../../../gateway/process/cli/options.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from './io.ts';

it('uses the first file that exists', () => {
  const cwd = temporaryFolder();
  expect(defaultConfig(cwd)).toBe(undefined);
  mkdirSync(join(cwd, 'config'));
  expect(defaultConfig(cwd)).toBe(undefined);
  writeFileSync(join(cwd, 'config/routes.yaml'), '');
  expect(defaultConfig(cwd)).toBe('config/routes.yaml');
  writeFileSync(join(cwd, 'routes.yaml'), '');
  expect(defaultConfig(cwd)).toBe('routes.yaml');
});

it.each<[string, (config: string) => void, string]>([
  ['is a file and not a folder', (config) => writeFileSync(config, ''), 'a part of its path is not a folder'],
  ['is a link to itself', (config) => symlinkSync('config', config), 'it is a link to itself'],
])('names the file in a config that %s', async (_what, make, reason) => {
  const cwd = temporaryFolder();
  make(join(cwd, 'config'));
  const { code, stderr } = await runIn(cwd, ['check']);
  expect([code, stderr]).toEqual([2, `config/routes.yaml cannot be read: ${reason}\n`]);
});

// Root may enter every folder.
it.skipIf(process.getuid?.() === 0)('names the file in a folder that this user may not enter', async () => {
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, 'config'));
  writeFileSync(join(cwd, 'config/routes.yaml'), '');
  chmodSync(join(cwd, 'config'), 0);
  const { code, stderr } = await runIn(cwd, ['check']);
  chmodSync(join(cwd, 'config'), 0o700);
  expect([code, stderr]).toEqual([2, 'config/routes.yaml cannot be read: the permissions do not allow it\n']);
});

it('names the first place if there is no file', async () => {
  const { code, stderr } = await runIn(temporaryFolder(), ['check']);
  expect([code, stderr]).toEqual([2, 'routes.yaml cannot be read: there is no such file\n']);
});

it.each([
  [['moved', '/v1', '/v2']],
  [['migrate', '/v1', '/v2']],
  [['tag', 'user-agent']],
  [['compat', '--config', 'routes.yaml', 'v1', 'v2']],
])('%j accepts the routes.yaml of an application that needs no upstreams', async (line) => {
  const cwd = temporaryFolder();
  const contracts = ['v1', 'v2'].map((name) => resolve(`services/${name}/contract/openapi.yaml`));
  const routes = { '/v1': { contract: contracts[0] }, '/v2': { contract: contracts[1] } };
  writeFileSync(join(cwd, 'routes.yaml'), JSON.stringify({ routes, usage: { tag_key: 'a key of 16 characters' } }));
  const args = line.map((one) => (/^v[12]$/.test(one) ? (contracts[Number(one[1]) - 1] ?? '') : one));
  const { stdout, stderr } = await runIn(cwd, args, {}, false, 'curl/8');
  expect(stderr).not.toContain('has no upstream');
  expect(stdout).not.toBe('');
});

it.each(['/v9007199254740991', 'GET /v9007199254740991/a'])(
  '%s, with the highest major, is a subject',
  async (subject) => {
    const { stderr } = await runIn(temporaryFolder(), ['can-retire', subject, '--admin', '127.0.0.1:1']);
    expect(stderr).toContain('does not answer');
  },
);
