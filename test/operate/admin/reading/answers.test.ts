import { rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { day, hour, ledgerWith, row } from '../../../support/ledgerWith.ts';
import { readLedger } from '../../../support/readLedger.ts';
import { startAdmin } from '../../../support/startAdmin.ts';
import { get, now, routes, rows } from '../usageAdmin.ts';

const wide = { routes: 1, served: 1, errors: 0 };

describe('/api/usage', () => {
  it('shows all versions over 30 days, and what the ledger covers', async () => {
    const { status, json } = await get('/api/usage');
    expect([status, json()]).toEqual([
      200,
      {
        by: 'version',
        version: null,
        step: 'day',
        since: '2026-10-22T00:00:00.000Z',
        until: '2026-11-21T12:34:56.000Z',
        covered_since: '2026-08-13T12:34:56.000Z',
        counted_since: '2026-10-22T00:00:00.000Z',
        problem: null,
        problems: [],
        folded: 0,
        held: 0,
        total: 3,
        total_unfiltered: 3,
        rows: [
          {
            version: 'v1',
            requests: 9,
            errors: 1,
            served: 8,
            failing: 0,
            refused: 0,
            clients: 2,
            last: '2026-11-21T11:34:56.000Z',
            days: [
              { at: '2026-11-19T00:00:00.000Z', requests: 5 },
              { at: '2026-11-20T00:00:00.000Z', requests: 3 },
              { at: '2026-11-21T00:00:00.000Z', requests: 1 },
            ],
          },
          expect.objectContaining({ version: 'v2', requests: 6, clients: 2 }),
          expect.objectContaining({ version: '', requests: 1, served: 0 }),
        ],
      },
    ]);
  });

  it.each<[string, object[]]>([
    [
      'version=v1',
      [
        {
          version: 'v1',
          client: 'x-client-id:ios',
          name: null,
          requests: 8,
          errors: 1,
          served: 8,
          failing: 0,
          refused: 0,
          first: '2026-11-19T12:34:56.000Z',
          last: '2026-11-20T12:34:56.000Z',
          last_used: '2026-11-20T12:34:56.000Z',
          routes: 1,
          top_routes: [{ route: 'GET /drinks', requests: 8, last: '2026-11-20T12:34:56.000Z' }],
          days: [
            { at: '2026-11-19T00:00:00.000Z', requests: 5 },
            { at: '2026-11-20T00:00:00.000Z', requests: 3 },
          ],
        },
        expect.objectContaining({ client: 'user-agent:curl', requests: 1, served: 0 }),
      ],
    ],
    ['version=/v1&since=36h&by=client', [{ requests: 3 }, { requests: 1 }].map((one) => expect.objectContaining(one))],
    [
      'by=client&since=2h',
      [
        { ...wide, version: 'v2', client: 'x-client-id:web', requests: 4, served: 4 },
        { version: 'v1', client: 'user-agent:curl' },
        { version: '', client: 'user-agent:scan' },
      ].map((one) => expect.objectContaining(one)),
    ],
    ['version=v1&by=version', [expect.objectContaining({ version: 'v1', requests: 9 })]],
    [
      'version=v1&by=route',
      [
        {
          version: 'v1',
          route: 'GET /drinks',
          requests: 8,
          errors: 1,
          failing: 0,
          clients: 1,
          last: '2026-11-20T12:34:56.000Z',
          successor_status: null,
        },
        {
          version: 'v1',
          route: 'GET /old',
          requests: 1,
          errors: 0,
          failing: 0,
          clients: 1,
          last: '2026-11-21T11:34:56.000Z',
          successor_status: null,
        },
      ],
    ],
    [
      'version=v1&by=day&since=30h',
      [
        { version: 'v1', at: '2026-11-20T00:00:00.000Z', requests: 3 },
        { version: 'v1', at: '2026-11-21T00:00:00.000Z', requests: 1 },
      ],
    ],
    ['version=v1&by=day&step=hour&since=3h', [{ version: 'v1', at: '2026-11-21T11:00:00.000Z', requests: 1 }]],
    [
      'version=v1&by=migration',
      [
        {
          version: 'v1',
          successor: 'v2',
          client: 'x-client-id:ios',
          name: null,
          state: 'went back',
          requests: 8,
          failing: 0,
          last: '2026-11-20T12:34:56.000Z',
          successor_requests: 2,
          successor_first: '2026-11-18T12:34:56.000Z',
          successor_last: '2026-11-18T12:34:56.000Z',
        },
        expect.objectContaining({ client: 'x-client-id:web', state: 'successor only', requests: 0, last: null }),
        expect.objectContaining({
          client: 'user-agent:curl',
          state: 'stayed',
          successor_requests: 0,
          successor_last: null,
        }),
      ],
    ],
    [
      'by=migration&since=50d&version=v0',
      [{ state: 'successor only', successor: 'v1' }, { state: 'both' }].map((one) => expect.objectContaining(one)),
    ],
  ])('?%s', async (query, expected) => {
    const { status, json } = await get(`/api/usage?${query}`);
    expect([status, json().rows]).toEqual([200, expected]);
  });

  it('names no retired version as the successor of a removed one', async () => {
    const listed = {
      '/v1': { upstream: 'http://127.0.0.1:1', deprecation: '2026-01-01', sunset: '2026-11-01', after_sunset: 'gone' },
      '/v2': 'http://127.0.0.1:1',
    };
    const { json } = await get('/api/usage?by=migration&since=50d&version=v0', undefined, undefined, listed);
    expect(json().rows[0]?.successor).toBe('v2');
  });

  it('has the days of the 50 clients with the most requests only', async () => {
    const many = Array.from({ length: 51 }, (_one, index) =>
      row('v1', `c${index}`, now - hour, { requests: 99 - index }),
    );
    const { json } = await get('/api/usage?version=v1', ledgerWith(many, 0).queries);
    const days = json().rows.map((one: { days: unknown }) => one.days);
    expect([days.length, days[49]?.length, days[50]]).toEqual([51, 1, null]);
  });

  it('reports why the ledger cannot be written', async () => {
    const { ledger, file } = ledgerWith(rows, now);
    rmSync(dirname(file), { recursive: true });
    writeFileSync(dirname(file), 'no folder');
    ledger.add([]);
    ledger.add(rows);
    const { json } = await get('/api/usage', readLedger(ledger));
    expect(json().problem).toContain('a part of its path is not a folder');
    const verdict = await get('/api/versions/v1/retirement', readLedger(ledger));
    expect(verdict.json()).toMatchObject({ answer: 'not yet' });
    expect(verdict.json().reasons.map(({ code }: { code: string }) => code)).toContain('ledger_broken');
  });

  it.each(['/api/usage', '/api/usage.csv', '/api/versions/v1/retirement'])(
    '%s answers 503 without a ledger',
    async (path) => {
      const response = await fetch(`http://${await startAdmin(routes, undefined, now)}${path}`);
      expect(response.status).toBe(503);
      expect(await response.json()).toMatchObject({
        code: 'NO_LEDGER',
        detail: expect.stringContaining('no usage ledger'),
      });
    },
  );
});

describe('/api/usage.csv', () => {
  it('is the same as a table', async () => {
    const hostile = [row('v1', '=cmd|x,"y"\x1b', now - hour)];
    const { status, type, text, headers } = await get('/api/usage.csv?version=v1', ledgerWith(hostile, now).queries);
    expect([status, type]).toEqual([200, 'text/csv; charset=utf-8']);
    expect(headers.get('content-disposition')).toBe('attachment; filename=usage-by-client.csv');
    expect(text).toBe(
      'version,client,name,requests,errors,served,first,last,routes,top_routes,failing,refused,last_used\r\n' +
        'v1,"\'=cmd|x,""y""\\x1b",,1,0,1,2026-11-21T11:34:56.000Z,2026-11-21T11:34:56.000Z,1,"GET /drinks (1)",0,0,2026-11-21T11:34:56.000Z\r\n',
    );
  });

  it('writes (none) for requests that named no version, as the table does', async () => {
    for (const by of ['version', 'client', 'route', 'day']) {
      const { text } = await get(`/api/usage.csv?by=${by}&since=2h`);
      expect(text).toMatch(/\r\n\(none\),/);
      expect(text).not.toMatch(/\r\n,/);
    }
  });
});

describe('/api/versions/v1/retirement', () => {
  it('is a verdict with its facts', async () => {
    const { status, json } = await get('/api/versions/v1/retirement', undefined, { ignore_clients: ['curl'] });
    const { reasons, notes, facts, ...rest } = json();
    expect([status, rest]).toEqual([
      200,
      { version: 'v1', question: 'retire', answer: 'no', known: true, asked_at: '2026-11-21T12:34:56.000Z' },
    ]);
    expect(reasons).toEqual([
      {
        code: 'clients_left',
        text: expect.stringMatching(/^1 client made 8 requests .+: x-client-id:ios \(last call 1 day ago/),
      },
    ]);
    expect(notes.map(({ code }: { code: string }) => code)).toEqual(['ignored', 'trend', 'new_clients', 'own_ledger']);
    const { trend, clients, ignored, ...plain } = facts;
    expect(plain).toEqual({
      stage: 'sunset',
      deprecation: '2026-09-01T00:00:00.000Z',
      sunset: '2026-11-01T00:00:00.000Z',
      quiet: 7 * day,
      since: '2026-11-14T12:00:00.000Z',
      max_share: 0.001,
      covered_since: '2026-08-13T12:34:56.000Z',
      problem: null,
      requests: 8,
      folded: 0,
      refused: 0,
      refused_count: 0,
      refused_clients: [],
      failing_count: 0,
      failing: [],
      failing_routes: [],
      infrequent_count: 0,
      infrequent: [],
      gone_count: 0,
      gone: [],
      all_requests: 15,
      share: 8 / 15,
      client_count: 1,
      new_clients: [expect.objectContaining({ client: 'x-client-id:ios' })],
      routes_without_counterpart: [],
      routes_missing_in_successor: [],
      routes_with_unknown_counterpart: [{ route: 'GET /drinks' }, { route: 'GET /old' }],
      in_flight: 0,
      waiting: 0,
      successor: { version: 'v2', health: 'unknown', targets: 0, healthy: 0, not_tried: 0 },
    });
    expect([clients[0].client, ignored[0].client]).toEqual(['x-client-id:ios', 'user-agent:curl']);
    expect(trend).toMatchObject({ kind: 'not falling', zero: null, days: { length: 30 } });
  });

  it.each([
    ['7d', 'yes', ['removed'], 15],
    ['50d', 'no', ['removed', 'clients_left'], 16],
  ])('is also a verdict about a removed version: %s', async (quiet, answer, codes, all) => {
    const { status, json } = await get(`/api/versions/v0/retirement?quiet=${quiet}`);
    const { reasons, facts } = json();
    expect([status, json().answer, facts.stage, facts.successor]).toEqual([200, answer, 'removed', null]);
    expect(reasons.map(({ code }: { code: string }) => code)).toEqual(codes);
    expect(facts.all_requests).toBe(all);
  });

  it.each([
    ['30m', 'yes'],
    ['90m', 'no'],
  ])('accepts a quiet period: %s', async (quiet, answer) => {
    const { json } = await get(`/api/versions/v1/retirement?quiet=${quiet}`);
    expect(json().answer).toBe(answer);
  });
});
