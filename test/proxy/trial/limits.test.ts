import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Plan } from '../../../gateway/versions/plan/plan.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { reasonsOf, startBackend, startEdited } from './candidates.ts';

const covered = { isCovered: true };

/** `POST /cocktails` is answered 200, `POST /refused` 422 and `POST /large` 413. */
async function startApi(gateway: object = {}) {
  const statuses: Readonly<Record<string, number>> = { '/cocktails': 200, '/refused': 422, '/large': 413 };
  const backend = await startBackend((path) => statuses[path] ?? 404);
  const document = { gateway, routes: { '/v1': backend.url, '/v2': backend.url } };
  const edited = await startEdited(document, covered);
  const post = async (path: string, body: string | ReadableStream, headers: Readonly<Record<string, string>> = {}) => {
    const init = { method: 'POST', body, headers, duplex: 'half' } as RequestInit;
    const response = await fetch(edited.url + path, init);
    await response.arrayBuffer();
    return response.status;
  };
  const withLimits = (limits: object, more: object = {}) => ({ ...document, defaults: { limits }, ...more });
  const withGatewayLimits = (limits: object, more: object = {}) => ({
    ...document,
    gateway: { ...gateway, limits },
    ...more,
  });
  return { ...edited, document, send: post, withLimits, withGatewayLimits };
}

function chunked(size: number): ReadableStream {
  return new Blob(['x'.repeat(size)]).stream();
}

it('refuses a limit that bodies of the last days exceed, with the figures, until it is forced', async () => {
  const { edit, preview, send, withLimits } = await startApi();
  expect(await send('/v2/cocktails', 'x'.repeat(48 * 1024))).toBe(200);
  expect(await send('/v2/cocktails', 'x'.repeat(10))).toBe(200);
  const edited = withLimits({ body: '1KiB' });
  for (const outcome of [await preview(edited), await edit(edited)]) {
    expect(outcome.kind).toBe('refused');
    expect(reasonsOf(outcome)).toBe(
      '/v2 answers 413 to requests that it serves now, because limits.body changes from 10 MiB to 1 KiB, and the largest body of the last 7 days was 48 KiB, at POST /cocktails.',
    );
  }
  expect(await send('/v2/cocktails', 'x'.repeat(48 * 1024))).toBe(200);
  expect((await edit(withLimits({ body: 48 * 1024 }))).kind).toBe('reloaded');
  expect((await edit(withLimits({ body: 48 * 1024 - 1 }))).kind).toBe('refused');
  const forced = { guard: { force: { '/v2': 'the clients know' } } };
  expect((await edit(withLimits({ body: 1 }, forced))).kind).toBe('reloaded');
  expect(await send('/v2/cocktails', 'xx')).toBe(413);
});

it('knows the size of a body without a length, and of a version of its own', async () => {
  const { edit, send, document } = await startApi();
  expect(await send('/v1/cocktails', chunked(5000))).toBe(200);
  const limited = (version: string, body: number) => ({
    ...document,
    routes: { ...document.routes, [version]: { upstream: document.routes['/v1'], limits: { body } } },
  });
  expect((await edit(limited('/v2', 1))).kind).toBe('reloaded');
  expect(reasonsOf(await edit(limited('/v1', 4999)))).toContain(
    'limits.body changes from 10 MiB to 4,999 bytes, and the largest body of the last 7 days was 5,000 bytes, at',
  );
  expect(reasonsOf(await edit({ ...limited('/v1', 4999), guard: { quiet: '216h' } }))).toContain(
    'and the largest body of the last 9 days was 5,000 bytes, at',
  );
  expect((await edit(limited('/v1', 5000))).kind).toBe('reloaded');
});

it('refuses limits that request targets and heads exceed', async () => {
  const { edit, send, withGatewayLimits } = await startApi();
  const target = `/v2/cocktails?q=${'x'.repeat(2000)}`;
  expect(await send(target, 'x', { 'x-large': 'y'.repeat(3000) })).toBe(200);
  const outcome = await edit(withGatewayLimits({ url: '1KiB', head: '2KiB' }));
  expect(reasonsOf(outcome).split('\n')).toEqual([
    '/v2 answers 414 to requests that it serves now, because gateway.limits.url changes from 8 KiB to 1 KiB, and the longest request target of the last 7 days was 1.9 KiB, at POST /cocktails.',
    expect.stringMatching(
      /^\/v2 answers 431 to requests that it serves now, because gateway\.limits\.head changes from 16 KiB to 2 KiB, and the largest head of the last 7 days was 5\.\d KiB, at POST \/cocktails\.$/,
    ),
  ]);
  expect((await edit(withGatewayLimits({ url: target.length }))).kind).toBe('reloaded');
  expect(await send(target, 'x')).toBe(200);
  expect(await send(`${target}x`, 'x')).toBe(414);
});

it('does not count requests that failed, or that the gateway refused itself', async () => {
  const { edit, send, withLimits } = await startApi();
  const statuses = [
    await send('/v2/refused', 'x'.repeat(2000)),
    await send('/v2/large', chunked(3000)),
    await send('/v3/cocktails', 'x'.repeat(4000)),
  ];
  expect(statuses).toEqual([422, 413, 404]);
  expect((await edit(withLimits({ body: 100 }))).kind).toBe('reloaded');
  expect(await send('/v2/cocktails', 'x'.repeat(2000))).toBe(413);
  expect((await edit(withLimits({ body: 50 }))).kind).toBe('reloaded');
});

