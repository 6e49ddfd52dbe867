import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rootApi } from '../../gateway/config/api.ts';
import { parseConfig, snapshotFrom } from '../../gateway/config/load.ts';
import type { Snapshot } from '../../gateway/config/snapshot.ts';
import { temporaryFolder } from './temporary.ts';

function read(text: string, folder = tmpdir(), env: NodeJS.ProcessEnv = {}): Snapshot {
  const { snapshot, faults } = parseConfig(text, join(folder, 'routes.yaml'), { env });
  expect(faults).toEqual([]);
  if (!snapshot) throw new Error('no snapshot');
  return snapshot;
}

const upstream = 'http://127.0.0.1:3001';

it('has the defaults that the documentation names', () => {
  const snapshot = read(`routes: { /v1: ${upstream} }`, '/srv');
  const { sortedVersions, gateway, usage, log, telemetry } = snapshot;
  const { guard, retire, compat, notify } = rootApi(snapshot);
  const [version] = sortedVersions;
  expect({ ...version, moved: version?.moved.size }).toEqual({
    name: 'v1',
    major: 1,
    prefix: 'strip',
    targets: [{ url: upstream, weight: 1 }],
    deprecation: undefined,
    sunset: undefined,
    afterSunset: 'serve',
    retired: false,
    waivers: [],
    successor: undefined,
    info: undefined,
    guide: false,
    moved: 0,
    contract: undefined,
    brownouts: [],
    ends: [],
    timeouts: { connect: 3000, firstByte: 30_000, idle: 60_000, streamIdle: 0, writeIdle: 60_000, keepAlive: 4000 },
    limits: { body: 10_485_760, inFlight: 10_000, inFlightPerTarget: 2000, queue: 1000 },
    retries: { attempts: 2, budget: 0.2, budgetMin: 3 },
    health: {
      path: undefined,
      interval: 5000,
      timeout: 2000,
      healthyAfter: 2,
      unhealthyAfter: 3,
      passiveFailures: 3,
      eject: 10_000,
      onNoneHealthy: 'try',
    },
    balance: 'round_robin',
    tls: { ca: undefined, servername: undefined, verify: true },
  });
  expect(gateway).toEqual({
    listen: { host: '127.0.0.1', port: 8080 },
    admin: { host: '127.0.0.1', port: 9901 },
    adminToken: undefined,
    adminLoopback: 'token',
    basePath: '',
    publicUrl: undefined,
    selfService: 'off',
    trustedProxies: [],
    workers: 1,
    workerTimeout: 30_000,
    drain: 30_000,
    fastLane: 'auto',
    http2: 'auto',
    h2c: 'off',
    timeouts: { head: 10_000, bodyIdle: 30_000, keepAlive: 65_000 },
    limits: { head: 16_384, url: 8192 },
    tls: undefined,
  });
  expect(guard).toEqual({ quiet: 86_400_000, notice: 2_592_000_000, trial: 10_000, force: new Map() });
  expect(usage).toEqual({
    identify: [{ by: 'header', name: 'x-client-id' }, { by: 'header', name: 'x-api-key' }, { by: 'user-agent' }],
    store: '/srv/.version-gateway/usage.db',
    retention: 34_560_000_000,
    maxClients: 50_000,
    maxRoutes: 500,
  });
  expect(retire).toEqual({ quiet: 604_800_000, maxShare: 0.001, rhythm: 'on', ignoreClients: [] });
  expect(compat).toEqual({ rules: new Map(), exempt: [] });
  expect(log).toEqual({ access: 'stdout', format: 'auto', sample: 1, address: 'network', query: false, redact: [] });
  expect(telemetry).toBeUndefined();
  expect(notify).toEqual([]);
});

it('lists versions by number, whatever their order in the file', () => {
  const { sortedVersions, versions } = snapshotFrom({ routes: { '/v10': upstream, '/v2': upstream, '/v0': upstream } });
  expect(sortedVersions.map(({ name }) => name)).toEqual(['v0', 'v2', 'v10']);
  expect(versions.get('v10')).toBe(sortedVersions[2]);
});

it('prefers the settings of a route to defaults, key by key', () => {
  const { sortedVersions } = snapshotFrom({
    routes: {
      '/v1': {
        upstream,
        timeouts: { connect: 'off' },
        health: { path: 'off' },
        retries: { attempts: 1 },
        balance: 'random',
      },
      '/v2': { upstream, health: { interval: '1s' }, limits: { body: '1KiB' }, tls: { verify: false } },
    },
    defaults: { timeouts: { connect: '9s', idle: '7s' }, health: { path: '/up' }, tls: { servername: 'a.internal' } },
  });
  expect(sortedVersions.map(({ timeouts }) => [timeouts.connect, timeouts.idle])).toEqual([
    [0, 7000],
    [9000, 7000],
  ]);
  expect(sortedVersions.map(({ health }) => [health.path, health.interval])).toEqual([
    [undefined, 5000],
    ['/up', 1000],
  ]);
  expect(sortedVersions.map(({ retries, balance, limits }) => [retries.attempts, balance, limits.body])).toEqual([
    [1, 'random', 10_485_760],
    [2, 'round_robin', 1024],
  ]);
  expect(sortedVersions.map(({ tls }) => [tls.verify, tls.servername])).toEqual([
    [true, 'a.internal'],
    [false, 'a.internal'],
  ]);
});

