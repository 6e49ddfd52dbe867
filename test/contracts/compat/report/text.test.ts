import { describe, expect, it } from 'vitest';
import { asText, type TextOptions } from '../../../../gateway/contracts/compat/report/text.ts';
import {
  after,
  before,
  contractWithField,
  hostileEntries,
  now,
  pairReportOf,
  reportOn,
  type Setting,
} from './reports.ts';

const paint: TextOptions['paint'] = (_style, text) => text;
const inColour: TextOptions['paint'] = (style, text) => `<${style}>${text}</${style}>`;
const print = (old: string, changed: string, setting?: Setting, showAll = false): string =>
  asText(reportOn(old, changed, setting), { paint, showAll });

describe('the report for a terminal', () => {
  it('has the change, the place, the calls and the line', () => {
    expect(print(before, after, { calls: 6172 })).toBe(`GET /drinks
  error  response 200 field \`price\` was a string and is now a number  response-type-changed
    called 12,344 times in 30 days
    and 1 more route: GET /drinks/{id}
    old  origin/main:api/drinks.yaml:28:11
    new  api/drinks.yaml:28:11
    28 |           type: number
       |           ^
  warning  query parameter \`page\` has the default \`2\` instead of \`1\`  default-changed
    called 6,172 times in 30 days
    old  origin/main:api/drinks.yaml:7:61
    new  api/drinks.yaml:7:61
    7 |         - { name: page, in: query, schema: { type: integer, default: 2 } }
      |                                                             ^

1 error, 1 warning, 1 compatible change.
`);
  });

  it('lists compatible changes, all routes and pointers with showAll', () => {
    const text = print(before, after, {}, true);
    expect(text).toContain('  info  response 200 field `maker`');
    expect(text).toContain('new  api/drinks.yaml:28:11  /components/schemas/Drink/properties/price/type');
  });

  it('names the first of many routes, and all with showAll', () => {
    const paths = Array.from({ length: 50 }, (_one, index) => `/r${index}`);
    const many = (text: string): string =>
      text.replace('paths:\n', `paths:\n${paths.map((path) => `  ${path}: *drinks\n`).join('')}`);
    const anchored = (text: string): string =>
      many(text.replace('  /drinks:\n', '')).replace('  /r0: *drinks', '  /r0: &drinks');
    const moved = (text: string): string => {
      const [, operation = ''] = / {2}\/drinks:\n(.*?) {2}\/drinks\/\{id\}:/s.exec(text) ?? [];
      return anchored(text.replace(operation, '')).replace('/r0: &drinks\n', `/r0: &drinks\n${operation}`);
    };
    expect(print(moved(before), moved(after))).toContain('and 50 more routes: GET /r1, GET /r2, GET /r3, …\n');
    expect(print(moved(before), moved(after), {}, true)).toContain('GET /r48, GET /r49, GET /drinks/{id}\n');
  });

  it('shows a removed line', () => {
    const gone = before.replace('        name: { type: string }\n', '');
    expect(print(before, gone)).toContain(`
    old  origin/main:api/drinks.yaml:29:9
    29 |         name: { type: string }
       |         ^`);
  });

  it('colours the level and the verdict', () => {
    const text = asText(reportOn(before, after), { paint: inColour, showAll: true });
    for (const word of ['<red>error</red>', '<yellow>warning</yellow>', '<green>info</green>', '<red>1 error, ']) {
      expect(text).toContain(word);
    }
  });

  it('has a title for each of several pairs of contracts', () => {
    const pairs = [pairReportOf(before, after, { title: 'v1' }), pairReportOf(before, before, { title: 'v2' })];
    const text = asText({ pairs, staleExemptions: [], rulesOff: [], notCompared: [] }, { paint, showAll: false });
    expect(text).toMatch(/^v1 {2}origin\/main:api\/drinks.yaml → api\/drinks.yaml\n\nGET \/drinks\n/);
    expect(text).toContain('\n\nv2  origin/main:api/drinks.yaml → api/drinks.yaml\n\n1 error');
  });

  it('lists exempted findings with their reasons, and stale exemptions', () => {
    const exemption = { route: 'GET /drinks', pointer: undefined, reason: 'agreed with all', until: now + 86_400_000 };
    const text = print(before, after, {
      exemptions: [
        { ...exemption, rule: 'default-changed' },
        { ...exemption, rule: 'route-removed' },
        { ...exemption, rule: 'status-removed', until: now },
      ],
    });
    expect(text).toContain(`Exempted
  GET /drinks: query parameter \`page\` has the default \`2\` instead of \`1\`  default-changed
    until 2026-06-02: agreed with all`);
    expect(text).toContain('error  The exemption from route-removed for GET /drinks matches no finding.  Remove it');
    expect(text).toContain('error  The exemption from status-removed for GET /drinks expired on 2026-06-01.  Review');
    expect(text).toContain('1 error, 1 compatible change, 1 finding exempted, 2 stale exemptions.\n');
  });

  it('lists the breaking changes of a new major, and refuses a major without one', () => {
    const text = print(before, after, { between: 'majors' });
    expect(text).toContain('breaks  response 200 field `price` was a string and is now a number');
    expect(text).toContain('The new major is justified: 3 changes between majors.');
    expect(text).not.toContain('error');
    expect(print(before, before, { between: 'majors' })).toContain(
      'error  the new major does not differ from the old major',
    );
  });

  it.each(hostileEntries)('prints a hostile name safely: %s', (_name, name) => {
    for (const [old, changed] of [
      [contractWithField(name, 'string'), contractWithField(name, 'number')],
      [contractWithField('a', 'string', `/${name}`), contractWithField('b', 'string', `/${name}`)],
    ] as const) {
      const text = print(old, changed, { title: name, names: [name, name] }, true);
      expect(text).toMatch(/[12] errors?/);
      expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
      expect(text).not.toMatch(/^\s*::|##\[/m);
      expect(text.length).toBeLessThan(20_000);
    }
  });

  it('cuts a long line on both sides of the change', () => {
    const [old, changed] = [contractWithField('price', 'string'), contractWithField('price', 'number')];
    const pad = (text: string): string => text.replace('"paths"', `"x-pad":"${'y'.repeat(1_000_000)}","paths"`);
    const lines = print(pad(old), pad(changed)).split('\n');
    const at = lines.findIndex((line) => line.startsWith('    1 | '));
    expect(lines[at]?.slice(lines[at + 1]?.indexOf('^'))).toMatch(/^"type":"number"/);
    expect(lines[at]?.length).toBeLessThan(140);
  });
});
