import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ActiveGrease } from '../../../gateway/contracts/grease/greasedExchange.ts';
import { type Answer, answer, inPieces } from '../../support/backend.ts';
import { askHttp2, connectHttp2 } from '../../support/http2Client.ts';
import { expectProblem } from '../../support/problem.ts';
import { ask, connectTo, get, message } from '../../support/rawClient.ts';
import { membersOf, type RawResponse, singleValueOf, valuesOf } from '../../support/response.ts';
import { contract, startGreased } from './greasedVersion.ts';

const json = 'Content-Type: application/json';
const grease = 'Prefer: grease';
const drink = '{ "name" : "Mojito",\n"tags":{"a":"b"}, "size":{"ml":200}, "maker":{"city":"Havana"} }';
const greasedDrink =
  /^\{ "name" : "Mojito",\n"tags":\{"a":"b"\}, "size":\{"ml":200\}, "maker":\{"city":"Havana","(x_grease_[0-9a-f]{4})":true\} ,"\1":true\}$/;

async function drinkFrom(script: Answer, ...fields: string[]): Promise<RawResponse> {
  const { port } = await startGreased(script);
  return ask(port, get('/v1/drinks/7', grease, ...fields));
}

function expectUnchanged(response: RawResponse, body: string): void {
  expect([response.status, response.body]).toEqual([200, body]);
  expect(valuesOf(response, 'preference-applied')).toEqual([]);
  expect(membersOf(response, 'vary')).toContain('Prefer');
}

/** Accepts only the members that it knows. */
function strictClient(body: string): string {
  const { name, tags, size, maker, ...unknown } = JSON.parse(body) as Record<string, unknown>;
  if (Object.keys(unknown).length > 0) throw new TypeError(`unknown: ${Object.keys(unknown).join()}`);
  return JSON.stringify({ name, tags, size, maker });
}

function lenientClient(body: string): string {
  const { name, maker } = JSON.parse(body) as { readonly name: string; readonly maker: { readonly city: string } };
  return `${name} of ${maker.city}`;
}

describe.each([
  ['the fast lane', 'auto'],
  ['node:http', 'off'],
])('unknown members on request, over %s', (_name, lane) => {
  const gateway = { fast_lane: lane };

  it('are in open objects that the contract describes, and nowhere else', async () => {
    const { port, backend } = await startGreased(answer(200, drink, json, 'ETag: W/"1"'), { gateway });
    const client = await connectTo(port);
    for (const _ of [1, 2]) {
      client.send(get('/v1/drinks/7', grease, 'Accept-Encoding: gzip'));
      const response = await client.response();
      expect(response.body).toMatch(greasedDrink);
      expect(singleValueOf(response, 'content-length')).toBe(String(response.body.length));
      expect(singleValueOf(response, 'preference-applied')).toBe('grease');
      expect(singleValueOf(response, 'vary')).toBe('Prefer');
      expect(singleValueOf(response, 'etag')).toBe('W/"1"');
    }
    expect(backend.bytes).toMatch(/\r\nAccept-Encoding: identity\r\n/);
    expect(backend.bytes).not.toMatch(/gzip/);
    expect(backend.bytes).toMatch(/\r\nPrefer: grease\r\n/);
  });

  it('break a strict client, and not a lenient one', async () => {
    const { port } = await startGreased(answer(200, drink, json), { gateway });
    const [plain, greased] = [await ask(port, get('/v1/drinks/7')), await ask(port, get('/v1/drinks/7', grease))];
    expect(strictClient(plain.body)).toBe(JSON.stringify(JSON.parse(drink)));
    expect(() => strictClient(greased.body)).toThrow(/unknown: x_grease_/);
    expect(lenientClient(greased.body)).toBe('Mojito of Havana');
  });

  it('are not sent without the preference, but Vary is', async () => {
    const { port, backend } = await startGreased(answer(200, drink, json, 'Vary: Accept'), { gateway });
    const response = await ask(port, get('/v1/drinks/7', 'Accept-Encoding: gzip', 'Prefer: return=minimal'));
    expectUnchanged(response, drink);
    expect(singleValueOf(response, 'vary')).toBe('Accept, Prefer');
    expect(backend.bytes).toMatch(/\r\nAccept-Encoding: gzip\r\n/);
  });

  it('are sent for a body in chunks, and for a slow one', async () => {
    const chunks = `5\r\n${drink.slice(0, 5)}\r\n${(drink.length - 5).toString(16)}\r\n${drink.slice(5)}\r\n0\r\n\r\n`;
    const bytes = `HTTP/1.1 200 OK\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`;
    const { port } = await startGreased(inPieces(bytes, 40), { gateway });
    const response = await ask(port, get('/v1/drinks/7', grease));
    expect(response.body).toMatch(greasedDrink);
    expect(response.framing).toBe('length');
  });

  it('are not in a response to HEAD, whose head is otherwise that of GET', async () => {
    const { port } = await startGreased(
      ({ method }) =>
        answer(200, drink, json, 'X-A: 1', 'Accept-Ranges: bytes').slice(
          0,
          method === 'HEAD' ? -drink.length : undefined,
        ),
      { gateway },
    );
    const [greased, plain] = [
      await ask(port, message('HEAD /v1/drinks/7 HTTP/1.1', 'Host: a', grease)),
      await ask(port, message('HEAD /v1/drinks/7 HTTP/1.1', 'Host: a')),
    ];
    expect(singleValueOf(greased, 'preference-applied')).toBe('grease');
    expect([singleValueOf(greased, 'x-a'), singleValueOf(greased, 'accept-ranges')]).toEqual(['1', undefined]);
    expect(valuesOf(greased, 'content-length')).toEqual([]);
    expect(singleValueOf(plain, 'content-length')).toBe(String(drink.length));
  });

  it('are left out of a body over 256 KiB, which is passed on as it arrives', async () => {
    const long = `{"name":"${'a'.repeat(300 * 1024)}"}`;
    const chunked = `HTTP/1.1 200 OK\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n${long.length.toString(16)}\r\n${long}\r\n0\r\n\r\n`;
    for (const bytes of [answer(200, long, json), chunked]) {
      const { port } = await startGreased(bytes, { gateway });
      expectUnchanged(await ask(port, get('/v1/drinks/7', grease)), long);
    }
  });

  it('are left out of a response that ends early, which is an error', async () => {
    const cut = answer(200, drink, json).slice(0, -5);
    const { port } = await startGreased([{ write: cut }, { end: true }], { gateway });
    expectProblem(await ask(port, get('/v1/drinks/7', grease)), 502);
  });
});

