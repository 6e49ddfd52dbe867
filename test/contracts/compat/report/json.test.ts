import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { cutJson, type JsonReport, reportAsJson } from '../../../../gateway/contracts/compat/report/json.ts';
import { printedJson } from '../../../../gateway/process/cli/output/terminal.ts';
import { after, before, contractWithField, hostileEntries, now, reportOn } from './reports.ts';

const schema = JSON.parse(readFileSync('docs/compat-report.schema.json', 'utf8')) as object;
const ajv = new Ajv2020({ allErrors: true, strict: true });
addFormats.default(ajv);
const isValid = ajv.compile(schema);

function checked(report: JsonReport): JsonReport {
  const read: unknown = JSON.parse(printedJson(report));
  isValid(read);
  expect(isValid.errors).toBeNull();
  return read as JsonReport;
}

const exemption = { route: 'GET /drinks', pointer: undefined, reason: 'agreed', until: now + 86_400_000 };

describe('the report for programs', () => {
  it('is valid by its schema', () => {
    const { comparings, stale, summary, off, version } = checked(
      reportAsJson(
        reportOn(before, after, {
          exemptions: [
            { ...exemption, rule: 'default-changed' },
            { ...exemption, rule: 'route-removed', pointer: '/paths' },
          ],
          levels: { 'docs-only': 'off' },
        }),
      ),
    );
    const at = { pointer: '/components/schemas/Drink/properties/price/type', line: 28, column: 11 };
    expect([version, off]).toEqual([1, ['docs-only']]);
    expect(comparings[0]?.findings[0]).toEqual({
      rule: 'response-type-changed',
      level: 'error',
      basis: 'core',
      hint: null,
      calls: null,
      message: 'GET /drinks: response 200 field `price` was a string and is now a number',
      subject: 'response 200 field `price`',
      routes: [
        { kind: 'route', method: 'GET', path: '/drinks' },
        { kind: 'route', method: 'GET', path: '/drinks/{id}' },
      ],
      old: { file: 'origin/main:api/drinks.yaml', ...at, value: 'string' },
      new: { file: 'api/drinks.yaml', ...at, value: 'number' },
      fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    const until = '2026-06-02T00:00:00.000Z';
    const told = { route: 'GET /drinks', pointer: null, reason: 'agreed', until };
    expect(comparings[0]?.exempted.map((one) => one.exemption)).toEqual([{ ...told, rule: 'default-changed' }]);
    expect(stale).toEqual([{ why: 'unused', exemption: { ...told, rule: 'route-removed', pointer: '/paths' } }]);
    expect(summary).toEqual({
      errors: 1,
      warnings: 0,
      infos: 1,
      between_majors: 0,
      exempted: 1,
      stale: 1,
      not_compared: 0,
      verdict: 'refused',
    });
  });

  it('is invalid with a missing or unknown part', () => {
    const report = JSON.parse(JSON.stringify(reportAsJson(reportOn(before, after)))) as Record<string, unknown>;
    expect(isValid({ ...report, summary: undefined })).toBe(false);
    expect(isValid({ ...report, extra: 1 })).toBe(false);
  });

  it('distinguishes a null value from a missing one', () => {
    const withDefault = before.replace('default: 1', 'default: null');
    const [finding] =
      checked(reportAsJson(reportOn(before.replace(', default: 1', ''), withDefault))).comparings[0]?.findings ?? [];
    expect(finding?.new).toHaveProperty('value', null);
    expect(finding?.old ?? {}).not.toHaveProperty('value');
  });

  it('cuts a long value and marks it', () => {
    const values = Array.from({ length: 5000 }, (_one, index) => `value ${index}`);
    const withEnum = before.replace(
      'type: string\n',
      `type: string\n          x-y: 1\n          enum: ${JSON.stringify(values)}\n`,
    );
    const findings = checked(reportAsJson(reportOn(withEnum, after))).comparings[0]?.findings ?? [];
    const cut = findings.flatMap((one) => [one.old, one.new]).filter((side) => side?.cut);
    expect(cut.length).toBeGreaterThan(0);
    for (const side of cut) expect(String(side?.value)).toHaveLength(4096);
  });

  it.each(hostileEntries)('escapes a hostile name: %s', (_name, name) => {
    const [old, changed] = [contractWithField(name, 'string'), contractWithField(name, 'number')];
    const report = reportAsJson(reportOn(old, changed, { title: name, names: [name, name] }));
    checked(report);
    const printed = printedJson(report);
    expect(printed.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
    expect(printed.length).toBeLessThan(60_000);
  });
});

describe('a value', () => {
  it.each([
    null,
    0,
    -1.5,
    true,
    '',
    'a"\\\n',
    [],
    {},
    [1, [2, { a: [] }]],
    { a: { b: [null, 'x'] }, 'c"': 2 },
    { ['__proto__']: 1 },
  ])('writes %j as JSON does', (value) => {
    expect(cutJson(value, 1000)).toEqual({ text: JSON.stringify(value), isCut: false });
  });

  it('stops at its length, also for values that contain themselves or double at each level', () => {
    const loop: unknown[] = [];
    loop.push(loop, loop);
    expect(cutJson(loop, 100)).toEqual({ text: '['.repeat(100), isCut: true });
    let doubling: unknown = 'x';
    for (let level = 0; level < 60; level += 1) doubling = [doubling, doubling];
    expect(cutJson(doubling, 4096).text).toHaveLength(4096);
    expect(cutJson('x'.repeat(10_000_000), 10)).toEqual({ text: '"xxxxxxxxx', isCut: true });
  });

  it('keeps a value of exactly that length', () => {
    expect(cutJson('1234', 6)).toEqual({ text: '"1234"', isCut: false });
    expect(cutJson('12345', 6)).toEqual({ text: '"12345', isCut: true });
  });
});
