import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  acceptedFrom,
  acceptedRecord,
  configHash,
  readAccepted,
  writeAccepted,
} from '../../gateway/config/acceptedConfig.ts';
import { compareIds, rootApi } from '../../gateway/config/api.ts';
import { snapshotFrom } from '../../gateway/config/load.ts';
import { hostOf } from '../support/hostOf.ts';
import { temporaryFolder } from './temporary.ts';

function snapshotIn(folder: string) {
  return snapshotFrom({
    routes: {
      '/v1': {
        upstream: 'http://127.0.0.1:3001',
        deprecation: '2026-01-01',
        sunset: '2028-06-30',
        after_sunset: 'gone',
        successor: '/v10',
        ends: {
          'GET /old': { deprecation: '2026-01-01', sunset: '2027-06-30' },
          'GET /new': { deprecation: '2026-01-01' },
        },
      },
      '/v10': 'http://127.0.0.1:3010',
      '/v2': { retired: true },
    },
    gateway: { admin_token: 'correct-horse-battery', public_url: 'https://api.example.com' },
    guard: { force: { '/v1': 'the backend has burnt down' } },
    usage: { store: join(folder, 'usage.db') },
  });
}

const one = {
  format: 1,
  versions: [{ name: 'v1', major: 1, afterSunset: 'serve', retired: false }],
  force: [],
};

function withVersion(changes: object): string {
  return JSON.stringify({ ...one, versions: [{ ...one.versions[0], ...changes }] });
}

describe('an unusable record', () => {
  it.each([
    ['empty', ''],
    ['cut off', JSON.stringify(one).slice(0, -9)],
    ['binary', '\0\x01\xff'],
    ['a list', '[]'],
    ['of a later release', JSON.stringify({ ...one, format: 2 })],
    ['without versions', JSON.stringify({ format: 1, force: [] })],
    ['with a date that is none', withVersion({ sunset: 'soon' })],
    ['with a name that could move a cursor', withVersion({ name: 'v1\x1b[2J' })],
    [
      'with a route that could move a cursor',
      withVersion({ ends: [{ method: 'GET', path: '/\x1b[2J', deprecation: 1 }] }),
    ],
    ['with a name of another major', withVersion({ name: 'v2' })],
    ['with a version that succeeds itself', withVersion({ successor: 'v1' })],
    ['with a successor further down', withVersion({ successor: 'v0' })],
  ])('causes a warning of one line: %s', (_what, text) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'accepted.json'), text);
    const { config, warning } = readAccepted(join(folder, 'usage.db'));
    expect(config).toBeUndefined();
    expect(warning).toBe(
      `${folder}/accepted.json cannot be read: its content is not a valid record.  routes.yaml cannot be compared with the configuration that was accepted last.`,
    );
  });

  it('causes a warning if it is a folder', () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'accepted.json'));
    expect(readAccepted(join(folder, 'usage.db')).warning).toContain('it is a folder');
  });

  it('causes no warning at the first start', () => {
    expect(readAccepted(join(temporaryFolder(), 'usage.db'))).toEqual({ config: undefined, warning: undefined });
  });

  it('is replaced', () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'accepted.json'), 'rubbish');
    expect(writeAccepted(snapshotIn(folder))).toBeUndefined();
    expect(readAccepted(join(folder, 'usage.db')).config?.versions.size).toBe(3);
  });
});

describe('a record that cannot be written', () => {
  it.each([
    ['its folder is a file', (folder: string) => writeFileSync(join(folder, 'sub'), ''), 'sub'],
    [
      'a folder is in its place',
      (folder: string) => mkdirSync(join(folder, 'accepted.json/x'), { recursive: true }),
      '.',
    ],
  ])('causes a warning of one line, and leaves no file: %s', (_what, prepare, below) => {
    const folder = temporaryFolder();
    prepare(folder);
    const before = readdirSync(folder);
    const failure = writeAccepted(snapshotIn(join(folder, below)));
    expect(failure).toMatch(/^\S+accepted\.json cannot be written: .+\. {2}The next start cannot compare .+\.$/);
    expect(readdirSync(folder)).toEqual(before);
  });
});