it('does not know what a limit would refuse while the ledger is new, or if larger requests hide smaller ones', async () => {
  const backend = await startBackend(() => 200);
  const document = { routes: { '/v1': backend.url } };
  const { edit, post } = await startEdited(document);
  const limited = (body: number, force?: string) => ({
    ...document,
    defaults: { limits: { body } },
    ...(force && { guard: { force: { '/v1': force } } }),
  });
  const outcome = await edit(limited(1000));
  expect(outcome).toMatchObject({ kind: 'refused', refusals: [{ known: false }] });
  expect(reasonsOf(outcome)).toMatch(
    /^\/v1 may refuse requests that it serves now, because limits\.body changes from 10 MiB to 1,000 bytes, and requests in the last 1 day \(guard\.quiet\) may be missing\. The usage ledger begins at /,
  );
  const api = await startApi();
  expect(await api.send('/v1/cocktails', 'x'.repeat(2000))).toBe(200);
  const force = { guard: { force: { '/v1': 'they are warned' } } };
  expect((await api.edit(api.withLimits({ body: 1000 }, force))).kind).toBe('reloaded');
  const hidden = await api.edit(api.withLimits({ body: 500 }));
  expect(hidden).toMatchObject({ kind: 'refused', refusals: [{ known: false }] });
  expect(reasonsOf(hidden)).toMatch(/^\/v1 may answer 413 .+ was 1\.9 KiB, at POST \/cocktails; on \S+ it was larger/);
  const plan = await api.post<Plan>('/api/plan', { since: '7d' });
  expect([plan.known, plan.too_large.map(({ known }) => known)]).toEqual([false, [false]]);
  expect(await post('/api/plan', { since: '7d' })).toMatchObject({ known: false, too_large: [] });
});

it('shows requests that are too large in plan and in check, with and without the gateway', async () => {
  const { send, edit, preview, admin, store, document, close, withLimits } = await startApi();
  expect(await send('/v2/cocktails', 'x'.repeat(48 * 1024))).toBe(200);
  expect(await send('/v1/cocktails', 'x'.repeat(3 * 1024))).toBe(200);
  await preview(withLimits({ body: '1KiB' }));
  const folder = temporaryFolder();
  const write = (name: string, edited: object) => writeFileSync(join(folder, name), JSON.stringify(edited));
  const usage = { store };
  write('same.yaml', { ...document, usage });
  write('new.yaml', { ...withLimits({ body: '1KiB' }), usage });
  write('api.yaml', { ...document, gateway: { base_path: '/api' }, usage });
  const plan = async (file: string, ...more: string[]) => runIn(folder, ['plan', file, ...more]);
  const asked = await plan('new.yaml', '--admin', admin);
  expect(asked.code).toBe(1);
  expect(asked.stdout).toContain(
    'Clients would lose requests: limits.body would be 1 KiB (413), and the largest body at POST /cocktails of /v2 was 48 KiB; 1 more route had such requests.',
  );
  const check = await runIn(folder, ['check', 'new.yaml', '--against-running', '--admin', admin]);
  expect([check.code, check.stdout]).toEqual([
    1,
    expect.stringContaining('/v2 answers 413 to requests that it serves'),
  ]);
  expect((await edit({ ...document, guard: { notice: 'off' } })).kind).toBe('reloaded');
  await close();

  const stored = await plan('new.yaml', '--store', store);
  expect([stored.code, stored.stdout]).toEqual([1, expect.stringContaining('limits.body would be 1 KiB (413)')]);
  const json = JSON.parse((await plan('new.yaml', '--store', store, '--format', 'json')).stdout) as Plan;
  const answer = { part: 'body', status: 413, setting: 'limits.body', limit: 1024, known: true };
  expect(json.too_large).toMatchObject([
    { version: 'v2', route: 'POST /cocktails', largest: 48 * 1024, ...answer },
    { version: 'v1', route: 'POST /cocktails', largest: 3 * 1024, ...answer },
  ]);
  expect((await plan('same.yaml', '--store', store)).code).toBe(0);
  const moved = await plan('api.yaml', '--store', store);
  expect([moved.code, moved.stdout]).toEqual([
    1,
    expect.stringMatching(/would lose 2 of the 2 requests[\s\S]+gateway\.base_path changes from \/ to \/api/),
  ]);
});

it('refuses an adapter that lacks routes in use', async () => {
  const backend = await startBackend((path) => path === '/ingredients' || /^\/drinks\/\d+$/.test(path));
  const v1 = { upstream: backend.url, contract: 'services/v1/contract/openapi.yaml' };
  const v2 = { upstream: backend.url, contract: 'services/v2/contract/openapi.yaml' };
  const { edit, get } = await startEdited({ routes: { '/v1': v1, '/v2': v2 } }, covered);
  expect(await get('/v1/ingredients', '/v1/drinks/7', '/v1/drinks/8', '/v1/wp-login')).toEqual([200, 200, 200, 404]);
  const adapted = (routes: object) => ({
    routes: { '/v1': { ...v1, adapter: { from: '/v2', mode: 'serve', routes } }, '/v2': v2 },
  });
  const id = { 'GET /drinks/{id}': { to: 'GET /cocktails/{id}' } };
  const list = { 'GET /ingredients': { to: 'GET /ingredients' } };
  const lacking = '/v1 answers 410 to requests that it serves now, because its adapter does not serve';
  expect(reasonsOf(await edit(adapted({ ...list, 'GET /drinks/{id}': { gone: 'no' } })))).toContain(
    `${lacking} GET /drinks/{id} (2 in the last 7 days).`,
  );
  expect(reasonsOf(await edit(adapted(id)))).toContain(`${lacking} GET /ingredients (1 in the last 7 days).`);
  // A route whose requests all fail is not in use. The comparisons are missing, which is another reason.
  expect(reasonsOf(await edit(adapted({ ...list, ...id })))).toMatch(/^The adapter of \/v1 cannot serve clients yet/);
  expect(reasonsOf(await edit(adapted({ ...list, ...id })))).not.toContain('answers 410');
});
