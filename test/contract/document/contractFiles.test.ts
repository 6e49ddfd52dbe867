import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Documents } from '../../../gateway/contract/document/documents.ts';
import type { WebLimits } from '../../../gateway/contract/source/web.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { startForwardProxy } from '../../support/forwardProxy.ts';
import { drinkOf, errorMessage, open, referring, write } from './openContract.ts';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
  vi.unstubAllEnvs();
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Documents by path; a number is a status, a path begins a redirect. */
function site(pages: Readonly<Record<string, string | number>>): {
  readonly requested: string[];
  readonly listener: RequestListener;
} {
  const requested: string[] = [];
  const listener: RequestListener = (req, res) => {
    const page = pages[req.url ?? ''] ?? 404;
    requested.push(req.url ?? '');
    if (typeof page === 'number') res.writeHead(page).end();
    else if (page.startsWith('to ')) res.writeHead(302, { location: page.slice(3) }).end('moved');
    else res.end(page);
  };
  return { requested, listener };
}

function openReferring(
  ref: string,
  remote: Partial<WebLimits> = {},
  more: Record<string, string> = {},
): Promise<Documents> {
  const folder = temporaryFolder();
  write(folder, { 'x.json': referring(ref), ...more });
  return open('x.json', folder, { allowRemote: true, remote });
}

/** The reason why the `$ref` cannot be followed. */
async function reasonFor(ref: string, remote?: Partial<WebLimits>): Promise<string> {
  const documents = await openReferring(ref, remote);
  const words = await errorMessage(() => drinkOf(documents));
  const head = `x.json#/components/schemas/Drink: refers to ${JSON.stringify(ref)}, which `;
  return words.startsWith(head) ? words.slice(head.length) : words;
}

