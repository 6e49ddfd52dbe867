import { describe, expect, it } from 'vitest';
import { snapshotFrom } from '../../gateway/config/load.ts';
import { Registry } from '../../gateway/upstream/registry.ts';
import type { Target } from '../../gateway/upstream/target.ts';

const [a, b] = ['http://127.0.0.1:3001', 'http://127.0.0.1:3002'];

/** The targets of each version after a reload to these routes. */
function load(registry: Registry, routes: Readonly<Record<string, unknown>>): (name: string) => readonly Target[] {
  const pools = registry.poolsFor(snapshotFrom({ routes }));
  return (name) => pools.get(name)?.targets ?? [];
}

describe('a registry', () => {
  it('has a pool a version, in the order of the file', () => {
    const of = load(new Registry(), { '/v1': { upstream: [b, a] }, '/v2': a, '/v3': { retired: true } });
    expect(of('v1').map(({ url }) => url)).toEqual([b, a]);
    expect(of('v2').map(({ url }) => url)).toEqual([a]);
    expect(of('v3')).toEqual([]);
  });

  it('has one target for two versions of one URL', () => {
    const of = load(new Registry(), { '/v1': a, '/v2': a });
    expect(of('v1')).toEqual(of('v2'));
    expect(of('v1')[0]).toBe(of('v2')[0]);
  });

  it.each([
    ['when nothing changes', { '/v1': a }],
    ['when another version comes', { '/v1': a, '/v2': b }],
    ['when it gets company', { '/v1': { upstream: [b, a] } }],
    ['when it moves to another version', { '/v1': b, '/v2': a }],
    ['when the dates change', { '/v1': { upstream: a, deprecation: '2026-06-30' } }],
    ['when it is spelled in another way', { '/v1': `${a}/` }],
  ])('keeps a target over a reload %s', (_name, routes) => {
    const registry = new Registry();
    const [before] = load(registry, { '/v1': a })('v1');
    const of = load(registry, routes);
    expect([...of('v1'), ...of('v2')]).toContain(before);
  });

  it.each([
    ['another port', { upstream: b }],
    ['another time to idle', { upstream: a, timeouts: { keep_alive: '1s' } }],
    ['another trust', { upstream: a, tls: { verify: false } }],
  ])('has a new target for %s', (_name, route) => {
    const registry = new Registry();
    const [before] = load(registry, { '/v1': a })('v1');
    const [after] = load(registry, { '/v1': route })('v1');
    expect(after).not.toBe(before);
  });

  it('forgets a target that no version names', () => {
    const registry = new Registry();
    const [before] = load(registry, { '/v1': a })('v1');
    load(registry, { '/v1': b });
    expect(load(registry, { '/v1': a })('v1')[0]).not.toBe(before);
  });
});
