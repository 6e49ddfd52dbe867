import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { evidenceHash } from '../../../../gateway/contracts/shadow/compare/evidence.ts';
import { type DifferenceReport, routeProofs } from '../../../../gateway/contracts/shadow/report/report.ts';
import type { EvidenceRow } from '../../../../gateway/usage/usageRow.ts';
import { temporaryFolder } from '../../../config/temporary.ts';
import { runIn } from '../../../process/cli/io.ts';
import { answer } from '../../../support/backend.ts';
import { eventually } from '../../../support/eventually.ts';
import { day, ledgerWith, row } from '../../../support/ledgerWith.ts';
import { startAdmin } from '../../../support/startAdmin.ts';
import { collect, contract, json, pairOf } from '../pairs.ts';
import { startShadowed, tomorrow } from '../shadowedGateway.ts';

const drink = (price: string): string =>
  JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Drinks', version: '1' },
    paths: {
      '/drinks/{id}': {
        get: {
          responses: {
            200: {
              description: 'A drink',
              content: {
                'application/json': {
                  schema: {
                    type: 'object',
                    required: ['id', 'price'],
                    properties: { id: { type: 'integer' }, price: { type: price }, glass: { type: 'string' } },
                  },
                },
              },
            },
          },
        },
      },
    },
  });

const marker = 'a-value-that-must-not-be-kept';

describe('shadow report', () => {
  it('shows what the responses to real requests have in common, over a restart and a new contract', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'kept'));
    const [v1, v2] = ['v1.json', 'v2.json'].map((name) => join(folder, name)) as [string, string];
    writeFileSync(v1, drink('string'));
    writeFileSync(v2, drink('string'));
    const reply = (body: object) => answer(200, JSON.stringify(body), 'Content-Type: application/json');
    const options = {
      v1: { contract: v1 },
      v2: { contract: v2 },
      v1Answer: reply({ id: 1, price: '9.50', glass: marker }),
      v2Answer: reply({ id: 1, price: 9.5, glass: marker }),
      usage: { store: join(folder, 'kept', 'usage.db') },
    };
    const gateway = await startShadowed(options);
    const report = async (admin: string, format = 'json') => {
      const ran = await runIn('/', [
        'shadow',
        'report',
        '/v1',
        '--format',
        format,
        '--admin',
        admin.slice('http://'.length),
      ]);
      expect([ran.code, ran.stderr]).toEqual([0, '']);
      return ran.stdout;
    };
    const data = async (admin: string): Promise<DifferenceReport> => JSON.parse(await report(admin));
    for (let id = 0; id < 5; id += 1) {
      expect((await fetch(`http://127.0.0.1:${gateway.port}/v1/drinks/${id}`)).status).toBe(200);
      await eventually(async () => expect((await gateway.shadow())?.copies['shadow']?.['compared']).toBe(id + 1));
    }
    await eventually(async () => expect((await data(gateway.admin)).pairs).toBe(5));
    const found = await data(gateway.admin);
    expect(found).toMatchObject({ version: 'v1', to: 'v2', counts: { undeclared: 1, declared: 0 } });
    expect(found.routes).toMatchObject([
      {
        route: 'GET /drinks/{id}',
        requests: 5,
        compared: 5,
        differences: [
          { class: 'undeclared', status: 200, path: '/price', what: 'type', detail: 'string → number', count: 5 },
        ],
      },
    ]);
    const text = await report(gateway.admin, 'text');
    expect(text).toContain('/v1 compared with /v2: 1 undeclared difference and 0 declared in 5 pairs of 1 route.');
    expect(text).toContain('/price type string → number');
    const verdict = await (await fetch(`${gateway.admin}/api/versions/v1/retirement`)).json();
    expect(JSON.stringify(verdict)).toContain(
      '/v2 has 1 undeclared difference from /v1 on 1 route in use: GET /drinks/{id} (/price type string → number).',
    );
    expect(JSON.stringify(found) + text).not.toContain(marker);
    await gateway.close();

    const again = await startShadowed(options);
    expect((await data(again.admin)).routes).toMatchObject([{ pairs: 5, differences: [{ class: 'undeclared' }] }]);
    await again.close();

    writeFileSync(v2, drink('number'));
    const changed = await startShadowed(options);
    expect((await data(changed.admin)).notes.join(' ')).toContain(
      'A contract, or the way of comparing, has changed since',
    );
    expect((await fetch(`http://127.0.0.1:${changed.port}/v1/drinks/1`)).status).toBe(200);
    await eventually(async () =>
      expect((await data(changed.admin)).routes).toMatchObject([{ pairs: 1, differences: [{ class: 'declared' }] }]),
    );
    expect((await data(changed.admin)).counts).toMatchObject({ undeclared: 0, declared: 1 });
  });
});