describe('with remote $refs allowed', () => {
  it('documents and the documents that they refer to are fetched in advance, each once', async () => {
    const { requested, listener } = site({
      '/api/a.yaml': 'Drink: { $ref: "../shared/b.json#/Drink" }\nAgain: { $ref: a.yaml#/Drink }\n',
      '/shared/b.json': '{"Drink":{"type":"number"},"Other":{"$ref":"c.yaml"}}',
      '/shared/c.yaml': 'type: string\n',
    });
    const base = await serve(listener);
    const documents = await openReferring(`${base}/api/a.yaml#/Drink`);
    servers.splice(0).map((server) => server.close());
    const drink = drinkOf(documents);
    expect([drink.value, drink.place.file.name]).toEqual([{ type: 'number' }, `${base}/shared/b.json`]);
    expect(requested.sort()).toEqual(['/api/a.yaml', '/shared/b.json', '/shared/c.yaml']);
  });

  it('a local file may refer to a web document', async () => {
    const base = await serve(site({ '/a.yaml': 'type: number\n' }).listener);
    const documents = await openReferring('y.yaml', {}, { 'y.yaml': `$ref: ${base}/a.yaml\n` });
    expect(drinkOf(documents).value).toEqual({ type: 'number' });
  });

  it('redirects are followed, and relative $refs are resolved against the last URL', async () => {
    const base = await serve(
      site({ '/old': 'to /new/a.yaml', '/new/a.yaml': '$ref: b.yaml\n', '/new/b.yaml': 'type: number\n' }).listener,
    );
    expect(drinkOf(await openReferring(`${base}/old`)).value).toEqual({ type: 'number' });
  });

  it('the fragment of a redirect is ignored', async () => {
    const base = await serve(site({ '/old': 'to /new.yaml#part', '/new.yaml': 'type: number\n' }).listener);
    expect(drinkOf(await openReferring(`${base}/old`)).place.file.name).toBe(`${base}/new.yaml`);
  });

  it.each([
    ['/none', 'returns 404'],
    ['/broken', 'returns 500'],
    ['/round', 'redirects more than 5 times'],
    ['/file', 'redirects to file:, which is not followed'],
    ['/nowhere', 'redirects to data:, which is not followed'],
    ['/large', 'is 0.0 MiB long, but at most 0.0 MiB are read'],
    ['/utf16', 'is not UTF-8: the first invalid bytes are in line 1'],
  ])('%s %s', async (path, words) => {
    const pages = {
      '/broken': 500,
      '/round': 'to /round',
      '/file': 'to file:///etc/passwd',
      '/nowhere': 'to data:,x',
      '/large': 'x'.repeat(5000),
    };
    const { listener } = site(pages);
    const base = await serve((req, res) =>
      req.url === '/utf16' ? res.end(Buffer.from([0x61, 0xff])) : listener(req, res),
    );
    expect(await reasonFor(`${base}${path}`, { maxBytes: 4000 })).toBe(words);
  });

  it('an error in a document is reported with its place in it', async () => {
    const base = await serve(site({ '/a.yaml': 'a: 1\na: 2\n' }).listener);
    expect(await reasonFor(`${base}/a.yaml`)).toBe(`${base}/a.yaml:2:1: has the key "a" here for the second time`);
  });

  it('a web document cannot refer to a local file', async () => {
    const base = await serve(site({ '/a.yaml': '$ref: file:///etc/hostname\n' }).listener);
    const words = await reasonFor(`${base}/a.yaml`);
    expect(words).toBe(`${base}/a.yaml#: refers to "file:///etc/hostname", which a web document must not refer to`);
  });

  it('a server that does not answer, or sends without end, is given up', async () => {
    const silent = await serve(() => undefined);
    const endless = await serve((_req, res) => void res.write('a: 1\n'));
    expect(await reasonFor(`${silent}/a.yaml`, { documentMs: 200 })).toBe('cannot be fetched: the request timed out');
    expect(await reasonFor(`${endless}/a.yaml`, { documentMs: 200 })).toBe('cannot be fetched: the request timed out');
    expect(await reasonFor(`${silent}/a.yaml`, { totalMs: 200 })).toBe('cannot be fetched: the request timed out');
  });

  it('a refused connection', async () => {
    const base = await serve(() => undefined);
    await new Promise((resolve) => servers.splice(0)[0]?.close(resolve));
    expect(await reasonFor(`${base}/a.yaml`)).toBe('cannot be fetched: ECONNREFUSED');
  });

  it('a compressed document is decoded, within the limit of its size', async () => {
    const text = `type: number\n# ${'x'.repeat(10_000)}\n`;
    const base = await serve((req, res) => {
      expect(req.headers['accept-encoding']).toBe('gzip, deflate, br');
      const coding = req.url?.slice(1) ?? '';
      const body = coding === 'br' ? brotliCompressSync(text) : gzipSync(text);
      res.writeHead(200, { 'content-encoding': coding }).end(body);
    });
    for (const coding of ['gzip', 'br'])
      expect(drinkOf(await openReferring(`${base}/${coding}`)).value).toEqual({ type: 'number' });
    expect(await reasonFor(`${base}/gzip`, { maxBytes: 4000 })).toContain('at most 0.0 MiB are read');
    expect(await reasonFor(`${base}/compress`)).toBe('has an unknown or wrong content coding');
  });

  it('the proxy of the environment is used, except for the hosts of NO_PROXY', async () => {
    const { requested, listener } = site({ '/a.yaml': 'type: number\n' });
    const base = await serve(listener);
    const { port } = new URL(base);
    const proxy = await startForwardProxy({ 'contracts.example': Number(port) });
    vi.stubEnv('HTTP_PROXY', proxy.url);
    vi.stubEnv('NO_PROXY', '127.0.0.1');
    expect(drinkOf(await openReferring('http://contracts.example/a.yaml')).value).toEqual({ type: 'number' });
    expect(proxy.requested).toEqual(['GET http://contracts.example/a.yaml']);
    expect(drinkOf(await openReferring(`${base}/a.yaml`)).value).toEqual({ type: 'number' });
    expect([proxy.requested.length, requested.length]).toEqual([1, 2]);
  });

  it('https: documents are requested with CONNECT', async () => {
    const proxy = await startForwardProxy({}, { refusing: 403 });
    vi.stubEnv('HTTPS_PROXY', proxy.url);
    expect(await reasonFor('https://contracts.example/a.yaml')).toBe('cannot be fetched: the proxy answers 403');
    expect(proxy.requested).toEqual(['CONNECT contracts.example:443']);
  });

  it('a private address is refused where only public networks are allowed, also after a redirect', async () => {
    const { requested, listener } = site({ '/a.yaml': 'type: number\n' });
    const base = await serve(listener);
    const { port } = new URL(base);
    const named = `http://localhost:${port}/a.yaml`;
    const refused = /^cannot be fetched: the address (?:127\.0\.0\.1|::1) is not public$/;
    for (const url of [`${base}/a.yaml`, named]) expect(await reasonFor(url, { networks: 'public' })).toMatch(refused);
    // The first host is only reached through the proxy, so its address is unknown here.
    const redirecting = site({ '/literal': `to ${base}/a.yaml`, '/named': `to ${named}` });
    const proxy = await startForwardProxy({
      'contracts.example': Number(new URL(await serve(redirecting.listener)).port),
    });
    vi.stubEnv('HTTP_PROXY', proxy.url);
    vi.stubEnv('NO_PROXY', 'localhost');
    for (const path of ['literal', 'named'])
      expect(await reasonFor(`http://contracts.example/${path}`, { networks: 'public' })).toMatch(refused);
    expect(redirecting.requested).toEqual(['/literal', '/named']);
    expect(requested).toEqual([]);
  });

  it('a password in a URL is masked', async () => {
    const words = await reasonFor('http://barista:s3cret@127.0.0.1:1/a.yaml');
    expect(words).toContain('http://***@127.0.0.1:1/a.yaml');
    expect(words).not.toContain('s3cret');
  });

  it('the number of documents and their total size are limited', async () => {
    const chain: RequestListener = (req, res) => {
      const index = Number(req.url?.slice(1));
      res.end(`$ref: /${index + 1}\n# ${'x'.repeat(1000)}\n`);
    };
    const base = await serve(chain);
    expect(await reasonFor(`${base}/0`, { documents: 5 })).toContain(
      `refers to "/5", which exceeds the limit of 5 web documents`,
    );
    expect(await reasonFor(`${base}/0`, { totalBytes: 3500 })).toContain(
      `refers to "/3", which exceeds the total size of web documents`,
    );
  });

  it('a document that no $ref needs may be missing', async () => {
    const folder = temporaryFolder();
    const base = await serve(site({}).listener);
    write(folder, { 'x.yaml': `openapi: 3.1.0\nx-example: { $ref: "${base}/none", other: { $ref: none.yaml } }\n` });
    expect((await open('x.yaml', folder, { allowRemote: true })).root.place.file.name).toBe('x.yaml');
  });
});