it('are sent to clients with HTTP/2', async () => {
  const { port } = await startGreased(answer(200, drink, json), { gateway: { h2c: 'on' } });
  const session = await connectHttp2(`http://127.0.0.1:${port}`);
  const [greased, plain] = [
    await askHttp2(session, '/v1/drinks/7', { prefer: 'grease' }),
    await askHttp2(session, '/v1/drinks/7'),
  ];
  expect(greased.body).toMatch(greasedDrink);
  expect([greased.headers['preference-applied'], greased.headers.vary]).toEqual(['grease', 'Prefer']);
  expect([plain.body, plain.headers['preference-applied'], plain.headers.vary]).toEqual([drink, undefined, 'Prefer']);
});

describe('a response stays as it is', () => {
  it.each([
    ['with Digest', 'Digest: sha-256=abc='],
    ['with Repr-Digest', 'Repr-Digest: sha-256=:abc=:'],
    ['with Content-Digest', 'Content-Digest: sha-256=:abc=:'],
    ['with Content-MD5', 'Content-MD5: abc='],
    ['with a signature', 'Signature: sig1=:abc=:'],
    ['with no-transform', 'Cache-Control: max-age=5, No-Transform'],
    ['with a strong ETag', 'ETag: "1"'],
  ])('%s', async (_case, field) => {
    const response = await drinkFrom(answer(200, drink, json, field));
    expectUnchanged(response, drink);
    const [name = '', value] = field.split(': ');
    expect(singleValueOf(response, name)).toBe(value);
  });

  it.each([
    ['of another media type', answer(200, drink, 'Content-Type: application/vnd.a+json')],
    ['of a problem', answer(200, drink, 'Content-Type: application/problem+json')],
    ['in another charset', answer(200, drink, `${json}; charset=utf-16`)],
    ['without a media type', answer(200, drink)],
  ])('%s', async (_case, bytes) => expectUnchanged(await drinkFrom(bytes), drink));

  it.each([
    ['invalid', '{"name":"a",}'],
    ['cut', '{"name":"a"'],
    ['empty', ''],
    ['not UTF-8', '{"name":"\xff"}'],
    ['after a byte order mark', '\xef\xbb\xbf{"name":"a"}'],
    ['not an object', '"a"'],
    ['two values', '{"name":"a"}{}'],
  ])('if the JSON is %s', async (_case, body) => expectUnchanged(await drinkFrom(answer(200, body, json)), body));

  it('if it is compressed', async () => {
    const body = gzipSync(drink).toString('latin1');
    expectUnchanged(await drinkFrom(answer(200, body, json, 'Content-Encoding: gzip')), body);
  });

  it.each([
    ['asks for a part', 'Range: bytes=0-99'],
    ['forbids changes', 'Cache-Control: no-transform'],
  ])('if the request %s', async (_case, field) => {
    expectUnchanged(await drinkFrom(answer(200, drink, json), field), drink);
  });

  it('if it is an error, or answers another method or an unknown route', async () => {
    const { port } = await startGreased(({ raw }) => answer(raw.includes('/drinks/7') ? 404 : 200, drink, json));
    for (const request of [
      get('/v1/drinks/7', grease),
      get('/v1/unknown', grease),
      message('POST /v1/drinks HTTP/1.1', 'Host: a', 'Content-Length: 0', grease),
    ]) {
      const response = await ask(port, request);
      expect(response.body).toBe(drink);
      expect([valuesOf(response, 'preference-applied'), singleValueOf(response, 'vary')]).toEqual([[], 'Prefer']);
    }
  });
});

