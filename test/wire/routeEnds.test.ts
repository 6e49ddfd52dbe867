import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../config/temporary.ts';
import { answer, startBackend } from '../support/backend.ts';
import { refusedUrl, startTestGateway } from '../support/gateway.ts';
import { ask, get, message, post } from '../support/rawClient.ts';
import { type RawResponse, valuesOf } from '../support/response.ts';

const now = '2026-11-21T10:00:00Z';
const info = 'https://example.com/ends';
const pages = ['deprecation', 'sunset'].map((rel) => `<${info}>; rel="${rel}"; type="text/html"`);
const ended = { deprecation: ['@1780272000'], sunset: ['Tue, 01 Jun 2027 12:00:00 GMT'] };
const nothing = { deprecation: [], sunset: [], link: [] };

function lifecycleOf(response: RawResponse) {
  const [deprecation, sunset, link] = ['deprecation', 'sunset', 'link'].map((name) => valuesOf(response, name));
  return { deprecation, sunset, link };
}

/** A contract in which GET of `/drinks/{id}` ends, but not `/drinks/mine`. */
function contract(): string {
  const file = join(temporaryFolder(), 'v1.yaml');
  writeFileSync(
    file,
    `openapi: 3.1.0
info: { title: Cocktails, version: "1" }
paths:
  /v1/drinks/{id}:
    get: { deprecated: true, x-deprecated-since: 2026-06-01, x-sunset: 2027-06-01T12:00:00Z }
    put: {}
  /v1/drinks/mine: { get: {} }
  /v1/replaced:
    get: { deprecated: true, x-deprecated-since: 2020-01-01 }
`,
  );
  return file;
}

const dates = { deprecation: '2026-06-01', sunset: '2027-06-01T12:00:00Z' };

describe('a route that ends in an active major', () => {
  it('announces it on each of its responses, and the other routes of the same backend do not', async () => {
    const { url } = await startBackend(answer(200, 'ok'));
    const ends = { 'GET /legacy-search': dates, 'POST /old': { deprecation: '2026-06-01' } };
    const { port } = await startTestGateway({ '/v1': { upstream: url, info, ends } }, { now });
    const of = async (request: string) => lifecycleOf(await ask(port, request));
    // Alternately, so that no head is kept for the other route.
    for (let round = 0; round < 3; round += 1) {
      expect(await of(get('/v1/legacy-search?q=rum'))).toEqual({ ...ended, link: pages });
      expect(await of(get('/v1/drinks'))).toEqual(nothing);
    }
    expect(await of(message('HEAD /v1/legacy-search HTTP/1.1', 'Host: api.test'))).toEqual({ ...ended, link: pages });
    expect(await of(post('/v1/legacy-search', 'x'))).toEqual(nothing);
    expect(await of(get('/v1/legacy-search/'))).toEqual({ ...ended, link: pages });
    expect(await of(get('/v1/old'))).toEqual(nothing);
    expect(await of(post('/v1/old', 'x'))).toEqual({ ...ended, sunset: [], link: pages.slice(0, 1) });
  });

  it('is still served after its sunset', async () => {
    const { url } = await startBackend(answer(200, 'ok'));
    const ends = { 'GET /a': { deprecation: '2020-01-01', sunset: '2021-01-01' } };
    const { port } = await startTestGateway({ '/v1': { upstream: url, ends } }, { now });
    const response = await ask(port, get('/v1/a'));
    expect([response.status, lifecycleOf(response)]).toEqual([
      200,
      { deprecation: ['@1577836800'], sunset: ['Fri, 01 Jan 2021 00:00:00 GMT'], link: [] },
    ]);
  });

  it('replaces the fields of the backend, which other routes pass on', async () => {
    const own = ['Deprecation: @1', 'Sunset: Thu, 01 Jan 2099 00:00:00 GMT', 'Link: </x>; rel="next"'];
    const { url } = await startBackend(answer(200, 'ok', ...own));
    const { port } = await startTestGateway(
      { '/v1': { upstream: url, prefix: 'forward', ends: { 'GET /a': dates } } },
      { now },
    );
    expect(lifecycleOf(await ask(port, get('/v1/a')))).toEqual({ ...ended, link: ['</x>; rel="next"'] });
    expect(lifecycleOf(await ask(port, get('/v1/b')))).toEqual({
      deprecation: ['@1'],
      sunset: ['Thu, 01 Jan 2099 00:00:00 GMT'],
      link: ['</x>; rel="next"'],
    });
  });

  it('announces it on the errors of the gateway', async () => {
    const upstream = await refusedUrl();
    const { port } = await startTestGateway({ '/v1': { upstream, ends: { 'GET /a': dates } } }, { now });
    const response = await ask(port, get('/v1/a'));
    expect([response.status, lifecycleOf(response)]).toEqual([502, { ...ended, link: [] }]);
  });

  it('links to its counterpart in the next major, if there is one', async () => {
    const { url } = await startBackend(answer(200, 'ok'));
    const ends = { 'GET /drinks/{id}': dates, 'GET /legacy-search': dates };
    const moved = { '/drinks/{id}': '/cocktails/{id}', '/legacy-search': null };
    const { port } = await startTestGateway({ '/v1': { upstream: url, ends, moved }, '/v2': url }, { now });
    expect(lifecycleOf(await ask(port, get('/v1/drinks/7'))).link).toEqual([
      '</v2/cocktails/7>; rel="successor-version"',
    ]);
    expect(lifecycleOf(await ask(port, get('/v1/legacy-search')))).toEqual({ ...ended, link: [] });
  });

  it('may be named by the contract, and routes.yaml replaces its dates', async () => {
    const { url } = await startBackend(answer(200, 'ok'));
    const ends = { 'GET /replaced': { deprecation: '2026-06-01' } };
    const { port } = await startTestGateway({ '/v1': { upstream: url, contract: contract(), ends } }, { now });
    const of = async (request: string) => lifecycleOf(await ask(port, request));
    expect(await of(get('/v1/drinks/7'))).toEqual({ ...ended, link: [] });
    expect(await of(get('/v1/drinks/mine'))).toEqual(nothing);
    expect(await of(message('PUT /v1/drinks/7 HTTP/1.1', 'Host: api.test', 'Content-Length: 0'))).toEqual(nothing);
    expect(await of(get('/v1/replaced'))).toEqual({ ...ended, sunset: [], link: [] });
  });
});

it('a route of a deprecated major has the earlier dates, and the other routes those of the major', async () => {
  const { url } = await startBackend(answer(200, 'ok'));
  const ends = {
    'GET /a': { deprecation: '2026-09-01', sunset: '2027-01-01' },
    'GET /b': { deprecation: '2025-01-01' },
  };
  const { port } = await startTestGateway({ '/v1': { upstream: url, ...dates, ends } }, { now });
  const of = async (path: string) => lifecycleOf(await ask(port, get(path)));
  expect(await of('/v1/a')).toEqual({ ...ended, sunset: ['Fri, 01 Jan 2027 00:00:00 GMT'], link: [] });
  expect(await of('/v1/b')).toEqual({ ...ended, deprecation: ['@1735689600'], link: [] });
  expect(await of('/v1/c')).toEqual({ ...ended, link: [] });
});