it('without permission nothing is fetched', async () => {
  const { requested, listener } = site({ '/a.yaml': 'type: number\n' });
  const folder = temporaryFolder();
  write(folder, { 'x.json': referring(`${await serve(listener)}/a.yaml`) });
  const documents = await open('x.json', folder);
  expect(await errorMessage(() => drinkOf(documents))).toContain('is on the web, and is not fetched');
  expect(requested).toEqual([]);
});

it('compat refuses private addresses with --remote-networks public', async () => {
  const { requested, listener } = site({ '/a.yaml': 'type: number\n' });
  const folder = temporaryFolder();
  const ref = `${await serve(listener)}/a.yaml`;
  const path = {
    get: { responses: { 200: { description: '', content: { 'application/json': { schema: { $ref: ref } } } } } },
  };
  const contract = { openapi: '3.1.0', info: { title: 'Drinks', version: '1' }, paths: { '/drinks': path } };
  write(folder, { 'old.json': JSON.stringify(contract), 'new.json': JSON.stringify({ ...contract, tags: [] }) });
  const compared = await runIn(folder, ['compat', 'old.json', 'new.json', '--allow-remote']);
  expect([compared.code, requested.length]).toEqual([0, 2]);
  const args = ['compat', 'old.json', 'new.json', '--allow-remote', '--remote-networks', 'public'];
  const { code, stderr } = await runIn(folder, args);
  expect([code, requested.length]).toEqual([2, 2]);
  expect(stderr).toContain(
    'cannot be fetched: the address 127.0.0.1 is not public.  Allow it with --remote-networks any, or keep a local copy.',
  );
});
