import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { type Answer, answer, type Bytes, type Step } from '../../support/backend.ts';
import { makePair } from '../../support/certificates.ts';
import { eventually } from '../../support/eventually.ts';
import { askHttp2, connectHttp2 } from '../../support/http2Client.ts';
import { expectProblem } from '../../support/problem.ts';
import { ask, get } from '../../support/rawClient.ts';
import { startServed } from './servedVersion.ts';

const limit = 32 * 1024;
const cocktail = '{"title":"Mojito","price":9.5,"glass":"highball"}';
const drink = '{"name":"Mojito","price":"9.50"}';
const json = 'Content-Type: application/json';

function coded(coding: string, body: Uint8Array | string, ...fields: string[]): Buffer {
  const bytes = Buffer.from(body);
  const lines = ['HTTP/1.1 200 OK', ...(fields.length > 0 ? fields : [json]), `Content-Length: ${bytes.length}`];
  if (coding !== '') lines.push(`Content-Encoding: ${coding}`);
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]);
}

function text(body: string): Buffer {
  return coded('', body);
}

function bodiless(line: string, ...fields: string[]): string {
  return ['HTTP/1.1 '.concat(line), ...fields, '', ''].join('\r\n');
}

/** The title of a body of `size` bytes, the body, and the adapted body. */
const titleOf = (size: number): string => 'a'.repeat(size - '{"title":"","price":1}'.length);
const sized = (size: number): string => `{"title":"${titleOf(size)}","price":1}`;
const adaptedOf = (size: number): string => `{"name":"${titleOf(size)}","price":"1.00"}`;
const nested = (price: string, adapted = price): string =>
  `{"${adapted === price ? 'title' : 'name'}":"a","price":${adapted},"x":${'['.repeat(10_000)}${']'.repeat(10_000)}}`;

const gzipped = gzipSync(cocktail);
const bomb = gzipSync(`{"title":"${'a'.repeat(10_000_000)}","price":1}`);

/** What the client gets for responses of the backend. */
const adapted: Readonly<Record<string, readonly [response: Bytes, expected: string]>> = {
  'a coding in capitals': [coded('GZIP', gzipped), drink],
  'x-gzip': [coded('x-gzip', gzipped), drink],
  identity: [coded('identity', cocktail), drink],
  'identity and gzip': [coded('identity, gzip', gzipped), drink],
  deflate: [coded('deflate', deflateSync(cocktail)), drink],
  'two members of gzip': [
    coded('gzip', Buffer.concat([gzipSync(cocktail.slice(0, 9)), gzipSync(cocktail.slice(9))])),
    drink,
  ],
  'a body as large as the limit': [text(sized(limit)), adaptedOf(limit)],
  'a coded body as large as the limit': [coded('gzip', gzipSync(sized(limit))), adaptedOf(limit)],
  'two equal keys and the new one': [
    text('{"title":"a","title":"b","price":1,"name":"c"}'),
    '{"name":"b","price":"1.00"}',
  ],
  'inherited names': [
    text('{"__proto__":{"title":"x"},"title":"a","price":1,"constructor":1}'),
    '{"__proto__":{"title":"x"},"name":"a","price":"1.00","constructor":1}',
  ],
  'half a surrogate pair': [text('{"title":"\\ud800","price":1}'), '{"name":"\\ud800","price":"1.00"}'],
  'an escaped NUL': [text('{"title":"\\u0000","price":1}'), '{"name":"\\u0000","price":"1.00"}'],
  'a number that no double holds, untouched': [
    text('{"title":"a","price":1,"x":-1e400}'),
    '{"name":"a","price":"1.00","x":-1e400}',
  ],
  'minus zero': [text('{"title":"a","price":-0,"x":-0,"y":-0.0}'), '{"name":"a","price":"0.00","x":-0,"y":-0.0}'],
  'a very small number': [text('{"title":"a","price":1e-400}'), '{"name":"a","price":"0.00"}'],
  'no-transform': [coded('', cocktail, json, 'Cache-Control: no-transform'), drink],
  'a 1xx that nobody knows': [`${bodiless('199 X', 'Link: </cocktails/7>')}${answer(200, cocktail, json)}`, drink],
  'extensions of chunks and trailers': [
    `HTTP/1.1 200 OK\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n31;a=b\r\n${cocktail}\r\n0\r\nDigest: x\r\n\r\n`,
    drink,
  ],
  'no content': [bodiless('204 No Content', 'ETag: "a"'), '204'],
  'not modified, without a tag': [bodiless('304 Not Modified'), '304'],
  'an empty error': [bodiless('404 Not Found', json, 'Content-Length: 0'), '404'],
};

