import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../config/temporary.ts';
import { startWorkers } from '../../process/runtime/startWorkers.ts';
import { eventually } from '../../support/eventually.ts';
import { serve } from '../discovery/server.ts';

const token = 'correct-horse-battery-staple';
const gateway = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', workers: 2, drain: '1s', admin_token: token };
const bearer = { Authorization: `Bearer ${token}` };

async function post(admin: string, body: unknown, headers: Record<string, string> = bearer) {
  const response = await fetch(`${admin}/api/usage/names`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** A gateway of two workers whose ledger knows one client by its key. */
async function started(more: Readonly<Record<string, unknown>>) {
  const { url } = await serve((_req, res) => res.end('ok'));
  const usage = { store: join(temporaryFolder(), 'usage.db'), ...more };
  const running = await startWorkers(2, { '/v1': url }, { gateway, usage });
  await (await fetch(`http://127.0.0.1:${running.port}/v1/x`, { headers: { 'X-Api-Key': 'k-1' } })).text();
  const clients = async () => {
    const answer = await fetch(`${running.admin}/api/usage?version=v1`, { headers: bearer });
    const { rows } = (await answer.json()) as { rows: { client: string; name: string | null }[] };
    return rows;
  };
  const client = await eventually(async () => {
    const [row] = await clients();
    if (!row) throw new Error('The ledger has no row yet.');
    return row.client;
  });
  return { ...running, clients, client };
}

it('names a client with the token, unless the name changed in the meantime', async () => {
  const names = join(temporaryFolder(), 'names.yaml');
  writeFileSync(names, '# Partners\nuser-agent:curl: cron # nightly\n');
  const { admin, client, clients } = await started({ names });
  expect(client).toMatch(/^x-api-key:#/);
  const naming = { client, name: 'Ann’s shop', was: '' };
  expect((await post(admin, naming, {})).status).toBe(403);
  const form = { ...bearer, 'Content-Type': 'application/x-www-form-urlencoded' };
  expect((await post(admin, naming, form)).status).toBe(415);
  for (const wrong of [
    { name: 'x' },
    { client, name: 'a\nb' },
    { client, name: 'x'.repeat(101) },
    { client, name: 1 },
    [],
  ])
    expect((await post(admin, wrong)).status).toBe(400);
  expect(readFileSync(names, 'utf8')).toBe('# Partners\nuser-agent:curl: cron # nightly\n');

  expect(await post(admin, naming)).toEqual({ status: 200, body: { client, name: 'Ann’s shop' } });
  expect(await clients()).toEqual([expect.objectContaining({ client, name: 'Ann’s shop' })]);
  const text = `# Partners\nuser-agent:curl: cron # nightly\n"${client}": "Ann’s shop"\n`;
  expect(readFileSync(names, 'utf8')).toBe(text);

  const { status, body } = await post(admin, { client, name: 'Bob', was: '' });
  expect([status, body]).toEqual([409, expect.objectContaining({ code: 'NAME_CHANGED', name: 'Ann’s shop' })]);
  expect(readFileSync(names, 'utf8')).toBe(text);
  expect((await post(admin, { client, name: '', was: 'Ann’s shop' })).body).toEqual({ client, name: null });
  expect(readFileSync(names, 'utf8')).toBe('# Partners\nuser-agent:curl: cron # nightly\n');
});

it('shows the line to add if usage.names is not set', async () => {
  const { admin, client } = await started({});
  const { status, body } = await post(admin, { client, name: 'Ann', was: '' });
  expect([status, body['code'], body['line']]).toEqual([409, 'NAME_NOT_SAVED', `"${client}": "Ann"`]);
  expect(body['detail']).toContain('usage: { names: names.yaml }');
});

it('requires a token to be set', async () => {
  const running = await startWorkers(1, { '/v1': 'http://127.0.0.1:1' });
  const { status, body } = await post(running.admin, { client: 'a', name: 'b', was: '' }, {});
  expect([status, body['detail']]).toEqual([403, expect.stringContaining('Set gateway.admin_token')]);
});
