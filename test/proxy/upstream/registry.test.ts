import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { Registry } from '../../../gateway/proxy/upstream/registry.ts';
import type { Target } from '../../../gateway/proxy/upstream/target.ts';
import { TargetLimits } from '../../../gateway/proxy/upstream/targetLimits.ts';
import { makePair } from '../../support/certificates.ts';

const limitOf = (perTarget: number): TargetLimits => new TargetLimits(perTarget);

const [a, b] = ['http://127.0.0.1:3001', 'http://127.0.0.1:3002'];
const secure = 'https://127.0.0.1:3001';

/** The targets of each version after a reload with these routes. */
function load(registry: Registry, routes: Readonly<Record<string, unknown>>): (name: string) => readonly Target[] {
  const pools = registry.poolsFor(snapshotFrom({ routes }));
  return (name) => pools.get(name)?.targets ?? [];
}

describe('a registry', () => {
  it('has one pool per version, with targets in the order of the file', () => {
    const of = load(new Registry(), { '/v1': { upstream: [b, a] }, '/v2': a, '/v3': { retired: true } });
    expect(of('v1').map(({ url }) => url)).toEqual([b, a]);
    expect(of('v2').map(({ url }) => url)).toEqual([a]);
    expect(of('v3')).toEqual([]);
  });

  it('has one target for two versions with the same URL', () => {
    const of = load(new Registry(), { '/v1': a, '/v2': a });
    expect(of('v1')).toEqual(of('v2'));
    expect(of('v1')[0]).toBe(of('v2')[0]);
  });

  it.each([
    ['when nothing changes', { '/v1': a }],
    ['when a version is added', { '/v1': a, '/v2': b }],
    ['when another target is added', { '/v1': { upstream: [b, a] } }],
    ['when it moves to another version', { '/v1': b, '/v2': a }],
    ['when keep_alive changes', { '/v1': { upstream: a, timeouts: { keep_alive: '1s' } } }],
    ['when tls changes for an http target', { '/v1': { upstream: a, tls: { verify: false } } }],
    ['when the dates change', { '/v1': { upstream: a, deprecation: '2026-06-30' } }],
    ['when its URL is spelled differently', { '/v1': `${a}/` }],
  ])('keeps a target over a reload %s', (_name, routes) => {
    const registry = new Registry();
    const [before] = load(registry, { '/v1': a })('v1');
    const of = load(registry, routes);
    expect([...of('v1'), ...of('v2')]).toContain(before);
  });

  it.each([
    ['another port', a, { upstream: b }],
    ['another scheme', a, { upstream: secure }],
    ['other TLS verification', secure, { upstream: secure, tls: { verify: false } }],
    ['another server name', secure, { upstream: secure, tls: { servername: 'api.test' } }],
  ])('has a new target for %s', (_name, upstream, route) => {
    const registry = new Registry();
    const [before] = load(registry, { '/v1': upstream })('v1');
    const [after] = load(registry, { '/v1': route })('v1');
    expect(after).toBeDefined();
    expect(after).not.toBe(before);
  });

  it('has a new target if the CA file has changed, and only then', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'registry-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const ca = join(folder, 'ca.pem');
    const routes = { '/v1': { upstream: secure, tls: { ca } } };
    const registry = new Registry();
    await writeFile(ca, makePair(folder, 'one').cert);
    const [before] = load(registry, routes)('v1');
    expect(before).toBeDefined();
    expect(load(registry, routes)('v1')[0]).toBe(before);
    await writeFile(ca, makePair(folder, 'two').cert);
    expect(load(registry, routes)('v1')[0]).not.toBe(before);
  });

  it('has two targets for two versions with the same URL but different TLS settings', () => {
    const of = load(new Registry(), { '/v1': secure, '/v2': { upstream: secure, tls: { verify: false } } });
    expect(of('v1')[0]).toBeDefined();
    expect(of('v1')[0]).not.toBe(of('v2')[0]);
  });

  it('removes a target that no version uses', () => {
    const registry = new Registry();
    const [before] = load(registry, { '/v1': a })('v1');
    load(registry, { '/v1': b });
    expect(load(registry, { '/v1': a })('v1')[0]).not.toBe(before);
  });
});

