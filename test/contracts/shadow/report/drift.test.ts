import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { evidenceHash } from '../../../../gateway/contracts/shadow/compare/evidence.ts';
import type { DriftReport } from '../../../../gateway/contracts/shadow/report/drift.ts';
import { temporaryFolder } from '../../../config/temporary.ts';
import { runIn } from '../../../process/cli/io.ts';
import { answer } from '../../../support/backend.ts';
import { eventually } from '../../../support/eventually.ts';
import { ledgerWith } from '../../../support/ledgerWith.ts';
import { startAdmin } from '../../../support/startAdmin.ts';
import { collect, contract, json, pairOf, raw } from '../pairs.ts';
import { compared, startShadowed, tomorrow } from '../shadowedGateway.ts';

const marker = 'a-value-that-must-not-be-kept';
const now = Date.parse('2026-11-20T12:00:00Z');
const schema = {
  type: 'object',
  required: ['id'],
  properties: {
    id: { type: 'integer' },
    price: { type: 'number' },
    items: { type: 'array', items: { type: 'object', properties: { a: { type: 'integer' } } } },
    names: { type: 'object', additionalProperties: { type: 'string' } },
  },
};

/** The report of a ledger with these responses of `/v2`. */
async function reportOf(responses: readonly ReturnType<typeof json>[], format = 'json', route = '/drinks') {
  const listed = contract(schema);
  const pairs = responses.map((one) => pairOf(one, one, { kind: 'drift', at: now - 1000 }));
  const rows = collect(listed, listed, pairs).map((row) => ({
    ...row,
    version: 'v2',
    to: 'v2',
    hash: evidenceHash(undefined, undefined),
    route: row.route.replace('/drinks', route),
  }));
  const { ledger, queries } = ledgerWith([], now - 86_400_000);
  ledger.saveEvidence(rows);
  const admin = await startAdmin({ '/v2': 'http://127.0.0.1:3002' }, queries, now);
  const ran = await runIn('/', ['drift', 'report', '/v2', '--format', format, '--admin', admin]);
  expect([ran.code, ran.stderr]).toEqual([0, '']);
  return { stdout: ran.stdout, rows };
}

async function found(responses: readonly ReturnType<typeof json>[]): Promise<string[]> {
  const { routes } = JSON.parse((await reportOf(responses)).stdout) as DriftReport;
  return routes.flatMap(({ findings }) =>
    findings.map(({ status, what, detail, path, count }) => `${status} ${what} ${detail} ${path} ${count}`),
  );
}

it('reports what live responses have and the contract does not declare, and sends no request of its own', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'v2.json');
  const content = { 'application/json': { schema } };
  const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };
  const get = { responses: { 200: { description: 'ok', content } } };
  const paths = { '/drinks/{id}': { parameters: [id], get } };
  writeFileSync(file, JSON.stringify({ openapi: '3.1.0', info: { title: 'Drinks', version: '2' }, paths }));
  const body = JSON.stringify({ id: 1, price: marker, glass: { of: marker } });
  const gateway = await startShadowed({
    v2: { contract: file, drift: { sample: '100%', rate: '1000/s', until: tomorrow } },
    v2Answer: answer(200, body, 'Content-Type: application/json'),
    usage: { store: join(folder, 'usage.db') },
  });
  for (let drink = 0; drink < 3; drink += 1)
    await (await fetch(`http://127.0.0.1:${gateway.port}/v2/drinks/${drink}`)).text();
  const report = async (): Promise<DriftReport> =>
    (await fetch(`${gateway.admin}/api/drift/v2`)).json() as Promise<DriftReport>;
  await eventually(async () => expect((await report()).responses).toBe(3));
  const answered = await report();
  expect(answered.summary).toBe('/v2 returns 2 things that its contract does not declare, in 3 responses of 1 route.');
  expect(answered.routes).toMatchObject([
    {
      route: 'GET /drinks/{id}',
      compared: 3,
      findings: [
        { status: 200, what: 'field', path: '/glass', count: 3 },
        { status: 200, what: 'type', detail: 'string', path: '/price', count: 3 },
      ],
    },
  ]);
  expect(JSON.stringify(answered)).not.toContain(marker);
  expect(gateway.v2.requests.length).toBe(3);

  const command = (...args: string[]) => runIn('/', ['drift', ...args, '--admin', gateway.admin]);
  expect((await command('status')).stdout).toMatch(/\n\n *version +state +until +compared\n *\/v2 +running +\S+ +3\n$/);
  const stopped = await command('stop', '/v2');
  expect([stopped.code, stopped.stdout]).toEqual([
    0,
    expect.stringMatching(/\n\n\/v2: the drift comparison is stopped\n$/),
  ]);
  expect(await command('stop', '/v2')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('The drift comparison of /v2 was stopped before.'),
  });
  expect((await command('stop', '/v1')).stderr).toContain('/v1 has no drift comparison.');
  // It stays stopped over a reload that does not change its settings. The shadow of v1 still compares.
  await gateway.edit({ rate: '999/s' });
  for (const path of ['v2/drinks/7', 'v1/drinks/7'])
    await (await fetch(`http://127.0.0.1:${gateway.port}/${path}`)).text();
  await eventually(async () => expect(await compared(gateway)).toBe(1));
  expect((await command('status')).stdout).toMatch(/\/v2 +stopped +\S+ +3\n/);
});

