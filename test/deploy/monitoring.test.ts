import { execFile } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { IPrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule';
import type { IServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { type MetricName, metricTable } from '../../gateway/usage/observability/metricTable.ts';
import { isInstalled } from '../compose/support/programs.ts';
import { temporaryFolder } from '../config/temporary.ts';

const folder = 'deploy/kubernetes/monitoring';
const hasPromtool = isInstalled('promtool');
if (!hasPromtool) console.log('The alert rules are NOT CHECKED: promtool is not installed (Debian: prometheus).');

interface Dashboard {
  readonly panels: readonly {
    readonly id: number;
    readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
}

const alerts = parse(readFileSync(join(folder, 'alerts.yaml'), 'utf8')) as IPrometheusRule;
const rules = alerts.spec?.groups?.flatMap((group) => group.rules ?? []) ?? [];
const dashboard = JSON.parse(readFileSync(join(folder, 'dashboard.json'), 'utf8')) as Dashboard;
const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));

/** The labels that Prometheus adds to every series of a pod. */
const targetLabels = ['namespace', 'job', 'pod'];

/** The labels of a series of the gateway. Another test compares the table with the real output of the gateway. */
function labelsOf(series: string): string[] {
  const name = series.replace(/_(?:bucket|sum|count)$/, '') as MetricName;
  return [...metricTable[name].labels, ...targetLabels, ...(series.endsWith('_bucket') ? ['le'] : [])];
}

/** What the group of a pattern matches. */
function namesIn(pattern: RegExp, text: string): string[] {
  return [...text.matchAll(pattern)].map(([, name = '']) => name);
}

/** The names of the metrics in an expression, each with the labels by which the expression selects. */
function seriesIn(expr: string) {
  return [...expr.matchAll(/(version_gateway_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', selectors = '']) => {
    const pairs = [...selectors.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"/g)].map(
      ([, label = '', value = '']) => [label, value] as const,
    );
    return { name, labels: pairs.map(([label]) => label), values: Object.fromEntries(pairs) };
  });
}

/** Runs promtool in a folder with these files. */
async function promtool(args: readonly string[], files: Readonly<Record<string, string>>) {
  const cwd = temporaryFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  copyFileSync('test/deploy/alertCases.yaml', join(cwd, 'alertCases.yaml'));
  const { code, stdout, stderr } = await promisify(execFile)('promtool', args, { cwd }).then(
    (output) => ({ code: 0, ...output }),
    (failed: { code: number; stdout: string; stderr: string }) => failed,
  );
  return { code, output: stdout + stderr };
}

/** The rules as Prometheus reads them: the Prometheus Operator writes this file from the object. */
const ruleText = stringify(alerts.spec);

describe('the alerts and the dashboard', () => {
  it.each([
    ['an alert', rules.map(({ expr }) => String(expr))],
    ['the dashboard', queries],
  ])('%s names only metrics that exist', (_what, expressions) => {
    const names = expressions.flatMap((expr) => expr.match(/version_gateway_\w+/g) ?? []);
    const unknown = names.filter((name) => !(name.replace(/_(?:bucket|sum|count)$/, '') in metricTable));
    expect(names.length).toBeGreaterThanOrEqual(expressions.length);
    expect(unknown).toEqual([]);
  });

  it.each([
    [
      'an alert',
      rules.map(({ expr, annotations }) => {
        return { expr: String(expr), shown: namesIn(/\$labels\.(\w+)/g, Object.values(annotations ?? {}).join()) };
      }),
    ],
    [
      'the dashboard',
      dashboard.panels.flatMap(({ targets }) =>
        targets.map(({ expr, legendFormat }) => ({ expr, shown: namesIn(/\{\{(\w+)\}\}/g, legendFormat) })),
      ),
    ],
  ])('%s names only labels that its metrics have', (_what, expressions) => {
    for (const { expr, shown } of expressions) {
      const series = seriesIn(expr);
      for (const { name, labels } of series) expect(labelsOf(name), expr).toEqual(expect.arrayContaining(labels));
      const grouping = namesIn(/\b(?:by|on|group_left) \(([^)]*)\)/g, expr).flatMap((list) => list.match(/\w+/g) ?? []);
      expect(
        series.flatMap(({ name }) => labelsOf(name)),
        expr,
      ).toEqual(expect.arrayContaining([...grouping, ...shown]));
    }
  });

  it('the series of the alert tests have the labels of the real metrics, and versions without a slash', () => {
    const { tests } = parse(readFileSync('test/deploy/alertCases.yaml', 'utf8')) as {
      tests: { input_series: { series: string }[] }[];
    };
    const all = tests.flatMap(({ input_series: list }) => list.flatMap(({ series }) => seriesIn(series)));
    expect(all.length).toBeGreaterThan(rules.length);
    for (const { name, labels, values } of all) {
      expect([...labels].sort(), name).toEqual(labelsOf(name).sort());
      if ('version' in values) expect(values['version']).toMatch(/^v\d+$/);
    }
  });

  it('each alert has a summary, a description and a severity', () => {
    for (const { alert, annotations, labels } of rules)
      expect([alert, annotations, labels]).toEqual([
        expect.stringMatching(/^VersionGateway[A-Z]/),
        { summary: expect.any(String), description: expect.any(String) },
        { severity: expect.stringMatching(/^(?:warning|critical)$/) },
      ]);
  });

  it('the panels of the dashboard have different numbers', () => {
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('each alert has a test in which it fires', () => {
    const cases = parse(readFileSync('test/deploy/alertCases.yaml', 'utf8')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
    };
    const fired = cases.tests.flatMap((one) => one.alert_rule_test.filter((test) => test.exp_alerts.length > 0));
    expect([...new Set(fired.map(({ alertname }) => alertname))].sort()).toEqual(
      rules.map(({ alert }) => alert).sort(),
    );
  });

  it('Prometheus authenticates with the admin token of the gateways', () => {
    const monitor = parse(readFileSync(join(folder, 'service-monitor.yaml'), 'utf8')) as IServiceMonitor;
    expect(monitor.spec?.endpoints).toEqual([
      expect.objectContaining({
        port: 'admin',
        path: '/metrics',
        authorization: { type: 'Bearer', credentials: { name: 'version-gateway', key: 'ADMIN_TOKEN' } },
      }),
    ]);
  });
});

describe.skipIf(!hasPromtool)('promtool', () => {
  it('accepts the alerts, and every query of the dashboard', async () => {
    const records = queries.map((query, at) => ({
      record: `panel:${at}`,
      expr: query.replaceAll('$__rate_interval', '5m').replaceAll('$namespace', 'a'),
    }));
    const files = {
      'alerts.yaml': ruleText,
      'dashboard.yaml': stringify({ groups: [{ name: 'dashboard', rules: records }] }),
    };
    const { code, output } = await promtool(['check', 'rules', 'alerts.yaml', 'dashboard.yaml'], files);
    expect([code, output]).toEqual([0, expect.stringContaining(`SUCCESS: ${rules.length} rules found`)]);
    expect(output).toContain(`SUCCESS: ${queries.length} rules found`);
  });

  it('sees each alert fire when it should, and not before', async () => {
    const { code, output } = await promtool(['test', 'rules', 'alertCases.yaml'], { 'alerts.yaml': ruleText });
    expect([code, output]).toEqual([0, expect.stringContaining('SUCCESS')]);
  });

  it.each<[string, readonly string[], (text: string) => string, string]>([
    ['a faulty expression', ['check', 'rules', 'alerts.yaml'], (text) => text.replace('> 0.5', '> > 0.5'), 'parse'],
    ['an unknown key', ['check', 'rules', 'alerts.yaml'], (text) => text.replace('for:', 'fore:'), 'fore'],
    ['another threshold', ['test', 'rules', 'alertCases.yaml'], (text) => text.replace('> 0.5', '> 0.7'), 'FAILED'],
    ['another delay', ['test', 'rules', 'alertCases.yaml'], (text) => text.replace('for: 5m', 'for: 1m'), 'FAILED'],
  ])('would report %s', async (_fault, args, edit, word) => {
    const edited = edit(ruleText);
    expect(edited).not.toBe(ruleText);
    const { code, output } = await promtool(args, { 'alerts.yaml': edited });
    expect([code, output]).toEqual([1, expect.stringContaining(word)]);
  });
});