describe('how long a target keeps idle connections', () => {
  const kept = (keep_alive: string): object => ({ upstream: a, timeouts: { keep_alive } });

  it.each([
    ['as its version configures it', { '/v1': kept('7s') }, 7_000],
    ['the shorter of two times, the first', { '/v1': kept('2s'), '/v2': kept('9s') }, 2_000],
    ['the shorter of two times, the second', { '/v1': kept('9s'), '/v2': kept('2s') }, 2_000],
    ['the shortest of three times', { '/v1': kept('9s'), '/v2': kept('2s'), '/v3': kept('5s') }, 2_000],
    ['the only limit of two versions', { '/v1': kept('off'), '/v2': kept('9s') }, 9_000],
    ['the only limit of two versions, the first', { '/v1': kept('9s'), '/v2': kept('off') }, 9_000],
    ['unlimited if both are off', { '/v1': kept('off'), '/v2': kept('off') }, 0],
  ])('is %s', (_name, routes, expected) => {
    const of = load(new Registry(), routes);
    for (const version of Object.keys(routes)) {
      expect(of(version.slice(1)).map(({ connections }) => connections.keepAlive)).toEqual([expected]);
    }
    expect(new Set(Object.keys(routes).map((version) => of(version.slice(1))[0])).size).toBe(1);
  });

  it.each([
    ['longer', { '/v1': kept('9s') }, 9_000],
    ['shorter', { '/v1': kept('1s') }, 1_000],
    ['that of the remaining version', { '/v1': kept('5s') }, 5_000],
    ['that of the added version, if shorter', { '/v1': kept('5s'), '/v2': kept('4s') }, 4_000],
  ])('is after a reload %s', (_name, routes, expected) => {
    const registry = new Registry();
    const [before] = load(registry, { '/v1': kept('5s'), '/v2': kept('2s') })('v1');
    expect(before?.connections.keepAlive).toBe(2_000);
    expect(load(registry, routes)('v1')[0]).toBe(before);
    expect(before?.connections.keepAlive).toBe(expected);
  });
});

describe('over a reload', () => {
  const both = { '/v1': { upstream: [a, b], health: { eject: '1h', passive_failures: 1 } } };

  it('a target stays ejected in every pool', () => {
    const registry = new Registry();
    const before = registry.poolsFor(snapshotFrom({ routes: both })).get('v1');
    const [first] = before?.targets ?? [];
    first?.health.failed(false);
    const after = registry.poolsFor(snapshotFrom({ routes: { ...both, '/v2': { upstream: [b, a] } } }));
    for (const name of ['v1', 'v2']) {
      const pool = after.get(name);
      expect([pool?.pick(limitOf(9))?.url, pool?.pick(limitOf(9))?.url, pool?.pick(limitOf(9))?.url]).toEqual([
        b,
        b,
        b,
      ]);
    }
    first?.health.succeeded();
    expect(new Set([after.get('v2')?.pick(limitOf(9))?.url, after.get('v2')?.pick(limitOf(9))?.url])).toEqual(
      new Set([a, b]),
    );
  });

  it('a target that becomes the only one is no longer ejected', () => {
    const registry = new Registry();
    const [first] = load(registry, both)('v1');
    first?.health.failed(false);
    expect(first?.report().health).toBe('ejected');
    load(registry, { '/v1': a });
    expect(first?.report()).toMatchObject({ health: 'failing', ejectedUntil: undefined });
  });

  it('a version keeps the state of its retry budget', () => {
    const registry = new Registry();
    const retries = (budget_min: string) => ({ '/v1': { upstream: a, retries: { budget: '0%', budget_min } } });
    const before = registry.poolsFor(snapshotFrom({ routes: retries('1/s') })).get('v1')?.budget;
    for (let time = 0; time < 10; time += 1) expect(before?.takeRetry(0)).toBe(true);
    expect(before?.takeRetry(0)).toBe(false);
    const after = registry.poolsFor(snapshotFrom({ routes: retries('2/s') })).get('v1')?.budget;
    expect(after?.granted).toBe(10);
    for (let time = 0; time < 10; time += 1) expect(after?.takeRetry(0)).toBe(true);
    expect(after?.takeRetry(0)).toBe(false);
  });
});

it('resolves host names of its targets as long as a snapshot uses them', async () => {
  const asked: string[] = [];
  const resolve = async (name: string) => {
    asked.push(name);
    return [{ address: '127.0.0.2', family: 4 }];
  };
  const registry = new Registry({ resolve });
  onTestFinished(() => registry.close());
  load(registry, { '/v1': 'http://replica.test:3001', '/v2': a });
  expect(asked).toEqual(['replica.test']);
  load(registry, { '/v1': 'http://replica.test:3001', '/v2': 'https://other.test' });
  expect(asked).toEqual(['replica.test', 'other.test']);
});
