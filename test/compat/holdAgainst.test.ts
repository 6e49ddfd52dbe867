import { describe, expect, it } from 'vitest';
import { Exemptions } from '../../gateway/compat/exemptions.ts';
import { type Held, holdAgainst, type Judgement } from '../../gateway/compat/holdAgainst.ts';
import { contractOf } from './exemptible.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const nothing: Judgement = { levels: new Map(), exemptions: new Exemptions([], now), callsOf: () => undefined };
const removal = { rule: 'response-field-removed', pointer: undefined, reason: 'Agreed.', until: now + 1 };

async function held(between: Held['between'], more: Partial<Held> = {}): Promise<Held> {
  const [old, gone] = [await contractOf(['price', 'glass'], ['seats']), await contractOf(['price'], ['seats'])];
  return { title: 'a title', between, old, new: gone, versions: { old: 'v2', new: 'v3' }, ...more };
}

describe('two contracts, held against each other', () => {
  it('says where what was found stands', async () => {
    const { findings, ...rest } = holdAgainst(await held('past'), nothing);
    expect(rest).toEqual({
      ...{ title: 'a title', between: 'past', old: 'standard input', new: 'standard input', exempted: [] },
    });
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({ oldAt: { line: 1 }, calls: undefined });
    const { oldAt } = findings[0] ?? {};
    const text = findings[0]?.old?.place.file.text ?? '';
    expect(text.slice((oldAt?.column ?? 0) - 1)).toMatch(/^"glass"|^\{"type":"string"\}/);
  });

  it('adds up the calls of all routes, as far as they are known, by the older version', async () => {
    const asked: unknown[] = [];
    const callsOf: Judgement['callsOf'] = (version, { path }) => {
      asked.push([version, path]);
      return path === '/drinks' ? 1200 : undefined;
    };
    const one = await held('past', { versions: { old: 'v2', new: 'v2' } });
    expect(holdAgainst(one, { ...nothing, callsOf }).findings[0]?.calls).toBe(1200);
    expect(asked).toEqual([
      ['v2', '/drinks'],
      ['v2', '/drinks/{id}'],
    ]);
    expect(holdAgainst(one, nothing).findings[0]?.calls).toBeUndefined();
    expect(holdAgainst(one, { ...nothing, callsOf: () => 0 }).findings[0]?.calls).toBe(0);
  });

  it('tells the places and calls of what is let through, too', async () => {
    const exempt = ['GET /drinks', 'GET /drinks/{id}'].map((route) => ({ ...removal, route }));
    const judgement = { ...nothing, exemptions: new Exemptions(exempt, now), callsOf: () => 7 };
    const { findings, exempted } = holdAgainst(await held('past'), judgement);
    expect(findings).toEqual([]);
    expect(exempted).toMatchObject([{ finding: { oldAt: { line: 1 }, calls: 14 }, exemption: { reason: 'Agreed.' } }]);
  });

  it('leaves the prefix of each version out', async () => {
    const [old, gone] = [await contractOf(['a'], [], '/v2'), await contractOf(['a'], [], '/v3')];
    const { findings } = holdAgainst(await held('majors', { old, new: gone }), nothing);
    expect(findings.map(({ rule }) => rule)).toEqual(['major-without-breaking-change']);
  });
});

describe('majors', () => {
  it('need no exemption for what they break, and make none useful', async () => {
    const exemptions = new Exemptions([{ ...removal, route: 'GET /drinks' }], now);
    const { findings, exempted } = holdAgainst(await held('majors'), { ...nothing, exemptions });
    expect([findings.map(({ routes }) => routes.length), exempted]).toEqual([[2], []]);
    expect(exemptions.stale).toMatchObject([{ why: 'unused' }]);
  });

  it.each([
    ['additions', ['price', 'glass', 'ice'], '/v3 holds only additions to /v2: stay in /v2'],
    ['nothing', ['price', 'glass'], '/v3 is the same as /v2: stay in /v2'],
  ])('are needless with %s', async (_name, fields, sentence) => {
    const added = await contractOf(fields, ['seats']);
    const { findings } = holdAgainst(await held('majors', { new: added }), nothing);
    expect(findings[0]).toMatchObject({ rule: 'major-without-breaking-change', level: 'error', sentence, routes: [] });
    expect(findings[0]?.newAt).toMatchObject({ line: 1 });
  });

  it('are needless with what the rules are silent about, which is no mere addition', async () => {
    const silent = await contractOf(['price', 'glass'], ['seats']);
    const { root } = silent;
    const one = JSON.parse(root.place.file.text ?? '') as { paths: Record<string, { get: { security?: unknown } }> };
    const bars = one.paths['/bars'];
    if (bars) bars.get.security = [{ key: [] }];
    const { openContract } = await import('../../gateway/compat/document/open.ts');
    const secured = await openContract('-', { cwd: '/', stdin: () => JSON.stringify(one), allowRemote: false });
    const { findings } = holdAgainst(await held('majors', { old: silent, new: secured }), nothing);
    expect(findings.map(({ rule, sentence }) => [rule, sentence])).toEqual([
      ['major-without-breaking-change', '/v3 breaks nothing of /v2: stay in /v2'],
      ['security-changed', expect.any(String)],
    ]);
  });

  it.each([
    ['is switched off', 'major-without-breaking-change', 'off', []],
    ['has another level', 'major-without-breaking-change', 'warn', ['warn', 'info']],
    ['is not asked for, since an addition counts as breaking', 'response-field-added', 'error', ['error']],
  ] as const)('are judged by a rule that %s', async (_name, rule, level, expected) => {
    const added = await contractOf(['price', 'glass', 'ice'], ['seats']);
    const { findings } = holdAgainst(await held('majors', { new: added }), {
      ...nothing,
      levels: new Map([[rule, level]]),
    });
    expect(findings.map((one) => one.level)).toEqual(level === 'off' ? ['info'] : expected);
  });

  it('keep their fingerprint from one comparison to the next, and have each their own', async () => {
    const same = await contractOf(['price', 'glass'], ['seats']);
    const print = async (name: string): Promise<string | undefined> => {
      const one = await held('majors', { new: same, versions: { old: 'v2', new: name } });
      return holdAgainst(one, nothing).findings[0]?.fingerprint;
    };
    expect(await print('v3')).toBe(await print('v3'));
    expect(await print('v3')).not.toBe(await print('v4'));
    expect(await print('v3')).toMatch(/^[\da-f]{16}$/);
  });
});