it('reads all forms of an upstream', () => {
  const { sortedVersions } = snapshotFrom({
    routes: {
      '/v1': 'http://A:80/',
      '/v2': { upstream },
      '/v3': { upstream: ['https://b:443', { url: 'http://c:81', weight: 3 }, { url: 'http://d' }] },
      '/v4': { retired: true },
    },
  });
  expect(sortedVersions.map(({ targets }) => targets)).toEqual([
    [{ url: 'http://a', weight: 1 }],
    [{ url: upstream, weight: 1 }],
    [
      { url: 'https://b', weight: 1 },
      { url: 'http://c:81', weight: 3 },
      { url: 'http://d', weight: 1 },
    ],
    [],
  ]);
});

it('is frozen at every level', () => {
  const snapshot = snapshotFrom({ routes: { '/v1': upstream }, gateway: { trusted_proxies: ['private'] } });
  const parts = [
    snapshot,
    snapshot.sortedVersions,
    snapshot.sortedVersions[0]?.targets[0],
    snapshot.gateway.trustedProxies,
  ];
  for (const part of [...parts, snapshot.usage.identify[0], snapshot.sortedVersions[0]?.moved]) {
    expect(Object.isFrozen(part)).toBe(true);
  }
});

describe('the fingerprint', () => {
  const plain = `routes:\n  /v1: { upstream: ${upstream}, deprecation: 2026-06-30, moved: { /a: /b, /c: null } }\n  /v2: http://h\n`;
  const base = read(plain).fingerprint;

  it.each([
    ['comments and blank lines', `# hello\n\n${plain}`],
    ['line ends', plain.replaceAll('\n', '\r\n')],
    [
      'the order of keys',
      `routes:\n  /v2: http://h\n  /v1: { moved: { /c: null, /a: /b }, deprecation: 2026-06-30, upstream: ${upstream} }\n`,
    ],
    [
      'the spelling of values',
      plain
        .replace('2026-06-30', '2026-06-30T02:00:00+02:00')
        .replace('http://h', '[HTTP://H:80/]')
        .replace('[', '{ upstream: [')
        .replace(']', '] }'),
    ],
    ['defaults written out', `${plain}defaults: { timeouts: { connect: 3000ms } }\ngateway: { workers: 1 }\nguard:\n`],
    ['variables', plain.replace('2026-06-30', `"\${DATE:-2026-06-30}"`)],
  ])('does not depend on %s', (_what, text) => {
    expect(read(text).fingerprint).toBe(base);
  });

  it.each([
    ['a date', plain.replace('2026-06-30', '2026-06-30T00:00:01Z')],
    ['a weight', plain.replace('http://h', '{ upstream: [{ url: http://h, weight: 2 }] }')],
    ['a moved row', plain.replace('/c: null', '/c: /d')],
    ['a version', plain.replace('/v2', '/v3')],
    ['a token', `${plain}gateway: { admin_token: x }\n`],
  ])('depends on %s', (_what, text) => {
    expect(read(text).fingerprint).not.toBe(base);
  });

  it('depends on the content of the files that it names', () => {
    const folder = temporaryFolder();
    const text = `routes: { /v1: { upstream: ${upstream}, contract: c.yaml } }`;
    const fingerprints = [
      'openapi: 3.1.0\npaths: {}\n',
      'openapi: 3.1.0\npaths: {}\n',
      'openapi: 3.1.1\npaths: {}\n',
    ].map((contract) => {
      writeFileSync(join(folder, 'c.yaml'), contract);
      return read(text, folder).fingerprint;
    });
    expect(fingerprints[0]).toBe(fingerprints[1]);
    expect(fingerprints[2]).not.toBe(fingerprints[0]);
  });
});

it.each([
  ['off', 'off'],
  ['stderr', 'stderr'],
  ['./access.log', { file: '/srv/access.log' }],
  ['/var/log/access', { file: '/var/log/access' }],
])('writes the access log of %s to %j', (access, expected) => {
  const { log } = read(`{ routes: { /v1: ${upstream} }, log: { access: ${access}, redact: [Token] } }`, '/srv');
  expect([log.access, log.redact]).toEqual([expected, ['token']]);
});
