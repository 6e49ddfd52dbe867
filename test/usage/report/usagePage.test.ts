import { describe, expect, it } from 'vitest';
import { day, ledgerWith, row } from '../../support/ledgerWith.ts';
import { startAdmin } from '../../support/startAdmin.ts';

const now = Date.parse('2026-11-21T12:34:56Z');
const upstream = 'http://127.0.0.1:3001';
const routes = { '/v1': { upstream, deprecation: '2026-09-01', sunset: '2026-11-01' }, '/v2': upstream };

const rows = [
  row('v1', 'x-client-id:a', now - 3 * day, { requests: 9, errors: 1 }),
  row('v1', 'x-client-id:b', now - day, { requests: 7, route: 'GET /old' }),
  row('v1', 'user-agent:Curl', now - 2 * day, { requests: 5, errors: 4, served: 3, refused: 2 }),
  row('v2', 'x-client-id:b', now - day, { requests: 2 }),
  row('v2', 'x-client-id:web', now - day, { requests: 4 }),
];

async function ask(query: string, path = '/api/usage') {
  const admin = await startAdmin(routes, ledgerWith(rows, now - 100 * day).queries, now);
  const response = await fetch(`http://${admin}${path}?${query}`);
  return { status: response.status, text: await response.text() };
}

async function page(query: string): Promise<[shown: string[], total: number, all: number]> {
  const { text } = await ask(query);
  const { rows, total, total_unfiltered } = JSON.parse(text) as {
    rows: { client?: string; route?: string }[];
    total: number;
    total_unfiltered: number;
  };
  return [rows.map(({ client, route }) => client?.split(':')[1] ?? route ?? ''), total, total_unfiltered];
}

describe('a page of the usage report', () => {
  it.each<[string, string[], number, number]>([
    ['version=v1', ['a', 'b', 'Curl'], 3, 3],
    ['version=v1&limit=2', ['a', 'b'], 3, 3],
    ['version=v1&limit=2&offset=2', ['Curl'], 3, 3],
    ['version=v1&offset=7', [], 3, 3],
    ['version=v1&sort=requests', ['Curl', 'b', 'a'], 3, 3],
    ['version=v1&sort=-last&limit=1', ['b'], 3, 3],
    ['version=v1&sort=client', ['Curl', 'a', 'b'], 3, 3],
    ['version=v1&filter=CURL', ['Curl'], 1, 3],
    ['version=v1&filter=client-id&sort=-errors&limit=1', ['a'], 2, 3],
    ['version=v1&state=both', ['b'], 1, 4],
    ['version=v1&state=here', ['a', 'b', 'Curl'], 3, 4],
    ['version=v1&state=refused', ['Curl'], 1, 4],
    ['version=v1&state=successor+only', ['web'], 1, 4],
    ['version=v1&state=any&sort=requests&limit=1', ['web'], 4, 4],
    ['version=v1&by=migration&state=stayed', ['a', 'Curl'], 2, 4],
    ['version=v1&by=route&filter=old', ['GET /old'], 1, 2],
  ])('?%s', async (query, ...expected) => expect(await page(query)).toEqual(expected));

  it('has the days of the clients on it', async () => {
    const { rows } = JSON.parse((await ask('version=v1&sort=requests&limit=1')).text);
    expect(rows).toMatchObject([{ client: 'user-agent:Curl', days: [{ requests: 5 }] }]);
  });

  it('applies to CSV as well', async () => {
    const { text } = await ask('version=v1&filter=curl', '/api/usage.csv');
    expect(text.split('\r\n').slice(1)).toEqual([expect.stringContaining('Curl'), '']);
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=many', 'limit'],
    ['limit=1e3', 'limit'],
    ['limit=100001', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['offset=-1', 'offset'],
    ['sort=color', 'sort'],
    ['sort=top_routes', 'sort'],
    ['state=here%20and%20there', 'state'],
    ['by=route&state=here', 'state'],
    ['by=day&limit=5', 'limit'],
    ['by=version&filter=v', 'filter'],
    ['version=v1&page=2', 'page'],
  ])('?%s is refused with the parameter’s name', async (query, name) => {
    const { status, text } = await ask(query.includes('by=') ? query : `version=v1&${query}`);
    expect([status, JSON.parse(text).detail]).toEqual([400, expect.stringMatching(new RegExp(`^\`${name}\``))]);
  });
});