it('answers of the gateway itself also vary by the preference', async () => {
  const { port } = await startGreased(answer(200, drink, json), { version: { upstream: 'http://127.0.0.1:1' } });
  const refused = await ask(port, get('/v1/drinks/7', grease));
  expectProblem(refused, 502, 503);
  expect(singleValueOf(refused, 'vary')).toBe('Prefer');
});

it('a version without the key ignores the preference', async () => {
  const routes = { '/v2': { upstream: 'BACKEND', contract: 'v1.json' } };
  const { port, backend } = await startGreased(answer(200, drink, json), { routes });
  const response = await ask(port, get('/v2/drinks/7', grease, 'Accept-Encoding: br'));
  expect([response.body, valuesOf(response, 'vary')]).toEqual([drink, []]);
  expect(backend.bytes).toMatch(/\r\nAccept-Encoding: br\r\n/);
});

it('a version that is served by an adapter gets its members after the adapter', async () => {
  const contractWith = (path: string, field: string): object => {
    const schema = { type: 'object', required: [field], properties: { [field]: { type: 'string' } } };
    const parameters = [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }];
    const responses = { '200': { description: '', content: { 'application/json': { schema } } } };
    return {
      openapi: '3.1.0',
      info: { title: 'A', version: '1' },
      paths: { [path]: { get: { parameters, responses } } },
    };
  };
  const routes = {
    'GET /drinks/{id}': { to: 'GET /cocktails/{id}', response: { 200: [{ rename: { title: 'name' } }] } },
  };
  const { port } = await startGreased(answer(200, '{"title":"Mojito"}', json, 'ETag: "1"'), {
    version: { upstream: undefined, adapter: { from: '/v2', mode: 'serve', routes } },
    routes: { '/v2': { upstream: 'BACKEND', contract: 'v2.json' } },
    files: { 'v1.json': contractWith('/drinks/{id}', 'name'), 'v2.json': contractWith('/cocktails/{id}', 'title') },
  });
  const [greased, plain] = [await ask(port, get('/v1/drinks/7', grease)), await ask(port, get('/v1/drinks/7'))];
  expect(greased.body).toMatch(/^\{"name":"Mojito","x_grease_[0-9a-f]{4}":true\}$/);
  expect(singleValueOf(greased, 'content-length')).toBe(String(greased.body.length));
  expect(singleValueOf(greased, 'etag')).toBe(singleValueOf(plain, 'etag'));
  expect([plain.body, singleValueOf(plain, 'vary')]).toEqual(['{"name":"Mojito"}', 'Prefer']);
});

it('the index and the migration guide show the command', async () => {
  const routes = { '/v2': { upstream: 'BACKEND', contract: 'v1.json', grease: 'request' } };
  const { port } = await startGreased(answer(200, drink, json), {
    gateway: { public_url: 'https://api.example' },
    version: { guide: true, deprecation: '2020-01-01', grease: 'off' },
    routes,
  });
  const command = "curl -i -H 'Prefer: grease' https://api.example/v2/drinks";
  const index = await ask(port, get('/', 'Accept: application/json'));
  const { versions } = JSON.parse(index.body) as { readonly versions: readonly { readonly grease?: string }[] };
  expect(versions.map(({ grease: one }) => one)).toEqual([undefined, command]);
  const page = await ask(port, get('/', 'Accept: text/html'));
  expect(page.body).toContain(`<code>${command.replaceAll("'", '&#39;')}</code>`);
  const guide = await ask(port, get('/guides/v1-to-v2.md'));
  expect(guide.body).toContain(`To test this, use \`${command}\``);
});

it('the command in the index names no route of an unpublished contract, and none that the adapter does not serve', async () => {
  const adapted = { 'GET /drinks': { gone: 'no list' }, 'GET /tree': { to: 'GET /tree' } };
  const { port } = await startGreased(answer(200, drink, json), {
    version: { contract: { file: 'v1.json', publish: false } },
    routes: {
      '/v2': { contract: 'v1.json', grease: 'request', adapter: { from: '/v3', mode: 'serve', routes: adapted } },
      '/v3': { contract: 'v3.json', grease: 'request', upstream: 'BACKEND' },
    },
    files: { 'v3.json': { ...contract, info: { title: 'Drinks', version: '3' } } },
  });
  const index = await ask(port, get('/', 'Accept: application/json'));
  const { versions } = JSON.parse(index.body) as { readonly versions: readonly { readonly grease?: string }[] };
  expect(versions.map((one) => one.grease?.split('HOST')[1])).toEqual(['/v1', '/v2/tree', '/v3/drinks']);
});

it('keeps at most 16 MiB of bodies', () => {
  const active = new ActiveGrease(JSON.stringify({ takenNames: [], nodes: [], routes: [] }));
  const mebibyte = 1024 * 1024;
  expect([active.reserve(16 * mebibyte), active.reserve(1)]).toEqual([true, false]);
  active.free(mebibyte);
  expect([active.reserve(mebibyte), active.reserve(1)]).toEqual([true, false]);
});
