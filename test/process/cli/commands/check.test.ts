import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../config/temporary.ts';
import { startFakeAdmin } from '../fakeAdmin.ts';
import { runIn } from '../io.ts';

const fine = 'routes:\n  /v1: http://127.0.0.1:3001\n';
const warned =
  'routes:\n  /v1: { upstream: http://127.0.0.1:3001, deprecation: 2099-01-01 }\n  /v2: http://127.0.0.1:3002\n';
const bad = 'routes:\n  /v1: nowhere\ngatway: 1\n';

function folderWith(text: string): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'routes.yaml'), text);
  return folder;
}

describe('a file that cannot be read', () => {
  it.each([
    ['missing', ['check', '--config', 'missing.yaml'], 'missing.yaml cannot be read: there is no such file\n'],
    ['a folder', ['check', '--config', '.'], '. cannot be read: it is a folder, not a file.  Name a regular file\n'],
  ])('is wrong usage: %s', async (_what, args, stderr) => {
    expect(await runIn(folderWith(fine), args)).toEqual({ code: 2, stdout: '', stderr });
  });
});

it('uses config/routes.yaml if there is no routes.yaml, and only then', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'config'));
  writeFileSync(join(folder, 'config', 'routes.yaml'), fine);
  expect((await runIn(folder, ['check'])).stdout).toContain('config/routes.yaml is valid.');
  writeFileSync(join(folder, 'routes.yaml'), bad);
  expect((await runIn(folder, ['check'])).stdout).toContain('\nroutes.yaml is not valid');
  expect(await runIn(temporaryFolder(), ['check'])).toMatchObject({
    code: 2,
    stderr: 'routes.yaml cannot be read: there is no such file\n',
  });
});

it('accepts a file for versionLifecycle with --no-upstreams', async () => {
  const folder = folderWith('routes:\n  /v1: { deprecation: 2026-01-01, sunset: 2030-01-01 }\n  /v2: {}\n');
  expect(await runIn(folder, ['check'])).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('/v2 has no upstream'),
  });
  expect(await runIn(folder, ['check', '--no-upstreams'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('routes.yaml is valid'),
  });
});

it('prints every fault with its line, and counts them', async () => {
  const { code, stdout, stderr } = await runIn(folderWith(bad), ['check']);
  expect([code, stderr]).toEqual([1, '']);
  expect(stdout).toBe(`routes.yaml:2:8  routes./v1
  nowhere is not an http:// or https:// URL.  Write a URL such as http://127.0.0.1:3001.
  2 |   /v1: nowhere
    |        ^

routes.yaml:3:1  gatway
  The key gatway is unknown.  Did you mean gateway?
  3 | gatway: 1
    | ^

routes.yaml is not valid: 2 faults.
`);
});

it('prints faults as JSON', async () => {
  const { code, stdout } = await runIn(folderWith(bad), ['check', '--format', 'json']);
  const report = JSON.parse(stdout) as { faults: unknown[] };
  expect(code).toBe(1);
  expect(report).toMatchObject({ file: 'routes.yaml', ok: false, warnings: [], versions: [] });
  expect(report.faults[0]).toMatchObject({
    file: 'routes.yaml',
    line: 2,
    column: 8,
    path: 'routes./v1',
    value: 'nowhere',
  });
});

it('summarises a valid file', async () => {
  const text = `routes:
  /v1: { upstream: http://127.0.0.1:3001, deprecation: 2020-01-01, sunset: 2099-06-30T12:00:00Z }
  /v2: { upstream: [http://127.0.0.1:3002, http://127.0.0.1:3003], deprecation: 2099-01-01, sunset: 2099-07-01 }
  /v3: http://127.0.0.1:3004
`;
  const { code, stdout } = await runIn(folderWith(text), ['check', '--strict']);
  expect(code).toBe(0);
  expect(stdout).toBe(`routes.yaml is valid.
  /v1  deprecated  1 target   deprecation 2020-01-01  sunset 2099-06-30T12:00:00Z  successor /v2
  /v2  announced   2 targets  deprecation 2099-01-01  sunset 2099-07-01            successor /v3
  /v3  active      1 target
`);
});