describe('the report of a ledger', () => {
  const now = Date.parse('2026-11-20T12:00:00Z');
  const upstream = 'http://127.0.0.1:3001';
  const routes = { '/v1': { upstream }, '/v2': upstream };
  const schema = {
    type: 'object',
    required: ['id'],
    properties: { id: { type: 'integer' }, glass: { type: 'string' }, volume: { type: 'string' } },
  };

  function evidence(route = '/drinks'): EvidenceRow[] {
    const rows = collect(
      contract(schema),
      contract({ ...schema, properties: { id: { type: 'integer' }, volume: { type: 'string' } } }),
      Array.from({ length: 30 }, (_one, index) => [
        pairOf(json({ id: 1, glass: 'x', garnish: 1 }), json({ id: index === 3 ? '1' : 1 }), { at: now - day + index }),
        ...(index % 10 === 0 ? [pairOf(json({ id: 1 }), json({ id: 1 }), { kind: 'control', at: now - day })] : []),
      ]).flat(),
    );
    const hash = evidenceHash(undefined, undefined);
    return rows.map((one) => ({ ...one, hash, route: one.route.replace('/drinks', route) }));
  }

  async function shadow(args: string[], rows: readonly EvidenceRow[], more: object = {}) {
    const { ledger, queries } = ledgerWith(
      [
        row('v1', 'x-client-id:shop', now - day, { requests: 3000 }),
        row('v1', 'x-client-id:shop', now - day, { route: 'GET /menu' }),
      ],
      now - 30 * day,
    );
    ledger.saveEvidence(rows);
    const admin = await startAdmin({ ...routes, ...more }, queries, now);
    return runIn('/', [...args, '--admin', admin]);
  }

  it('lists the differences of each class, the fields without evidence, and the routes that were never compared', async () => {
    const { code, stdout, stderr } = await shadow(['shadow', 'report', '/v1'], evidence());
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toBe(`/v1 compared with /v2: 2 undeclared differences and 1 declared in 30 pairs of 1 route.
  Compared from 2026-11-19T12:00:00Z to 2026-11-19T12:00:00Z, 23 h ago.

GET /drinks  30 pairs, 3 control pairs; 3,000 requests since 2026-11-13
  undeclared  200  /garnish absent           30 of 30  the old contract does not list the field
  undeclared  200  /id type number → string  1 of 30   the new contract does not allow it
  declared    200  /glass absent             30 of 30  the new contract does not list the field
  No evidence on: /volume (never sent).

In use and never compared: GET /menu.
`);
  });

  it('is also Markdown, with escaped names', async () => {
    const { stdout } = await shadow(['shadow', 'report', '/v1', '--format', 'markdown'], evidence('/a|b<script>'));
    expect(stdout).toContain('# Responses of /v1 and /v2');
    expect(stdout).toContain('| undeclared | 200 | /garnish absent | 30 of 30 |');
    expect(stdout).not.toContain('<script>');
  });

  it.each(['text', 'markdown'])('counts the routes that it does not list, as %s', async (format) => {
    const many = Array.from({ length: 201 }, (_one, index) => evidence(`/r${index}`)).flat();
    const { stdout } = await shadow(['shadow', 'report', '/v1', '--format', format], many);
    expect(stdout).toContain('\n\nand 1 more route\n');
  });

  it('cannot be broken by the route of a request', async () => {
    const { stdout } = await shadow(['shadow', 'report', '/v1'], evidence('/\u001b[31m\u202e'));
    expect(stdout).toContain('\\x1b[31m\\u{202e}');
  });

  it('says that nothing was compared yet, and what to do', async () => {
    const { code, stdout } = await shadow(['shadow', 'report', '/v1'], []);
    expect(code).toBe(0);
    expect(stdout).toBe(`No responses of /v1 were compared yet.
  Set shadow in the section of /v1 in routes.yaml to compare its responses with those of another version.

In use and never compared: GET /drinks, GET /menu.
`);
  });

  it('leaves out a route of which only control pairs exist, and the evidence about another target', async () => {
    const control = evidence('/only-control').filter(({ kind }) => kind === 'control');
    const shown = await shadow(['shadow', 'report', '/v1'], [...evidence(), ...control]);
    expect([shown.code, shown.stdout.includes('only-control')]).toEqual([0, false]);
    const v1 = { upstream, shadow: { to: '/v3', until: tomorrow } };
    const other = await shadow(['shadow', 'report', '/v1'], evidence(), { '/v1': v1, '/v3': upstream });
    expect(other.stdout).toMatch(/^No responses of \/v1 were compared yet\.\n\n/);
  });

  it.each([
    ['10%', 'No control request was sent yet, so noise cannot be distinguished from differences.\n'],
    ['0%', 'Set shadow.control to more than 0.\n'],
  ])('says that no control request was sent, with shadow.control: %s', async (control, note) => {
    const pairs = evidence().filter(({ kind }) => kind === 'shadow');
    const v1 = { upstream, shadow: { to: '/v2', until: tomorrow, control } };
    expect((await shadow(['shadow', 'report', '/v1'], pairs, { '/v1': v1 })).stdout).toContain(note);
  });

  it('says that a version is unknown', async () => {
    const { code, stderr } = await shadow(['shadow', 'report', '/v7'], []);
    expect(code).not.toBe(0);
    expect(stderr).toContain('No such version');
  });

  it('is quoted by can-retire for routes in use only', async () => {
    const inUse = await shadow(['can-retire', '/v1'], evidence());
    expect(inUse.stdout).toContain('2 undeclared differences');
    const unused = await shadow(['can-retire', '/v1'], evidence('/unused'));
    expect(unused.stdout).not.toContain('undeclared');
  });

  it('is counted by can-retire as in the report, also if the report lists only some of the differences', async () => {
    const own = Object.fromEntries(Array.from({ length: 60 }, (_one, index) => [`own${index}`, 1]));
    const pair = pairOf(json({ id: 1, ...own }), json({ id: 1 }), { at: now - day });
    const rows = collect(contract(schema), contract(schema), Array<typeof pair>(20).fill(pair));
    const evidenceRows = rows.map((one) => ({ ...one, hash: evidenceHash(undefined, undefined) }));
    const [report, verdict] = [
      await shadow(['shadow', 'report', '/v1'], evidenceRows),
      await shadow(['can-retire', '/v1'], evidenceRows),
    ];
    expect(report.stdout).toContain('/v1 compared with /v2: 60 undeclared differences and');
    expect(verdict.stdout).toContain('/v2 has 60 undeclared differences from /v1 on 1 route in use');
  });

  it('tells how well each route is proved under one hash', async () => {
    const { ledger, queries } = ledgerWith([], now - 30 * day);
    ledger.saveEvidence([...evidence(), ...evidence().map((one) => ({ ...one, hash: 'other', route: 'GET /x' }))]);
    const proved = await routeProofs(queries, 'v1', { kind: 'shadow', hash: evidenceHash(undefined, undefined) });
    expect([...proved]).toEqual([['GET /drinks', { pairs: 30, undeclared: 2, last: now - day + 29 }]]);
  });
});