it('is read as it was written, in a folder that did not exist', () => {
  const folder = join(temporaryFolder(), 'a', 'b');
  const snapshot = snapshotIn(folder);
  expect(writeAccepted(snapshot)).toBeUndefined();
  const { config } = readAccepted(snapshot.usage.store);
  const [v1, v2, v10] = snapshot.sortedVersions;
  expect(config?.sortedVersions.map(({ name }) => name)).toEqual(['v1', 'v2', 'v10']);
  expect(config?.versions.get('v1')).toEqual({
    name: 'v1',
    brownouts: [],
    waivers: [],
    ends: v1?.ends,
    major: 1,
    deprecation: v1?.deprecation,
    sunset: Date.parse('2028-06-30T00:00:00Z'),
    afterSunset: 'gone',
    retired: false,
    successor: 'v10',
  });
  expect(v1?.ends).toHaveLength(2);
  expect(config?.versions.get('v2')).toMatchObject({ ends: [], retired: v2?.retired, deprecation: undefined });
  expect(config?.versions.get('v10')).toMatchObject({ major: v10?.major, successor: undefined });
  expect(config && rootApi(config).guard.force).toEqual(new Map([['v1', 'the backend has burnt down']]));
});

it('can have the highest major that a routes.yaml may have', () => {
  const folder = temporaryFolder();
  const store = join(folder, 'usage.db');
  const snapshot = snapshotFrom({ routes: { '/v9007199254740991': 'http://127.0.0.1:3001' }, usage: { store } });
  expect(writeAccepted(snapshot)).toBeUndefined();
  expect([...(readAccepted(store).config?.versions.keys() ?? [])]).toEqual(['v9007199254740991']);
});

it('is readable by its owner only, and has no secret and no URL', () => {
  const folder = temporaryFolder();
  writeAccepted(snapshotIn(folder));
  expect(readdirSync(folder)).toEqual(['accepted.json']);
  const file = join(folder, 'accepted.json');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, 'utf8')).not.toMatch(/horse|http|3001|example/);
});

describe('the hash', () => {
  const base = { '/v1': { upstream: 'http://127.0.0.1:1', deprecation: '2026-01-01', sunset: '2028-06-30' } };
  const hashOf = (routes: Record<string, object | string>, gateway = {}): string =>
    configHash(snapshotFrom({ routes: { '/v2': 'http://127.0.0.1:2', ...routes }, gateway }));

  it.each<[string, string]>([
    ['another target', hashOf({ '/v1': { ...base['/v1'], upstream: 'http://127.0.0.1:9' } })],
    ['the same instant in another form', hashOf({ '/v1': { ...base['/v1'], deprecation: '2026-01-01T00:00:00Z' } })],
    ['another setting', hashOf(base, { drain: '7s' })],
    ['another order', hashOf({ '/v1': base['/v1'], '/v2': 'http://127.0.0.1:2' })],
  ])('is the same with %s', (_name, hash) => expect(hash).toBe(hashOf(base)));

  it.each<[string, string]>([
    ['sunset', hashOf({ '/v1': { ...base['/v1'], sunset: '2028-07-01' } })],
    ['deprecation', hashOf({ '/v1': { ...base['/v1'], deprecation: '2026-01-02' } })],
    ['state', hashOf({ '/v1': { ...base['/v1'], retired: true } })],
    ['end', hashOf({ '/v1': { ...base['/v1'], after_sunset: 'gone' } })],
    ['successor', hashOf({ '/v1': { ...base['/v1'], successor: '/v2' } })],
    ['version', hashOf({ ...base, '/v3': 'http://127.0.0.1:3' })],
    ['base path', hashOf(base, { base_path: '/api' })],
    ['end of a route', hashOf({ '/v1': { ...base['/v1'], ends: { 'GET /old': { deprecation: '2026-01-01' } } } })],
  ])('changes with another %s', (_name, hash) => expect(hash).not.toBe(hashOf(base)));

  it('is short', () => expect(hashOf(base)).toMatch(/^[0-9a-f]{12}$/));
});

