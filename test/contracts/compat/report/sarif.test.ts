import { describe, expect, it } from 'vitest';
import type { CompatReport } from '../../../../gateway/contracts/compat/judge/judge.ts';
import { asSarif } from '../../../../gateway/contracts/compat/report/sarif.ts';
import { rules } from '../../../../gateway/contracts/compat/rules/rules.ts';
import { printedJson } from '../../../../gateway/process/cli/output/terminal.ts';
import { after, before, contractWithField, hostileEntries, now, pairReportOf, reportOn } from './reports.ts';
import { sarifFaults } from './sarifSchema.ts';

function checked(report: CompatReport) {
  const log = asSarif(report, { version: '1.2.3', root: '/home/me/tree' });
  expect(sarifFaults(JSON.parse(printedJson(log)))).toEqual([]);
  return log.runs[0];
}

const exemption = { route: 'GET /drinks', pointer: undefined, reason: 'agreed', until: now + 86_400_000 };

describe('the report for code scanning', () => {
  it('has the rules, and each finding with its rule, level and places', () => {
    const { tool, results } = checked(reportOn(before, after, { calls: 3 }));
    expect(tool.driver.rules.map(({ id }) => id)).toEqual(rules.map(({ id }) => id));
    expect(results.map(({ ruleId, ruleIndex }) => tool.driver.rules[ruleIndex]?.id === ruleId)).toEqual([
      true,
      true,
      true,
    ]);
    expect(results.map(({ level }) => level)).toEqual(['error', 'warning', 'note']);
    const place = {
      physicalLocation: { artifactLocation: { uri: 'api/drinks.yaml' }, region: { startLine: 28, startColumn: 11 } },
      logicalLocations: [{ fullyQualifiedName: '/components/schemas/Drink/properties/price/type' }],
    };
    expect(results[0]).toEqual({
      ruleId: 'response-type-changed',
      ruleIndex: 2,
      level: 'error',
      message: { text: 'GET /drinks: response 200 field `price` was a string and is now a number' },
      locations: [place],
      relatedLocations: [{ ...place, message: { text: 'Before the change' } }],
      partialFingerprints: { 'finding/v1': expect.stringMatching(/^[0-9a-f]{16}$/) },
      suppressions: [],
      properties: { routes: ['GET /drinks', 'GET /drinks/{id}'], routeCount: 2, calls: 6 },
    });
  });

  it('locates a removal in the old contract if the new one has no place', () => {
    const [result] = checked(reportOn(before, contractWithField('price', 'string'))).results;
    expect(result?.locations[0].physicalLocation.artifactLocation.uri).toBe('api/drinks.yaml');
    expect(result?.relatedLocations?.[0]?.physicalLocation.region?.startLine).toBeGreaterThan(1);
  });

  it.each([
    ['HEAD:api/a b#c?%.yaml', 'api/a%20b%23c%3F%25.yaml'],
    ['/home/me/tree/api/a.yaml', 'api/a.yaml'],
    ['/somewhere/else.yaml', 'file:///somewhere/else.yaml'],
    ['C:\\tree\\a.yaml', 'file:///C:/tree/a.yaml'],
    ['https://example.com/a b.yaml', 'https://example.com/a%20b.yaml'],
    ['standard input', 'standard%20input'],
  ])('writes %s as the URI %s', (name, uri) => {
    const [result] = checked(reportOn(before, after, { names: ['old.yaml', name] })).results;
    expect(result?.locations[0].physicalLocation.artifactLocation).toEqual({ uri });
  });

  it('has exempted findings as suppressed, and problems of the configuration as notifications', () => {
    const exemptions = [
      { ...exemption, rule: 'default-changed' },
      { ...exemption, rule: 'route-removed' },
    ];
    const report = reportOn(before, after, { exemptions, levels: { 'docs-only': 'off' } });
    const { results, invocations } = checked({ ...report, notCompared: ['v2 has no contract'] });
    const suppressions = [{ kind: 'external', status: 'accepted', justification: 'agreed (until 2026-06-02)' }];
    expect(results.find(({ ruleId }) => ruleId === 'default-changed')).toMatchObject({ suppressions });
    expect(results.filter((one) => one.suppressions.length > 0)).toHaveLength(1);
    expect(invocations[0]).toMatchObject({
      toolConfigurationNotifications: [{ level: 'error' }],
      toolExecutionNotifications: [{ level: 'warning', message: { text: 'v2 has no contract' } }],
      ruleConfigurationOverrides: [{ descriptor: { id: 'docs-only' }, configuration: { enabled: false } }],
    });
  });

  it('has only the finding on an unnecessary major for two majors', () => {
    const [broken, needless] = [after, before].map((text) => pairReportOf(before, text, { between: 'majors' }));
    const pairs = [broken, needless].filter((one) => one !== undefined);
    const { results } = checked({ pairs, staleExemptions: [], rulesOff: [], notCompared: [] });
    expect(results.map(({ ruleId }) => ruleId)).toEqual(['major-without-breaking-change']);
  });

  it.each(hostileEntries)('escapes a hostile name: %s', (_name, name) => {
    const [old, changed] = [contractWithField(name, 'string'), contractWithField(name, 'number')];
    const { results } = checked(reportOn(old, changed, { names: [name, name] }));
    expect(results).toHaveLength(1);
    expect(results[0]?.message.text).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|\]\(|##\[/u);
    expect(results[0]?.message.text.length).toBeLessThan(10_000);
  });
});
