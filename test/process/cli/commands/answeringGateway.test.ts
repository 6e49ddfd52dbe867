import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../config/temporary.ts';
import { startFakeAdmin } from '../fakeAdmin.ts';
import { runIn } from '../io.ts';

// Every command that asks a running gateway names it, and says so if its file is not the one beside which the command runs.

const period = { since: '2026-11-14T00:00:00.000Z', until: '2026-11-21T00:00:00.000Z' };
const counted = { covered_since: period.since, counted_since: period.since };
const usage = {
  by: 'version',
  version: null,
  step: 'day',
  ...period,
  ...counted,
  problem: null,
  problems: [],
  rows: [],
};
const loaded = '2026-11-21T10:00:00.000Z';
const comparison = { version: 'v1', asked_at: loaded, summary: 'Nothing.', notes: [], routes: [], route_count: 0 };
const answers: Readonly<Record<string, object>> = {
  '/api/status': {
    config: { fingerprint: '0123456789abcdef', generation: 1, loaded_at: loaded, trigger: 'start', last_failure: null },
    versions: [],
  },
  '/api/usage': { ...usage, folded: 0, held: 0, total: 0 },
  '/api/fleet': { problem: null, now: loaded, gateways: [], config_skew: 0 },
  '/api/fleet/forget': { forgotten: 1 },
  '/api/brownouts': { brownouts: [] },
  '/api/brownouts/stop': { brownout: { at: '2027-03-02T14:00:00Z' }, stored: true },
  '/api/brownouts/v1': {
    ...{ kind: 'brownout report', version: 'v1', successor: 'v2', asked_at: loaded, brownouts: [], number: null },
    ...{
      refused: 0,
      folded: 0,
      client_count: 0,
      classes: {},
      clients: [],
      not_refused_count: 0,
      not_refused: [],
      notes: [],
    },
  },
  '/api/shadow': { shadows: [] },
  '/api/shadow/stop': { shadow: { to: 'v2' }, stored: true },
  '/api/shadow/v1': {
    ...{ ...comparison, kind: 'shadow report', to: 'v2', pairs: 0, first: null, not_compared: [] },
    counts: { undeclared: 0, declared: 0, noise: 0, no_evidence: 0 },
  },
  '/api/drift': { drifts: [] },
  '/api/drift/v1': { ...comparison, kind: 'drift report', responses: 0, first: null, finding_count: 0 },
  '/api/drift/stop': { drift: {}, stored: true },
  '/api/digest': { title: 'API versions', sections: [{ lines: ['Nothing.'] }] },
  '/api/notify/test': { results: [{ host: 'example.com', accepted: true, result: '200' }] },
};

const commands: readonly (readonly [args: readonly string[], formats: readonly string[]])[] = [
  [['status'], ['json']],
  [['usage'], ['json']],
  [['fleet'], ['json']],
  [['fleet', 'forget', 'gw-2', '--reason', 'sold'], []],
  [['brownout', 'status'], ['json']],
  [['brownout', 'stop', '/v1'], []],
  [['brownout', 'report', '/v1'], ['json']],
  [['shadow', 'status'], ['json']],
  [['shadow', 'stop', '/v1'], []],
  [['shadow', 'report', '/v1'], ['json']],
  [['drift', 'status'], ['json']],
  [['drift', 'stop', '/v1'], []],
  [['drift', 'report', '/v1'], ['json']],
  [['notify', 'test'], []],
];

const other = {
  name: 'gw-9',
  host: 'elsewhere',
  admin: 'http://127.0.0.1:9901',
  file: '/srv/other/routes.yaml',
  digest: 'ab',
};

async function askBesideFile(args: readonly string[]) {
  const folder = temporaryFolder();
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'routes.yaml'), 'routes: { /v1: http://127.0.0.1:1 }\n');
  const admin = await startFakeAdmin((req, res) => {
    res.setHeader('version-gateway', new URLSearchParams(other).toString());
    res.end(JSON.stringify(answers[(req.url ?? '').replace(/\?.*/, '')] ?? {}));
  });
  return { admin: `http://${admin}`, ...(await runIn(folder, [...args, '--admin', admin])) };
}

describe('an answer', () => {
  it.each(commands)('of %j begins with the gateway that gives it, and its file', async (args) => {
    const { admin, stdout, stderr, code } = await askBesideFile(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n')[0]).toBe(`Gateway gw-9 at ${admin} uses /srv/other/routes.yaml, not routes.yaml.`);
  });

  it.each(commands.filter(([, formats]) => formats.includes('json')))(
    'of %j has it as a member of JSON',
    async (args) => {
      const { admin, stdout, stderr } = await askBesideFile([...args, '--format', 'json']);
      expect(stderr).toBe('');
      expect(JSON.parse(stdout)).toMatchObject({
        gateway: { name: 'gw-9', host: 'elsewhere', admin, file: '/srv/other/routes.yaml' },
      });
    },
  );

  it.each([
    ['digest', 'markdown'],
    ['digest', 'html'],
    ['usage', 'csv'],
  ])('of %s as %s is not changed, and standard error names it', async (command, format) => {
    const { stdout, stderr } = await askBesideFile([command, '--format', format]);
    expect(stdout).not.toContain('gw-9');
    expect(stderr).toContain('uses /srv/other/routes.yaml, not routes.yaml.');
  });
});