it.each([
  ['is not OpenAPI 3', { swagger: '2.0' }],
  ['has a broken reference', { openapi: '3.1.0', paths: { '/drinks': { $ref: 'missing.json' } } }],
])('claims nothing about a version whose contract %s', async (_name, document) => {
  const file = join(temporaryFolder(), 'v2.json');
  writeFileSync(file, JSON.stringify({ info: { title: 'Drinks', version: '2' }, paths: {}, ...document }));
  const drift = { sample: '100%', rate: '1000/s', until: tomorrow };
  const { port, admin } = await startShadowed({
    v2: { contract: file, drift },
    usage: { store: join(temporaryFolder(), 'usage.db') },
  });
  for (let drink = 0; drink < 2; drink += 1) await (await fetch(`http://127.0.0.1:${port}/v2/drinks`)).text();
  const command = async (name: string, ...args: string[]) =>
    (await runIn('/', ['drift', name, ...args, '--admin', admin])).stdout;
  await eventually(async () =>
    expect(await command('report', '/v2')).toContain(`\n\nNo responses of /v2 were compared with its contract yet.
  2 responses of /v2 were not compared: its contract is not OpenAPI 3, or a file that it refers to cannot be read.
`),
  );
  expect(await command('status')).toMatch(/\/v2 +running +\S+ +0\n$/);
});

it('finds statuses, media types, broken bodies and values that violate the contract', async () => {
  expect(await found([json({ id: 1 }), json({ id: 2, names: { any: 'x' }, items: [{ a: 1 }] })])).toEqual([]);
  expect(await found([json({ error: 'x' }, 404)])).toEqual(['0 status 404  1']);
  expect(await found([raw('<p>', 200, 'text/html')])).toEqual(['200 media text/html  1']);
  expect(await found([raw('{', 200)])).toEqual(['200 syntax   1']);
  expect(await found([json({ price: 1 })])).toEqual(['200 required  /id 1']);
  expect(await found([json({ id: 1, note: null })])).toEqual(['200 field null /note 1']);
});

it('counts responses, not items, and reports nothing below an unlisted field', async () => {
  const some = json({ id: 1, items: [{ a: 1, b: { c: 1 } }, { a: 1 }, { a: 1 }, { a: 1 }] });
  expect(await found([some, some, json({ id: 1, items: [{ a: 1 }] })])).toEqual(['200 field  /items/*/b 2']);
});

it('prints text and Markdown that the names in a response cannot break', async () => {
  const responses = [json({ id: 1, glass: 1 })];
  const { stdout } = await reportOf(responses, 'text');
  expect(stdout).toBe(`/v2 returns 1 thing that its contract does not declare, in 1 response of 1 route.
  Set drift in the section of /v2 in routes.yaml to compare its responses with its contract.

GET /drinks  1 response, 1 with bodies
  200  field  /glass  1  2026-11-20T11:59:59Z
`);
  const hostile = '/a|b<script>\u001b[31m';
  const markdown = (await reportOf(responses, 'markdown', hostile)).stdout;
  expect(markdown).toContain('| 200 | field | /glass | 1 |');
  expect(markdown).not.toContain('<script>');
  expect((await reportOf(responses, 'text', hostile)).stdout).toContain('\\x1b[31m');
});

it('says that nothing was compared yet, and that a version is unknown', async () => {
  expect((await reportOf([], 'text')).stdout).toContain(
    'No responses of /v2 were compared with its contract yet.\n  Set drift in the section of /v2',
  );
  const { queries } = ledgerWith([], now - 86_400_000);
  const admin = await startAdmin({ '/v2': 'http://127.0.0.1:3002' }, queries, now);
  const { code, stderr } = await runIn('/', ['drift', 'report', '/v7', '--admin', admin]);
  expect(code).not.toBe(0);
  expect(stderr).toContain('No such version');
});