describe('a host with several APIs', () => {
  const orders = (sunset: string, spare: string[] = []) =>
    snapshotFrom({
      routes: {
        '/v1': {
          upstream: 'http://127.0.0.1:3101',
          deprecation: '2026-01-01',
          sunset,
          brownouts: [{ at: '2027-01-01T10:00Z', for: '15m' }],
        },
        '/v2': 'http://127.0.0.1:3102',
      },
      ...(spare.length > 0 && { brownout: { spare } }),
      gateway: { admin_token: 'correct-horse-battery', public_url: 'https://api.example.com' },
      guard: { force: { '/v1': 'nobody orders' } },
    });

  it('is recorded, and read as it was written', () => {
    const folder = temporaryFolder();
    const host = hostOf(snapshotIn(folder), { '/orders': orders('2028-06-30', ['x-client-id:partner']) });
    // The gateway's own file may name a version of an API that it no longer lists.
    const root = rootApi(host);
    const force = new Map([...root.guard.force, ['gone/v3', 'the API is gone']]);
    const apis = new Map([...host.apis, ['', { ...root, guard: { ...root.guard, force } }]]);
    const snapshot = { ...host, apis };
    expect(writeAccepted(snapshot)).toBeUndefined();
    const { config, warning } = readAccepted(snapshot.usage.store);
    expect(warning).toBeUndefined();
    expect([...(config?.versions.keys() ?? [])].sort(compareIds)).toEqual([
      'v1',
      'v2',
      'v10',
      'orders/v1',
      'orders/v2',
    ]);
    expect(config?.versions.get('orders/v1')).toMatchObject({
      major: 1,
      sunset: Date.parse('2028-06-30T00:00:00Z'),
      brownouts: [{ at: Date.parse('2027-01-01T10:00Z') }],
    });
    expect(config?.apis.get('/orders')).toEqual({
      guard: { force: new Map([['orders/v1', 'nobody orders']]) },
      brownout: { spared: rootApi(orders('2028-06-30', ['x-client-id:partner'])).brownout.spared },
    });
    expect(config?.apis.get('/gone')?.guard.force.get('gone/v3')).toBe('the API is gone');
    expect(config?.apis.get('')?.guard.force).toEqual(rootApi(snapshotIn(folder)).guard.force);
  });

  it('is read by a release that knows the API at the root only', () => {
    const alone = acceptedRecord(snapshotIn('x'));
    const { apis, ...root } = acceptedRecord(hostOf(snapshotIn('x'), { '/orders': orders('2028-06-30') }));
    expect(root).toEqual(alone);
    expect(Object.keys(apis ?? {})).toEqual(['/orders']);
  });

  it('has a hash of all of them, in any order of the APIs', () => {
    const [early, late] = [orders('2028-06-30'), orders('2028-07-30')];
    const hashOf = (apis: Record<string, typeof early>) => configHash(hostOf(snapshotIn('x'), apis));
    expect(hashOf({})).toBe(configHash(snapshotIn('x')));
    expect(hashOf({ '/a': early, '/b': late })).toBe(hashOf({ '/b': late, '/a': early }));
    const spared = orders('2028-06-30', ['x-client-id:partner']);
    const hashes = [{}, { '/a': early }, { '/b': early }, { '/a': late }, { '/a': spared }].map(hashOf);
    expect(new Set(hashes).size).toBe(5);
  });

  it.each([
    ['a version of another API', { '/orders': [{ name: 'pay/v1', major: 1 }] }],
    ['a version of the API at the root', { '/orders': [{ name: 'v9', major: 9 }] }],
    ['another major than its id', { '/orders': [{ name: 'orders/v1', major: 2 }] }],
    ['a base that looks like a version', { '/v2': [{ name: 'v2/v1', major: 1 }] }],
    [
      'successors in a circle',
      {
        '/orders': [{ name: 'orders/v1', major: 1, successor: 'pay/v1' }],
        '/pay': [
          { name: 'pay/v1', major: 1 },
          { name: 'pay/v2', major: 2, successor: 'orders/v1' },
        ],
      },
    ],
  ])('has no record with %s', (_what, versionsByBase) => {
    const apis = Object.entries(versionsByBase).map(([base, versions]) => [
      base,
      { versions: versions.map((version) => ({ ...one.versions[0], ...version })), force: [] },
    ]);
    expect(acceptedFrom({ ...one, apis: Object.fromEntries(apis) })).toBeUndefined();
  });

  it('may have a successor with a lower major in another API', () => {
    const apis = {
      '/orders': { versions: [{ ...one.versions[0], name: 'orders/v3', major: 3, successor: 'pay/v1' }], force: [] },
    };
    expect(acceptedFrom({ ...one, apis })?.versions.get('orders/v3')?.successor).toBe('pay/v1');
  });
});
