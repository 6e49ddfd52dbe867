import { expect, it } from 'vitest';
import type { CompatReport } from '../../../../gateway/contracts/compat/judge/judge.ts';
import { compatSummary, summaryInWords } from '../../../../gateway/contracts/compat/report/summary.ts';
import { after, before, now, reportOn } from './reports.ts';

const said = (report: CompatReport): string => `${compatSummary(report).verdict}: ${summaryInWords(report)}`;
const added = before.replace('name: { type: string }', 'name: { type: string }\n        maker: { type: string }');
const exemption = { rule: 'route-removed', route: 'GET /', pointer: undefined, reason: 'none', until: now };
const stale = [{ exemption, why: 'expired' }] as const;

it('reports a result only for what was compared', () => {
  const nothing = { pairs: [], staleExemptions: [], rulesOff: [], notCompared: [] };
  expect(said(reportOn(before, before))).toBe('same: No changes found');
  expect(said(reportOn(before, added))).toBe(
    'compatible: No breaking change found within a major: 1 compatible change',
  );
  expect(said(reportOn(before, after))).toBe('refused: 1 error, 1 warning, 1 compatible change');
  expect(said(nothing)).toBe('not compared: Nothing was compared');
  expect(said({ ...nothing, staleExemptions: stale })).toBe('refused: Nothing was compared, 1 stale exemption');
  expect(said({ ...reportOn(before, before), staleExemptions: stale })).toBe('refused: 0 errors, 1 stale exemption');
  expect(said({ ...reportOn(before, before), notCompared: ['v2 has none'] })).toBe(
    'unsure: 0 errors, 1 contract not compared',
  );
});

it('calls nothing compatible because all breaking changes are exempt', () => {
  const all = ['GET /drinks', 'GET /drinks/{id}'].map((route) => ({ ...exemption, route, until: now + 1 }));
  const exemptions = all.map((one) => ({ ...one, rule: 'response-type-changed' }));
  const changed = before.replace('type: string\n', 'type: number\n');
  expect(said(reportOn(before, changed, { exemptions }))).toBe('unsure: 0 errors, 1 finding exempted');
});

it('calls nothing compatible because a rule was made milder, or is off', () => {
  const milder = { 'response-type-changed': 'info', 'default-changed': 'info' } as const;
  expect(said(reportOn(before, after, { levels: milder }))).toBe('unsure: 0 errors, 3 changes of level info');
  const off = { 'response-type-changed': 'off', 'default-changed': 'off', 'response-field-added': 'off' } as const;
  expect(said(reportOn(before, after, { levels: off }))).toBe(
    'unsure: 0 errors, 3 rules off (response-type-changed, default-changed, response-field-added)',
  );
});
