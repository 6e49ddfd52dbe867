import { describe, expect, it } from 'vitest';
import { compareContracts } from '../../../gateway/compat/diff/contracts.ts';
import { type Finding, findingsOf } from '../../../gateway/compat/judge/findings.ts';
import { type Exemption, Exemptions } from '../../../gateway/compat/judge/judge.ts';
import { levelOf } from '../../../gateway/compat/rules/rules.ts';
import { contractOf } from './exemptible.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const day = 86_400_000;

function exemption(more: Partial<Exemption> = {}): Exemption {
  const rule = 'response-field-removed';
  return { rule, route: 'GET /drinks', pointer: undefined, reason: 'Nobody reads it.', until: now + day, ...more };
}

/** A field was removed from a schema that two routes share, and one from the schema of `/bars`. */
async function findings(levels?: ReadonlyMap<string, 'info' | 'warn'>): Promise<Finding[]> {
  const [old, gone] = [await contractOf(['price', 'glass'], ['seats']), await contractOf(['price'], [])];
  return findingsOf(compareContracts(old, gone, levelOf), levels);
}

function left(found: readonly Finding[]): string[] {
  return found.map(({ sentence, routes }) => `${sentence} (${routes.map(({ path }) => path).join(' ')})`);
}

const list = 'GET /drinks: response 200 field `[].glass` was removed (/drinks /drinks/{id})';
const bars = 'GET /bars: response 200 field `seats` was removed (/bars)';
const single = 'GET /drinks/{id}: response 200 field `glass` was removed (/drinks/{id})';

describe('an exemption', () => {
  it('is needed for every finding: without one, all are kept', async () => {
    expect(left(new Exemptions([], now).apply(await findings()).findings)).toEqual([list, bars]);
  });

  it.each([
    ['another rule', { rule: 'route-removed' }],
    ['another route', { route: 'GET /drinks/{id}/glass' }],
    ['another method', { route: 'POST /drinks' }],
    ['a part of a route', { route: '/drinks' }],
    ['another pointer', { pointer: '/components/schemas/Drink/properties/price' }],
    ['a part of a name in a pointer', { pointer: '/components/schemas/Drink/properties/gla' }],
    ['a date in the past', { until: now }],
  ])('does not apply with %s', async (_name, more) => {
    const exemptions = new Exemptions([exemption(more)], now);
    const { findings: all, exempted } = exemptions.apply(await findings());
    expect([left(all), exempted]).toEqual([[list, bars], []]);
    expect(exemptions.stale).toEqual([{ exemption: exemption(more), why: 'until' in more ? 'expired' : 'unused' }]);
  });

  it.each([
    ['the whole route', {}],
    ['the place in the old contract', { pointer: '/components/schemas/Drink/properties/glass' }],
    ['a place above it', { pointer: '/components/schemas/Drink' }],
    ['one millisecond left', { until: now + 1 }],
  ])('exempts one of several routes, with %s; the sentence names the others', async (_name, more) => {
    const exemptions = new Exemptions([exemption(more)], now);
    const { findings: all, exempted } = exemptions.apply(await findings());
    expect([left(all), exempted]).toEqual([[single, bars], []]);
    expect(exemptions.stale).toEqual([]);
  });

  it('exempts a finding with the last of its routes', async () => {
    const both = [exemption(), exemption({ route: 'GET /drinks/{id}' })];
    const exemptions = new Exemptions(both, now);
    const { findings: all, exempted } = exemptions.apply(await findings());
    expect(left(all)).toEqual([bars]);
    expect(exempted.map(({ exemption: one, finding }) => [one, ...left([finding])])).toEqual([[both[0], list]]);
    expect(exemptions.stale).toEqual([]);
  });

  it('is unused for a compatible change', async () => {
    const exemptions = new Exemptions([exemption()], now);
    const all = await findings(new Map([['response-field-removed', 'info']]));
    expect(exemptions.apply(all).findings).toEqual(all);
    expect(exemptions.stale).toEqual([{ exemption: exemption(), why: 'unused' }]);
  });

  it('exempts warnings', async () => {
    const exemptions = new Exemptions([exemption({ route: 'GET /bars' })], now);
    const all = await findings(new Map([['response-field-removed', 'warn']]));
    expect(left(exemptions.apply(all).findings)).toEqual([list]);
  });

  it('is reported once if it expired and was unused', () => {
    const one = exemption({ until: now - day });
    const exemptions = new Exemptions([one], now);
    expect([exemptions.expired, exemptions.stale]).toEqual([
      [{ exemption: one, why: 'expired' }],
      [{ exemption: one, why: 'expired' }],
    ]);
  });

  it('counts as used if one of several comparisons uses it', async () => {
    const exemptions = new Exemptions([exemption()], now);
    exemptions.apply(await findings());
    exemptions.apply([]);
    expect([exemptions.stale, exemptions.expired]).toEqual([[], []]);
  });

  it('names changes outside all routes: the document', async () => {
    const found = (await findings()).map((finding) => ({ ...finding, routes: [] }));
    const named = (route: string, whole?: string): number =>
      new Exemptions([exemption({ route })], now).apply(found, whole).exempted.length;
    expect([named('the document'), named('GET /drinks'), named('')]).toEqual([2, 0, 0]);
    expect([named('/v3', '/v3'), named('the document', '/v3')]).toEqual([2, 0]);
  });
});