it('accepts a file that only has warnings, except with --strict', async () => {
  const folder = folderWith(warned);
  const { code, stdout } = await runIn(folder, ['check']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^routes\.yaml:2:56 {2}routes\.\/v1\.deprecation {2}warning\n {2}\/v1 is deprecated without/);
  expect(stdout).toContain('routes.yaml: 1 warning.\n');
  expect((await runIn(folder, ['check', '--strict'])).code).toBe(1);
  const json = await runIn(folder, ['check', '--strict', '--format', 'json']);
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({
    ok: false,
    warnings: [{ path: 'routes./v1.deprecation' }],
    versions: [
      { version: '/v1', stage: 'announced', deprecation: '2099-01-01', targets: 1, successor: '/v2' },
      { version: '/v2', stage: 'active', targets: 1 },
    ],
  });
});

it('expands variables from its environment and resolves paths from the folder of the file', async () => {
  const folder = folderWith('');
  mkdirSync(join(folder, 'sub'));
  writeFileSync(join(folder, 'sub', 'c.yaml'), 'openapi: 3.1.0\npaths: {}\n');
  writeFileSync(join(folder, 'sub', 'r.yaml'), 'routes: { /v1: { upstream: "$URL", contract: c.yaml } }\n');
  const args = ['check', '--config', 'sub/r.yaml'];
  expect((await runIn(folder, args, { URL: 'http://127.0.0.1:1' })).code).toBe(0);
  expect((await runIn(folder, args)).stdout).toContain('sub/r.yaml:1:28  routes./v1.upstream');
});

it.each([
  ['a terminal', {}, true, true],
  ['a terminal, with NO_COLOR', { NO_COLOR: '1' }, true, false],
  ['a dumb terminal', { TERM: 'dumb' }, true, false],
  ['a pipe', {}, false, false],
])('colours for %s', async (_what, env, isTTY, expected) => {
  const { stdout } = await runIn(folderWith(bad), ['check'], env, isTTY);
  expect(stdout.includes('\x1b[')).toBe(expected);
});

it.each([
  ['a misspelt key', 'gateway:\n  admin_tokn: correct-horse\n'],
  ['a token of the wrong type', 'gateway:\n  admin_token: [correct-horse]\n'],
  ['a token in a flow map', 'gateway: { "admin_token": "correct-horse ü" }\n'],
  ['a token in a block', 'gateway:\n  admin_token: |\n    correct-horse\n   battery: [\n'],
  ['a token that looks like a tag', 'gateway:\n  admin_token: !correct-horse\n'],
  ['a token that looks like an alias', 'gateway:\n  admin_token: *correct-horse\n'],
  ['an unfinished quote', 'gateway:\n  admin_token: "correct-horse\n'],
  ['a user in a URL', 'gateway:\n  public_url: https://ada:correct-horse@h/\n'],
  ['a password with blanks', 'gateway:\n  public_url: "https://ada:correct-horse x@h/"\n'],
  ['a user in front of an address', 'gateway:\n  listen: ada:correct-horse@h:80\n'],
  ['a URL that is no URL', 'gateway:\n  public_url: ada:correct-horse@h\n'],
])('masks %s', async (_what, text) => {
  const folder = folderWith(`${fine}${text}`);
  for (const format of ['text', 'json']) {
    const { code, stdout, stderr } = await runIn(folder, ['check', '--format', format]);
    expect(code).toBe(1);
    expect(stdout + stderr).not.toContain('correct');
  }
});

