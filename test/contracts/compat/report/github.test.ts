import { describe, expect, it } from 'vitest';
import type { CompatReport } from '../../../../gateway/contracts/compat/judge/judge.ts';
import { asGithub } from '../../../../gateway/contracts/compat/report/github.ts';
import { after, before, contractWithField, hostileEntries, now, pairReportOf, reportOn } from './reports.ts';

const root = '/home/me/tree';
const lines = (report: CompatReport): string[] => asGithub(report, { root }).split('\n').slice(0, -1);

/** The annotation that GitHub reads from a line; undefined for a line that it only prints. */
function read(line: string): { name: string; properties: Record<string, string>; message: string } | undefined {
  const [, name = '', list = '', data = ''] = /^\s*::(\w+) (.*?)::(.*)$/.exec(line) ?? [];
  if (name === '') return undefined;
  const unescaped = (text: string): string =>
    text.replace(/%(25|0D|0A|3A|2C)/g, (_all, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  const pairs = list.split(',').map((pair) => pair.split('=') as [string, string]);
  return {
    name,
    message: unescaped(data),
    properties: Object.fromEntries(pairs.map(([key, value]) => [key, unescaped(value)])),
  };
}

describe('the annotations of a pull request', () => {
  it('are at the line of the new contract', () => {
    expect(lines(reportOn(before, after, { calls: 0 }))).toEqual([
      '::error file=api/drinks.yaml,line=28,col=11,title=response-type-changed::GET /drinks: response 200 field `price` was a string and is now a number%0Anot called in 30 days%0Aand 1 more route: GET /drinks/{id}%0AWas at origin/main:api/drinks.yaml:28:11',
      '::warning file=api/drinks.yaml,line=7,col=61,title=default-changed::GET /drinks: query parameter `page` has the default `2` instead of `1`%0Anot called in 30 days%0AWas at origin/main:api/drinks.yaml:7:61',
      '1 error, 1 warning, 1 compatible change.',
    ]);
  });

  it.each([
    ['/home/me/tree/api/a.yaml', 'api/a.yaml'],
    ['/home/me/trees/a.yaml', '/home/me/trees/a.yaml'],
    ['./api/a.yaml', 'api/a.yaml'],
    ['HEAD~1:api/a.yaml', 'api/a.yaml'],
    ['HEAD@{2026-11-23 12:00}:api/a.yaml', 'api/a.yaml'],
    ['api\\a.yaml', 'api/a.yaml'],
    ['a, b: c%.yaml', 'a, b: c%.yaml'],
  ])('name the file %s as %s', (name, file) => {
    const [first = ''] = lines(reportOn(before, after, { names: ['old.yaml', name] }));
    expect(read(first)?.properties).toEqual({ file, line: '28', col: '11', title: 'response-type-changed' });
  });

  it.each([
    ['a.yaml', 'services/v1/a.yaml'],
    ['../v2/a.yaml', 'services/v2/a.yaml'],
    ['HEAD:./a.yaml', 'services/v1/a.yaml'],
    ['HEAD:services/v3/a.yaml', 'services/v3/a.yaml'],
    ['../../../a.yaml', '/home/me/a.yaml'],
  ])('resolve the relative file %s from its folder: %s', (name, file) => {
    const report = reportOn(before, after, { names: ['old.yaml', name] });
    const [first = ''] = asGithub(report, { root, folder: `${root}/services/v1` }).split('\n');
    expect(read(first)?.properties['file']).toBe(file);
  });

  it('have no line of the new contract for a removal', () => {
    const [line = ''] = lines(reportOn(before, contractWithField('price', 'string')));
    expect(read(line)).toMatchObject({ name: 'error', properties: { file: 'api/drinks.yaml' } });
    expect(read(line)?.message).toContain('Was at origin/main:api/drinks.yaml:');
  });

  it('are at most ten, the worst first; the others are counted', () => {
    const paths = Array.from({ length: 15 }, (_one, index) => contractWithField('a', 'string', `/r${index}`));
    const pairs = [pairReportOf(before, after, {}), ...paths.map((one) => pairReportOf(one, paths[0] ?? '', {}))];
    const told = lines({ pairs, staleExemptions: [], rulesOff: [], notCompared: [] });
    expect(told).toHaveLength(11);
    expect(told.slice(0, 10).map((line) => read(line)?.name)).toEqual(Array(10).fill('error'));
    expect(told.at(-1)).toMatch(/^15 errors, 1 warning, .*\. 6 more annotations omitted\.$/);
  });

  it('report stale exemptions and contracts that were not compared', () => {
    const exemption = { rule: 'route-removed', route: 'GET /', pointer: undefined, reason: 'none', until: now };
    const report = reportOn(before, before, { exemptions: [exemption] });
    const told = lines({ ...report, notCompared: ['v2 has no contract'] });
    expect(told[0]).toMatch(/^::error title=stale exemption::The exemption from route-removed for GET \/ expired/);
    expect(told[1]).toBe('::warning title=not compared::v2 has no contract');
  });

  it('escape percent signs', () => {
    const [old, changed] = [contractWithField('%0A', 'string'), contractWithField('%0A', 'number')];
    const [line = ''] = lines(reportOn(old, changed, { names: ['old%2C.yaml', '50%25.yaml'] }));
    expect(read(line)?.properties).toMatchObject({ file: '50%25.yaml' });
    expect(read(line)?.message).toContain('response 200 field `%0A` was');
  });

  it.each(hostileEntries)('cannot be created by a hostile name: %s', (_name, name) => {
    const [old, changed] = [contractWithField(name, 'string'), contractWithField(name, 'number')];
    const told = lines(reportOn(old, changed, { names: [name, name] }));
    expect(told).toHaveLength(2);
    expect(read(told[0] ?? '')).toMatchObject({ name: 'error', properties: { title: 'response-type-changed' } });
    expect(told[1]).toBe('1 error.');
    expect(told.join('')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|##\[/u);
    expect(told.join('').length).toBeLessThan(10_000);
  });
});
