import { describe, expect, it } from 'vitest';
import { compareContracts } from '../../../../gateway/contracts/compat/diff/contracts.ts';
import { type Finding, findingsOf } from '../../../../gateway/contracts/compat/judge/findings.ts';
import {
  type ComparedContracts,
  compareAndJudge,
  type Exemption,
  Exemptions,
  type JudgeSettings,
} from '../../../../gateway/contracts/compat/judge/judge.ts';
import { defaultLevelOf } from '../../../../gateway/contracts/compat/rules/rules.ts';
import { contractOf } from './exemptible.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const defaults: JudgeSettings = { levels: new Map(), exemptions: new Exemptions([], now), callsOf: () => undefined };
const removal = { rule: 'response-field-removed', pointer: undefined, reason: 'Agreed.', until: now + 1 };

async function pairOf(
  between: ComparedContracts['between'],
  more: Partial<ComparedContracts> = {},
): Promise<ComparedContracts> {
  const [old, gone] = [await contractOf(['price', 'glass'], ['seats']), await contractOf(['price'], ['seats'])];
  return { title: 'a title', between, old, new: gone, versions: { old: 'v2', new: 'v3' }, ...more };
}

describe('the comparison of two contracts', () => {
  it('has the positions of the findings', async () => {
    const { findings, ...rest } = compareAndJudge(await pairOf('past'), defaults);
    expect(rest).toEqual({
      title: 'a title',
      between: 'past',
      old: 'standard input',
      new: 'standard input',
      exempted: [],
    });
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({ oldAt: { line: 1 }, calls: undefined });
    const { oldAt } = findings[0] ?? {};
    const text = findings[0]?.old?.place.file.text ?? '';
    expect(text.slice((oldAt?.column ?? 0) - 1)).toMatch(/^"glass"|^\{"type":"string"\}/);
  });

  it('adds up the known calls of all routes, by the older version', async () => {
    const asked: unknown[] = [];
    const callsOf: JudgeSettings['callsOf'] = (version, { path }) => {
      asked.push([version, path]);
      return path === '/drinks' ? 1200 : undefined;
    };
    const one = await pairOf('past', { versions: { old: 'v2', new: 'v2' } });
    expect(compareAndJudge(one, { ...defaults, callsOf }).findings[0]?.calls).toBe(1200);
    expect(asked).toEqual([
      ['v2', '/drinks'],
      ['v2', '/drinks/{id}'],
    ]);
    expect(compareAndJudge(one, defaults).findings[0]?.calls).toBeUndefined();
    expect(compareAndJudge(one, { ...defaults, callsOf: () => 0 }).findings[0]?.calls).toBe(0);
  });

  it('has positions and calls of exempted findings', async () => {
    const exempt = ['GET /drinks', 'GET /drinks/{id}'].map((route) => ({ ...removal, route }));
    const settings = { ...defaults, exemptions: new Exemptions(exempt, now), callsOf: () => 7 };
    const { findings, exempted } = compareAndJudge(await pairOf('past'), settings);
    expect(findings).toEqual([]);
    expect(exempted).toMatchObject([{ finding: { oldAt: { line: 1 }, calls: 14 }, exemption: { reason: 'Agreed.' } }]);
  });

  it('ignores the prefix of each version', async () => {
    const [old, gone] = [await contractOf(['a'], [], '/v2'), await contractOf(['a'], [], '/v3')];
    const { findings } = compareAndJudge(await pairOf('majors', { old, new: gone }), defaults);
    expect(findings.map(({ rule }) => rule)).toEqual(['major-without-breaking-change']);
  });
});

describe('two majors', () => {
  it('need no exemption for breaking changes, and use none', async () => {
    const exemptions = new Exemptions([{ ...removal, route: 'GET /drinks' }], now);
    const { findings, exempted } = compareAndJudge(await pairOf('majors'), { ...defaults, exemptions });
    expect([findings.map(({ routes }) => routes.length), exempted]).toEqual([[2], []]);
    expect(exemptions.stale).toMatchObject([{ why: 'unused' }]);
  });

  it.each([
    ['additions', ['price', 'glass', 'ice'], '/v3 only adds to /v2: stay in /v2'],
    ['nothing', ['price', 'glass'], '/v3 does not differ from /v2: stay in /v2'],
  ])('are reported as unnecessary with %s', async (_name, fields, sentence) => {
    const added = await contractOf(fields, ['seats']);
    const { findings } = compareAndJudge(await pairOf('majors', { new: added }), defaults);
    expect(findings[0]).toMatchObject({ rule: 'major-without-breaking-change', level: 'error', sentence, routes: [] });
    expect(findings[0]?.newAt).toMatchObject({ line: 1 });
  });

  it('are reported as unnecessary with changes that no rule calls breaking', async () => {
    const silent = await contractOf(['price', 'glass'], ['seats']);
    const { root } = silent;
    const one = JSON.parse(root.place.file.text ?? '') as { paths: Record<string, { get: { security?: unknown } }> };
    const bars = one.paths['/bars'];
    if (bars) bars.get.security = [{ key: [] }];
    const { openContract } = await import('../../../../gateway/contract/document/open.ts');
    const secured = await openContract('-', { cwd: '/', stdin: () => JSON.stringify(one), allowRemote: false });
    const { findings } = compareAndJudge(await pairOf('majors', { old: silent, new: secured }), defaults);
    expect(findings.map(({ rule, sentence }) => [rule, sentence])).toEqual([
      ['major-without-breaking-change', '/v3 has no breaking change from /v2: stay in /v2'],
      ['security-changed', expect.any(String)],
    ]);
  });

  it.each([
    ['is switched off', 'major-without-breaking-change', 'off', []],
    ['has another level', 'major-without-breaking-change', 'warn', ['warn', 'info']],
    ['does not apply, since an addition counts as breaking', 'response-field-added', 'error', ['error']],
  ] as const)('are judged by a rule that %s', async (_name, rule, level, expected) => {
    const added = await contractOf(['price', 'glass', 'ice'], ['seats']);
    const { findings } = compareAndJudge(await pairOf('majors', { new: added }), {
      ...defaults,
      levels: new Map([[rule, level]]),
    });
    expect(findings.map((one) => one.level)).toEqual(level === 'off' ? ['info'] : expected);
  });

  it('keep their fingerprints in later comparisons, one for each major', async () => {
    const same = await contractOf(['price', 'glass'], ['seats']);
    const print = async (name: string): Promise<string | undefined> => {
      const one = await pairOf('majors', { new: same, versions: { old: 'v2', new: name } });
      return compareAndJudge(one, defaults).findings[0]?.fingerprint;
    };
    expect(await print('v3')).toBe(await print('v3'));
    expect(await print('v3')).not.toBe(await print('v4'));
    expect(await print('v3')).toMatch(/^[\da-f]{16}$/);
  });
});

const day = 86_400_000;

function exemption(more: Partial<Exemption> = {}): Exemption {
  const rule = 'response-field-removed';
  return { rule, route: 'GET /drinks', pointer: undefined, reason: 'No client reads it.', until: now + day, ...more };
}

/** A field was removed from a schema that two routes share, and one from the schema of `/bars`. */
async function findings(levels?: ReadonlyMap<string, 'info' | 'warn'>): Promise<Finding[]> {
  const [old, gone] = [await contractOf(['price', 'glass'], ['seats']), await contractOf(['price'], [])];
  return findingsOf(compareContracts(old, gone, defaultLevelOf), levels);
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