describe('--against-running', () => {
  const plan = { kind: 'plan', covered_since: '2026-01-01T00:00:00.000Z', clients: [], versions: [], notes: [] };
  const summary = '1 client would lose 3 of the 9 requests that backends answered in the last 7 days: a\x1b (3).';

  /** `check` against a gateway that accepts every edit, and answers a plan with this status and body. */
  const check = (status: number, body: object, ...args: string[]) =>
    checkAgainst({ kind: 'reloaded', changes: [], forced: [] }, status, body, ...args);

  /** `check` against a gateway for which a reload has this outcome. */
  async function checkAgainst(outcome: object, status: number, body: object, ...args: string[]) {
    const admin = await startFakeAdmin((req, res) => {
      const isPlan = req.url === '/api/plan';
      res.statusCode = isPlan ? status : 200;
      res.end(JSON.stringify(isPlan ? body : outcome));
    });
    return runIn(folderWith(fine), ['check', '--against-running', '--admin', admin, ...args]);
  }

  it('says which clients would lose requests, and exits 1', async () => {
    const { code, stdout } = await check(200, { ...plan, summary, total: { lost: 3 } });
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(
        /would accept this file\.\n.+\n1 client would lose 3 .+: a\\x1b \(3\)\.\nversion-gateway plan lists these clients and their routes\.\n$/,
      ),
    ]);
    // Clients choose their names.
    const clients = [{ client: 'x-client-id:\x9b2J\u202e' }];
    const json = await check(200, { ...plan, clients, summary, total: { lost: 3 } }, '--format', 'json');
    expect(JSON.parse(json.stdout)).toMatchObject({ running: { kind: 'reloaded' }, plan: { summary, clients } });
    expect(json.stdout).not.toMatch(/[\x9b\u202e]/);
  });

  const refusal = { version: 'v1', message: '/v1 is retired, but calls may be missing.', force: 'guard: {}' };
  const notKnown = { ...plan, summary: 'It is not known.', total: { lost: 0 }, known: false };

  it.each([
    ['a loss that the plan knows of', [{ ...refusal, known: false }], { ...plan, summary, total: { lost: 3 } }, 1],
    ['nothing that is known', [{ ...refusal, known: false }], notKnown, 3],
    ['no plan', [{ ...refusal, known: false }], undefined, 3],
    [
      'calls that are known',
      [
        { ...refusal, known: true },
        { ...refusal, known: false },
      ],
      notKnown,
      1,
    ],
  ])('exits 1 for a refusal only if a loss is known: %s', async (_what, refusals, body, expected) => {
    const status = body === undefined ? 503 : 200;
    const { code, stdout } = await checkAgainst({ kind: 'refused', refusals }, status, body ?? {});
    expect(code).toBe(expected);
    expect(stdout).toContain(
      refusals.length > 1
        ? 'would refuse this edit, because it would break clients:\n'
        : 'would refuse this edit, because it is not known whether clients would lose requests:\n',
    );
    const json = await checkAgainst({ kind: 'refused', refusals }, status, body ?? {}, '--format', 'json');
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, known: expected !== 3 });
  });

  it('prints why a plan does not know what clients would lose', async () => {
    const text = 'The usage ledger begins at 2026-11-20T09:00:00Z.';
    const { code, stdout } = await check(200, { ...notKnown, notes: [{ code: 'ledger_short', text }] });
    expect([code, stdout]).toEqual([3, expect.stringMatching(`\nIt is not known\\.\n${text}\n$`)]);
  });

  it('prints the warnings about new targets', async () => {
    const warnings = ['/v2 is served by the backend of /v1.', 'a\x1b[2J'];
    const outcome = { kind: 'reloaded', changes: ['/v2: upstream'], forced: [], warnings };
    const { code, stdout } = await checkAgainst(outcome, 200, { ...plan, summary, total: { lost: 0 }, known: true });
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining(
        '\n  would change: /v2: upstream\n  warning: /v2 is served by the backend of /v1.\n  warning: a\\x1b[2J\n',
      ),
    ]);
  });

  it('exits 3 and says why it is not known, such as for a gateway without a ledger', async () => {
    const { code, stdout } = await check(503, { code: 'NO_LEDGER', detail: 'This gateway keeps no usage ledger.' });
    expect([code, stdout]).toEqual([
      3,
      expect.stringMatching(/\nIt is not known which clients would lose requests: .+ keeps no usage ledger\.\n$/),
    ]);
  });
});