const refused: Readonly<Record<string, Bytes>> = {
  'codings in another order': coded('br, gzip', brotliCompressSync(gzipped)),
  'three codings': coded('gzip, gzip, gzip', gzipSync(gzipSync(gzipped))),
  'another coding': coded('gzip', brotliCompressSync(cocktail)),
  'bytes after gzip': coded('gzip', Buffer.concat([gzipped, Buffer.from('xx')])),
  'an end in gzip': coded('gzip', gzipped.subarray(0, -4)),
  'an end in br': coded('br', brotliCompressSync(cocktail).subarray(0, -4)),
  'an end in zstd': coded('zstd', zstdCompressSync(cocktail).subarray(0, -4)),
  'an empty gzip': coded('gzip', ''),
  'a bomb': coded('gzip', bomb),
  'a bomb in a bomb': coded('gzip, gzip', gzipSync(bomb)),
  'a bomb of zstd': coded('zstd', zstdCompressSync(Buffer.alloc(20_000_000, 32))),
  'a byte more than the limit': text(sized(limit + 1)),
  'a byte more than the limit, coded': coded('gzip', gzipSync(sized(limit + 1))),
  'UTF-16 without a charset': coded('', Buffer.from(cocktail, 'utf16le')),
  'UTF-16 with a mark': coded('', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(cocktail, 'utf16le')])),
  'two types': coded('', cocktail, json, 'Content-Type: text/html'),
  'two marks': text(`\ufeff\ufeff${cocktail}`),
  'inherited members only': text('{"__proto__":{"title":"x","price":1}}'),
  'a number with a huge exponent': text('{"title":"a","price":1e999999999}'),
  'a number': text('1'),
  null: text('null'),
  'a list': text('[]'),
  'text after the value': text(`${cocktail}x`),
  'an error page': answer(503, '<html>', 'Content-Type: text/html', 'Retry-After: 5'),
  'a transfer coding': `HTTP/1.1 200 OK\r\n${json}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n31\r\n${cocktail}\r\n0\r\n\r\n`,
};

/** The answers to requests for `/v1/drinks/0` and so on. */
async function answersTo(responses: readonly Bytes[]): Promise<string[]> {
  const script = ({ target }: { readonly target: string }): Answer =>
    responses[Number(target.slice('/cocktails/'.length))] ?? '';
  const { port } = await startServed(script, { adapter: { body: `${limit}B` } });
  const answers: string[] = [];
  for (const index of responses.keys()) {
    const { status, body } = await ask(port, get(`/v1/drinks/${index}`));
    answers.push(status === 200 ? Buffer.from(body, 'latin1').toString() : String(status));
  }
  return answers;
}

it('adapts bodies however they are written', async () => {
  const names = Object.keys(adapted);
  const answers = await answersTo(Object.values(adapted).map(([response]) => response));
  expect(Object.fromEntries(names.map((name, index) => [name, answers[index]]))).toEqual(
    Object.fromEntries(Object.entries(adapted).map(([name, [, expected]]) => [name, expected])),
  );
});

it('refuses bodies that it cannot read', async () => {
  const names = Object.keys(refused);
  const answers = await answersTo(Object.values(refused));
  expect(Object.fromEntries(names.map((name, index) => [name, answers[index]]))).toEqual(
    Object.fromEntries(names.map((name) => [name, '502'])),
  );
});

it('keeps serving after bodies that are nested 10000 deep', async () => {
  const [plain, kept, usual] = await answersTo([text(nested('1')), text(nested('1.0')), text(cocktail)]);
  expect([
    [nested('1', '"1.00"'), '502'].includes(plain ?? ''),
    [nested('1.0', '"1.00"'), '502'].includes(kept ?? ''),
  ]).toEqual([true, true]);
  expect(usual).toBe(drink);
});

it('ends a response without an end at adapter.body, and its connection', async () => {
  const chunk: Step = { write: `400\r\n${' '.repeat(1024)}\r\n` };
  const head: Step = { write: `HTTP/1.1 200 OK\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n` };
  const endless = [head, ...Array<Step>(40).fill(chunk), { wait: new Promise(() => {}) }];
  const { backend, port } = await startServed(endless, { adapter: { body: `${limit}B` } });
  expect(expectProblem(await ask(port, get('/v1/drinks/7')), 502)['code']).toBe('ADAPTER_FAILED');
  await eventually(() => expect(backend.connections[0]?.closed).not.toBe('open'));
});

it('adapts over HTTP/2 with TLS', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'adapted-tls-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  makePair(folder, 'api');
  const tls = { cert: join(folder, 'api.made.crt'), key: join(folder, 'api.made.key') };
  const { port } = await startServed(answer(200, cocktail, json, 'ETag: "a"'), { gateway: { tls } });
  const session = await connectHttp2(`https://127.0.0.1:${port}`);
  expect(await askHttp2(session, '/v1/drinks/7')).toMatchObject({
    status: 200,
    body: drink,
    headers: { etag: 'W/"a-abcdef012345"', 'content-length': String(drink.length) },
  });
});
