import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { changesBetween } from '../../../gateway/versions/lifecycle/snapshotChanges.ts';
import { makePair } from '../../support/certificates.ts';
import { hostOf } from '../../support/hostOf.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const a = 'http://127.0.0.1:3001';
const b = 'http://127.0.0.1:3002';
const store = 'postgres://db.internal:5432/gateway';
const folder = mkdtempSync(join(tmpdir(), 'snapshot-changes-'));
afterAll(() => rmSync(folder, { recursive: true }));
makePair(folder, 'public');
const [cert, key] = [join(folder, 'public.made.crt'), join(folder, 'public.made.key')];

const adaptedV1 = (mode: string) => {
  const [v1, v2] = ['v1', 'v2'].map((name) => ({ upstream: a, contract: `services/${name}/contract/openapi.yaml` }));
  const adapter = { from: '/v2', mode, routes: { 'GET /health': { to: 'GET /health' } } };
  return { '/v1': { ...v1, adapter }, '/v2': v2 };
};

it.each<[string, object, object, string[]]>([
  ['nothing', { '/v1': a }, { '/v1': a }, []],
  ['another spelling', { '/v1': a }, { '/v1': { upstream: [a], prefix: 'strip' } }, []],
  ['an added version', { '/v1': a }, { '/v1': a, '/v2': b }, ['/v2: added, active']],
  ['a removed version', { '/v1': a, '/v2': b }, { '/v1': a }, ['/v2: removed']],
  [
    'a deprecation and a sunset',
    { '/v1': a },
    { '/v1': { upstream: a, deprecation: '2026-06-30', sunset: '2027-06-30' } },
    ['/v1: active → deprecated, deprecation 2026-06-30, sunset 2027-06-30'],
  ],
  [
    'a removed sunset',
    { '/v1': { upstream: a, deprecation: '2026-06-30', sunset: '2027-06-30' } },
    { '/v1': { upstream: a, deprecation: '2026-06-30' } },
    ['/v1: sunset removed'],
  ],
  [
    'an end of the service at a later sunset',
    { '/v1': { upstream: a, deprecation: '2026-06-30', sunset: '2027-06-30' } },
    { '/v1': { upstream: a, deprecation: '2026-06-30', sunset: '2027-06-30', after_sunset: 'gone' } },
    ['/v1: after_sunset: gone'],
  ],
  ['a replaced target', { '/v1': a }, { '/v1': b }, [`/v1: target ${b} added, target ${a} removed`]],
  ['a prefix', { '/v1': a }, { '/v1': { upstream: a, prefix: 'forward' } }, ['/v1: prefix: forward']],
  ['a time-out', { '/v1': a }, { '/v1': { upstream: a, timeouts: { connect: '1s' } } }, ['/v1: settings changed']],
  [
    'an adapter that begins to serve',
    adaptedV1('shadow'),
    adaptedV1('serve'),
    ['/v1: served from /v2 by an adapter, settings changed'],
  ],
  [
    'a backend that serves again',
    adaptedV1('serve'),
    adaptedV1('off'),
    ['/v1: served by its own backend, settings changed'],
  ],
  ['moved rows', { '/v1': a }, { '/v1': { upstream: a, moved: { '/x': '/y' } } }, ['/v1: settings changed']],
])('%s', (_name, before, after, expected) =>
  expect(changesBetween(snapshotFrom({ routes: before }), snapshotFrom({ routes: after }), now)).toEqual(expected),
);

it('settings of the gateway are named without their values', () => {
  const routes = { '/v1': a };
  const after = snapshotFrom({ routes, gateway: { admin_token: 'secret' } });
  expect(changesBetween(snapshotFrom({ routes }), after, now)).toEqual(['gateway: settings changed']);
});

it.each<[string, object, object, string[]]>([
  ['gateway.listen', {}, { gateway: { listen: '127.0.0.1:8081' } }, ['gateway.listen: applied at the next start']],
  ['gateway.admin', {}, { gateway: { admin: '127.0.0.1:9902' } }, ['gateway.admin: applied at the next start']],
  ['gateway.fast_lane', {}, { gateway: { fast_lane: 'off' } }, ['gateway.fast_lane: applied at the next start']],
  ['gateway.http2', {}, { gateway: { http2: 'off' } }, ['gateway.http2: applied at the next start']],
  ['gateway.h2c', {}, { gateway: { h2c: 'on' } }, ['gateway.h2c: applied at the next start']],
  ['gateway.workers', {}, { gateway: { workers: 2 } }, ['gateway.workers: applied at the next start']],
  ['gateway.tls', {}, { gateway: { tls: { cert, key } } }, ['gateway.tls: applied at the next start']],
  [
    'gateway.tls.hsts',
    { gateway: { tls: { cert, key } } },
    { gateway: { tls: { cert, key, hsts: true } } },
    ['gateway: settings changed'],
  ],
  ['usage.store', {}, { usage: { store: 'other.db' } }, ['usage.store: applied at the next start']],
  ['fleet.store', {}, { fleet: { store } }, ['fleet: applied at the next start']],
  ['fleet.name', { fleet: { store } }, { fleet: { store, name: 'b' } }, ['fleet: applied at the next start']],
  ['fleet.store, removed', { fleet: { store } }, {}, ['fleet: applied at the next start']],
  [
    'a higher gateway.limits.head',
    {},
    { gateway: { limits: { head: '64KiB' } } },
    ['gateway: settings changed', 'gateway.limits.head: a higher limit is applied in full at the next start'],
  ],
  ['the status of brownouts', {}, { brownout: { status: 410 } }, ['brownout: settings changed']],
  ['a spared client', { brownout: { spare: ['acme'] } }, {}, ['brownout: settings changed']],
  ['a rule of the contract check', {}, { compat: { rules: { 'docs-only': 'off' } } }, []],
  [
    'a higher gateway.limits.url',
    {},
    { gateway: { limits: { url: '64KiB' } } },
    ['gateway: settings changed', 'gateway.limits.url: a higher limit is applied in full at the next start'],
  ],
  ['a lower gateway.limits.head', {}, { gateway: { limits: { head: '9KiB' } } }, ['gateway: settings changed']],
])('%s', (_name, before, after, expected) => {
  const routes = { '/v1': a };
  expect(changesBetween(snapshotFrom({ routes, ...before }), snapshotFrom({ routes, ...after }), now)).toEqual(
    expected,
  );
});

it('names the API whose brownout settings change', () => {
  const routes = { '/v1': 'http://127.0.0.1:3001' };
  const of = (status: number) => snapshotFrom({ routes, brownout: { status } });
  const before = hostOf(of(410), { '/orders': of(410), '/pay': of(410), '/gone': of(410) });
  const after = hostOf(of(410), { '/orders': of(503), '/pay': of(410), '/new': of(503) });
  const about = changesBetween(before, after, 0).filter((line) => line.includes('settings'));
  expect(about).toEqual(['apis./orders.brownout: settings changed']);
});
