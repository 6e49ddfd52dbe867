import { readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestOf } from '../../../../gateway/config/referencedFiles.ts';
import { Documents } from '../../../../gateway/contract/document/documents.ts';
import type { SarifLog } from '../../../../gateway/contracts/compat/report/sarif.ts';
import { type ReplayOptions, replay } from '../../../../gateway/contracts/shadow/replay/replay.ts';
import { type ReplayReport, replayReport } from '../../../../gateway/contracts/shadow/replay/replayReport.ts';
import { ReplayedContract } from '../../../../gateway/contracts/shadow/replay/replayRequests.ts';
import { parseRequestFile } from '../../../../gateway/contracts/shadow/replay/requestFile.ts';
import { temporaryFolder } from '../../../config/temporary.ts';
import { deepRef, deepSchemas } from '../../../contract/schema/deepSchemas.ts';
import { runIn } from '../../../process/cli/io.ts';
import { start } from '../../../services/start.ts';
import { startBackend } from '../../../support/backend.ts';
import { sarifFaults } from '../../compat/report/sarifSchema.ts';
import type { JsonSchema } from '../pairs.ts';
import { seededDifferences } from '../seeded.ts';

const fast = ['--rate', '10000'];
const secret = 'a-value-that-must-not-be-printed';

/** A server that answers every request with JSON. `paths`: what it was asked. */
async function jsonServer(bodyOf: (url: string) => unknown, statusOf: (url: string) => number = () => 200) {
  const paths: string[] = [];
  const fields: (string | undefined)[][] = [];
  const listener: RequestListener = ({ url = '', method, headers }, response) => {
    paths.push(`${method} ${url}`);
    fields.push([headers['x-shadow'] as string, headers.authorization, headers['accept-language']]);
    response.statusCode = statusOf(url);
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify(bodyOf(url)));
  };
  const { url } = await start(listener);
  return { url, paths, fields };
}

/** A contract with these operations: `get` by path. */
function contractOf(paths: Readonly<Record<string, object>>): string {
  const written = Object.entries(paths).map(([path, operation]) => [path, { get: operation }]);
  return JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Drinks', version: '1' },
    paths: Object.fromEntries(written),
  });
}

function answering(schema: JsonSchema | undefined, parameters: readonly object[] = []): object {
  return { parameters, responses: { 200: { description: '', content: { 'application/json': { schema } } } } };
}

/** Runs the command in a folder with these files; objects are written as JSON. */
async function replayIn(files: Readonly<Record<string, unknown>>, args: readonly string[]) {
  const folder = temporaryFolder();
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  return runIn(folder, ['replay', ...args]);
}

const withContracts = ['--contract-v1', 'v1.json', '--contract-v2', 'v2.json'];
const drink = { type: 'object', required: ['id'], properties: { id: { type: 'integer' }, glass: { type: 'string' } } };

describe('replay', () => {
  it('finds the seeded differences between two servers', async () => {
    // test/contracts/shadow/compare/compare.test.ts checks all of them without servers.
    const seeds = seededDifferences
      .filter((one) => one.options === undefined && one.newOptions === undefined)
      .filter((_one, index) => index % 4 === 0);
    expect(seeds.length).toBeGreaterThan(12);
    const server = (side: 'before' | 'after') =>
      jsonServer((url) => {
        const [, seed = '', index = ''] = /^\/base\/(\d+)\?i=(\d+)$/.exec(url) ?? [];
        return seeds[Number(seed)]?.[side](Number(index));
      });
    const [v1, v2] = [await server('before'), await server('after')];
    const contract = (side: 'old' | 'new') =>
      contractOf(Object.fromEntries(seeds.map((one, index) => [`/${index}`, answering(one[side])])));
    const requests = seeds.flatMap((_seed, seed) =>
      Array.from({ length: 40 }, (_one, i) => ({ route: `GET /${seed}`, query: { i } })),
    );
    const { code, stdout, stderr } = await replayIn(
      { 'v1.json': contract('old'), 'v2.json': contract('new'), 'requests.json': { format: 1, requests } },
      [
        'requests.json',
        ...['--v1', `${v1.url}/base`, '--v2', `${v2.url}/base/`],
        ...[...withContracts, ...fast, '--format', 'json'],
      ],
    );
    expect([code, stderr]).toEqual([1, '']);
    const report = JSON.parse(stdout) as ReplayReport;
    const missed = seeds.filter((seed, index) => {
      const { differences = [] } = report.routes.find(({ route }) => route === `GET /${index}`) ?? {};
      return !differences.some(
        (one) => one.class === seed.class && `${one.path} ${one.what} ${one.detail}`.trim().startsWith(seed.at),
      );
    });
    expect(missed.map(({ name }) => name)).toEqual([]);
  });

  it('finds nothing between two servers that differ by chance', async () => {
    const body = () => ({ id: 1, ...(Math.random() < 0.8 && { glass: 'coupe' }), extra: [] });
    const [v1, v2] = [await jsonServer(body), await jsonServer(body)];
    const contract = contractOf({ '/drinks': answering(drink) });
    const { code, stdout } = await replayIn(
      { 'v1.json': contract, 'v2.json': contract, 'r.json': { format: 1, requests: [{ route: 'GET /drinks' }] } },
      ['r.json', '--v1', v1.url, '--v2', v2.url, ...withContracts, ...fast],
    );
    expect(stdout).toContain('no undeclared difference and 0 declared in 40 pairs of 1 route.');
    expect(code).toBe(0);
    // 40 requests and a control for every second pair.
    expect([v1.paths.length, v2.paths.length]).toEqual([60, 40]);
  });

  it('completes requests with values of the contracts, and sends none with a guessed path', async () => {
    const server = () => jsonServer(() => ({ id: 1 }));
    const [v1, v2] = [await server(), await server()];
    const text = { type: 'string' };
    const old = contractOf({
      '/drinks/{id}': answering(drink, [
        { name: 'id', in: 'path', schema: text, examples: { a: { value: 'a b' }, b: { value: 'ü/' } } },
      ]),
      '/sizes/{size}': answering(drink, [{ name: 'size', in: 'path', schema: { enum: ['s'] } }]),
      '/guests/{name}': answering(drink, [{ name: 'name', in: 'path', schema: text }]),
      '/bars/{bar}': answering(drink, [{ name: 'bar', in: 'path', schema: { type: 'integer' } }]),
      '/search': answering(drink, [
        { name: 'q', in: 'query', required: true, schema: { type: 'string', pattern: '^[xyz]{2}$' } },
        { name: 'page', in: 'query', schema: { type: 'integer', default: 3 } },
        { name: 'tags', in: 'query', schema: { type: 'array' }, explode: false, example: ['a', 'b'] },
        { name: 'Accept-Language', in: 'header', required: true, schema: { type: 'array' }, example: ['de', 'en'] },
      ]),
    });
    const now = contractOf({
      '/cocktails/{cocktail}': answering(drink, [{ name: 'cocktail', in: 'path', schema: text }]),
      '/strict': answering(drink, [{ name: 'base', in: 'query', required: true }]),
      '/bars/{id}': answering(drink, [{ name: 'id', in: 'path', schema: { type: 'integer' }, example: 12 }]),
    });
    const requests = [
      { route: 'GET /drinks/{drink}', to: '/cocktails/{drink}' },
      { route: 'head /v1/sizes/{size}' },
      { route: 'GET /guests/{name}' },
      { route: 'GET /guests/{name}', to: null },
      { route: 'GET /strict' },
      { route: 'GET /strict?base=gin' },
      { route: 'GET /bars/{bar}' },
      { route: 'GET /search?x=1', query: { page: { type: 'integer' }, tags: { type: 'array' }, u: ['1', '2'] } },
    ];
    const { code, stdout, stderr } = await replayIn(
      { 'v1.json': old, 'v2.json': now, 'r.json': { format: 1, version: 'v1', requests } },
      [
        ...['r.json', '--v1', v1.url, '--v2', `${v2.url}/v2`, ...withContracts, ...fast, '--repeat', '2'],
        ...['--header', `Authorization: Bearer ${secret}`, '--fail-on', 'none', '--format', 'json'],
      ],
    );
    expect([code, stderr]).toEqual([0, '']);
    const sent = new Set(v1.paths.map((path) => path.replace(/(?<=&q=)[xyz]{2}$/, '…')));
    expect([...sent].sort()).toEqual([
      'GET /bars/12',
      'GET /drinks/%C3%BC%2F',
      'GET /drinks/a%20b',
      'GET /search?x=1&page=3&tags=a%2Cb&u=1&u=2&q=…',
      'GET /strict?base=gin',
      'HEAD /v1/sizes/s',
    ]);
    // The URL of the new version ends with v2 already.
    expect(v2.paths).toContain('HEAD /v2/sizes/s');
    expect(new Set(v2.paths)).toContain('GET /v2/cocktails/a%20b');
    expect(new Set(v1.fields.map((one) => one.join()))).toEqual(
      new Set([`1,Bearer ${secret},`, `1,Bearer ${secret},de,en`]),
    );
    const report = JSON.parse(stdout) as ReplayReport;
    expect(report.no_evidence).toEqual([
      { route: 'GET /guests/{name}', why: expect.stringContaining('{name} has no value') },
      { route: 'GET /guests/{name}', why: 'it has no counterpart in the new version' },
      { route: 'GET /strict', why: expect.stringContaining('requires the query parameter base') },
    ]);
    expect(report.notes).toEqual(['The contract of /v1 does not have GET /strict.']);
    expect(report.routes.map(({ route }) => route)).toContain('GET /drinks/{id}');
    expect(stdout).not.toContain(secret);
  });

  it('sends lists as OpenAPI serializes them, and query parameters by their exact names', async () => {
    const headers: unknown[] = [];
    const { url } = await start(({ url: target, headers: { 'x-list': list } }, response) => {
      headers.push([target, list]);
      response.setHeader('Content-Type', 'application/json').end('{}');
    });
    const array = (name: string, place: string, more = {}) => {
      return { name, in: place, required: true, schema: { type: 'array' }, example: ['a b', 'c'], ...more };
    };
    const old = contractOf({
      '/drinks/{ids}': answering({}, [
        array('ids', 'path'),
        array('X-List', 'header'),
        array('tags', 'query', { style: 'pipeDelimited' }),
        { name: 'Size', in: 'query', required: true, example: 'l' },
      ]),
      '/bars': answering({}, []),
    });
    const now = contractOf({
      '/bars': answering({}, [{ name: 'city', in: 'query', required: true, schema: {} }]),
    });
    const requests = [
      { route: 'GET /drinks/{ids}?size=s' },
      {
        route: 'GET /drinks/{ids}?size=m&Size=m',
        path: { ids: ['1', '2/3'] },
        headers: { 'x-list': { type: 'array', value: ['1', '2'] } },
      },
      { route: 'GET /bars?City=Rome' },
      { route: 'GET /menu/{a}-{b}.json', to: '/menu/{b}/{a}', path: { a: 'x-y', b: 'z' } },
      { route: 'GET /files/{base-name}-{v}', to: '/files/{v}/{base-name}', path: { 'base-name': 'list', v: '2' } },
    ];
    const { stdout } = await replayIn({ 'v1.json': old, 'v2.json': now, 'r.json': { format: 1, requests } }, [
      ...['r.json', '--v1', url, '--v2', url, ...withContracts, ...fast, '--repeat', '1', '--format', 'json'],
    ]);
    expect(new Map(headers as [string, string][])).toEqual(
      new Map([
        ['/drinks/a%20b,c?size=s&tags=a%20b%7Cc&Size=l', 'a b,c'],
        ['/drinks/1,2%2F3?size=m&Size=m&tags=a%20b%7Cc', '1,2'],
        ['/menu/x-y-z.json', undefined],
        ['/menu/z/x-y', undefined],
        ['/files/list-2', undefined],
        ['/files/2/list', undefined],
      ]),
    );
    expect((JSON.parse(stdout) as ReplayReport).no_evidence).toEqual([
      {
        route: 'GET /bars',
        why: 'the new version requires the query parameter city, and the request does not have it',
      },
    ]);
  });

  it('takes paths and contracts from routes.yaml, and points to the contract in SARIF', async () => {
    const [v1, v2] = [await jsonServer(() => ({ id: 1 })), await jsonServer(() => ({ id: 'x' }))];
    const routes = {
      '/v1': {
        upstream: 'http://127.0.0.1:1',
        contract: 'v1.json',
        moved: { '/drinks/{id}': '/cocktails/{id}', '/old': null },
      },
      '/v2': { upstream: 'http://127.0.0.1:1', contract: 'v2.json' },
    };
    const requests = [{ route: 'GET /drinks/7' }, { route: 'GET /old' }, { route: 'GET /drnks/7', to: '/cocktails/7' }];
    const { code, stdout } = await replayIn(
      {
        'v1.json': contractOf({ '/v1/drinks/{id}': answering(drink), '/old': answering(drink) }),
        'v2.json': contractOf({ '/cocktails/{id}': answering(drink) }),
        'routes.yaml': JSON.stringify({ routes }),
        'r.json': { format: 1, contracts: { v1: 'another' }, requests },
      },
      ['r.json', '--v1', v1.url, '--v2', v2.url, '--config', 'routes.yaml', ...fast, '--format', 'sarif'],
    );
    expect(code).toBe(1);
    const log = JSON.parse(stdout) as SarifLog;
    expect(sarifFaults(log)).toEqual([]);
    const [{ results, invocations }] = log.runs;
    expect(results.map(({ ruleId, message }) => `${ruleId} ${message.text}`)).toContain(
      'undeclared-difference GET /drinks/{id} response 200: /id type number → string, in 40 of 40 pairs: the new contract does not allow it.',
    );
    expect(results[0]?.locations[0].physicalLocation).toMatchObject({
      artifactLocation: { uri: expect.stringMatching(/v2\.json$/) },
      region: { startLine: 1 },
    });
    expect(invocations[0]?.toolExecutionNotifications.map(({ message }) => message.text)).toEqual([
      'The contract of /v1 is not the one that the requests were exported with.',
      'The contract of /v1 does not have GET /drnks/{}. Did you mean /drinks/{id}?',
      'No evidence: GET /old: it has no counterpart in the new version',
    ]);
  });

  it('recognizes the contract that the requests were exported with, even with a byte order mark', async () => {
    const { url } = await jsonServer(() => ({ id: 1 }));
    const contract = `\uFEFF${contractOf({ '/drinks': answering(drink) })}`;
    const file = { format: 1, contracts: { v1: digestOf(contract) }, requests: [{ route: 'GET /drinks' }] };
    const { stdout } = await replayIn({ 'v1.json': contract, 'v2.json': contract, 'r.json': file }, [
      ...['r.json', '--v1', url, '--v2', url, ...withContracts, ...fast, '--repeat', '1', '--format', 'json'],
    ]);
    expect((JSON.parse(stdout) as ReplayReport).notes).toEqual([]);
  });

  it('says in SARIF how many differences of a route are not listed', async () => {
    const own = Object.fromEntries(Array.from({ length: 60 }, (_one, index) => [`own${index}`, 1]));
    const [v1, v2] = [await jsonServer(() => ({ id: 1, ...own })), await jsonServer(() => ({ id: 1 }))];
    const document = contractOf({ '/drinks': answering(drink) });
    const { code, stdout } = await replayIn(
      { 'v1.json': document, 'v2.json': document, 'r.json': { format: 1, requests: [{ route: 'GET /drinks' }] } },
      ['r.json', '--v1', v1.url, '--v2', v2.url, ...withContracts, ...fast, '--format', 'sarif'],
    );
    const { runs } = JSON.parse(stdout) as SarifLog;
    expect([code, runs[0]?.results.length]).toEqual([1, 50]);
    expect(JSON.stringify(runs[0]?.invocations)).toContain('GET /drinks has 10 more differences.');
  });

  it('says what has no evidence, and does not pass if nothing was compared', async () => {
    const refusing = await jsonServer(
      () => ({ error: 1 }),
      () => 404,
    );
    const failing = await jsonServer(
      () => ({}),
      (url) => (url === '/a' ? 500 : 200),
    );
    const file = { format: 1, requests: [{ route: 'GET /a' }] };
    const refused = await replayIn({ 'r.json': file }, ['r.json', '--v1', refusing.url, '--v2', refusing.url, ...fast]);
    expect(refused.stdout).toMatch(/No evidence\n {2}GET \/a {2}the old version answered only 404\n$/);
    expect(refused.stderr).toMatch(/^\/v1 answered every request with an error, .* Check --v1 and --header\.\n$/);
    expect(refused.code).toBe(2);
    const failed = await replayIn({ 'r.json': file }, ['r.json', '--v1', failing.url, '--v2', refusing.url, ...fast]);
    expect(failed.stdout).toMatch(/^No responses of \/v1 and \/v2 were compared\..*the old version answered 500\n$/s);
    expect([failed.code, failed.stderr]).toEqual([2, 'Nothing was compared.\n']);
  });

  it('survives servers that are endless, broken, no API or slow', async () => {
    const chunk = 'a'.repeat(4096);
    const hostile = await startBackend(({ raw }) => {
      const route = /^GET \/(\w+)/.exec(raw)?.[1];
      const head = (type: string, ...more: string[]) => `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\n${more.join('')}`;
      switch (route) {
        case 'endless':
          return [
            {
              write: `${head('application/json', 'Transfer-Encoding: chunked\r\n')}\r\n1000\r\n${chunk}\r\n1000\r\n${chunk}`,
            },
          ];
        case 'reset':
          return [{ write: 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{' }, { reset: true }];
        case 'html':
          return `${head('text/html')}Content-Length: 6\r\n\r\n<html>`;
        case 'gzip':
          return `${head('application/json', 'Content-Encoding: gzip\r\n')}Content-Length: 2\r\n\r\n{}`;
        case 'text':
          return 'hello\n';
        default:
          return `${head('application/json')}Content-Length: 2\r\n\r\n{}`;
      }
    });
    const good = await jsonServer(() => ({}));
    const routes = ['fine', 'endless', 'reset', 'html', 'gzip', 'text'];
    const none = new ReplayedContract(undefined, 'v1');
    const { requests } = parseRequestFile(
      JSON.stringify({ format: 1, requests: routes.map((route) => ({ route: `GET /${route}` })) }),
      'file',
      0,
    );
    const options: ReplayOptions = {
      old: { version: 'v1', url: new URL(good.url) },
      new: { version: 'v2', url: new URL(hostile.url) },
      versions: { old: none, new: none, toNewPath: (path) => path },
      requests,
      fields: [],
      rate: 10_000,
      repeat: 2,
      limits: { timeout: 60_000, body: 6000 },
      notes: [],
    };
    const outcome = await replay(options);
    if ('side' in outcome) throw new Error(outcome.reason);
    const report = replayReport(options, outcome);
    expect(report.no_evidence.map(({ route, why }) => `${route}: ${why}`).sort()).toEqual([
      'GET /endless: the new version: a response of more than 5.859375 KiB',
      'GET /gzip: the new version: a content coding that is unknown or wrong',
      'GET /reset: the new version: ECONNRESET',
      'GET /text: the new version: HPE_INVALID_CONSTANT',
    ]);
    const compared = report.routes.map(({ route, skipped }) => [route, skipped.map(({ reason }) => reason).join()]);
    expect(compared).toEqual([
      ['GET /fine', ''],
      ['GET /html', 'not JSON'],
    ]);
    const slow = await startBackend([]);
    const old = { version: 'v1', url: new URL(slow.url) };
    const one = { ...options, old, requests: requests.slice(0, 1), limits: { timeout: 100, body: 6000 } };
    expect(await replay(one)).toEqual({ side: 'old', reason: 'no complete response within 0.1 s' });
  });

  it('compares the other routes if the schemas of one are nested too deeply, and does not say yes', async () => {
    const paths = { '/deep': answering(deepRef), '/drinks': answering(drink) };
    const contract = JSON.stringify({ ...JSON.parse(contractOf(paths)), components: { schemas: deepSchemas() } });
    const requests = Object.keys(paths).map((path) => ({ route: `GET ${path}` }));
    const files = { 'v1.json': contract, 'v2.json': contract, 'r.json': { format: 1, requests } };
    const { url } = await jsonServer(() => ({ id: 1 }));
    const run = (...options: string[]) =>
      replayIn(files, ['r.json', '--v1', url, '--v2', url, ...withContracts, ...fast, ...options]);
    const { code, stdout } = await run();
    expect(code).toBe(3);
    expect(stdout).toContain(
      'no undeclared difference and 0 declared in 40 pairs of 1 route. Differences of GET /deep are not known, because the comparison failed.\n',
    );
    expect(stdout).toContain('GET /drinks  40 pairs, 20 control pairs\n');
    expect(stdout).toMatch(/\n {2}GET \/deep {2}the comparison failed: GET \/deep: .* nested too deeply/);
    const json = await run('--format', 'json');
    expect([json.code, (JSON.parse(json.stdout) as ReplayReport).known]).toEqual([3, false]);
    expect((await run('--fail-on', 'none')).code).toBe(0);
    const sarif = await run('--format', 'sarif');
    expect(JSON.parse(sarif.stdout).runs[0].invocations[0].executionSuccessful).toBe(false);
    const only = { ...files, 'r.json': { format: 1, requests: requests.slice(0, 1) } };
    const failed = await replayIn(only, ['r.json', '--v1', url, '--v2', url, ...withContracts, ...fast]);
    expect([failed.code, failed.stderr]).toEqual([3, '']);
    const accepting = [...withContracts, ...fast, '--fail-on', 'none'];
    expect((await replayIn(only, ['r.json', '--v1', url, '--v2', url, ...accepting])).code).toBe(3);
  });

  it('stops when a server stops to answer', async () => {
    let count = 0;
    const dying = await startBackend(() => {
      count += 1;
      return count < 4 ? 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}' : [{ reset: true }];
    });
    const good = await jsonServer(() => ({}));
    const requests = Array.from({ length: 30 }, (_one, index) => ({ route: `GET /${index}/x` }));
    const { code, stdout, stderr } = await replayIn({ 'r.json': { format: 1, requests } }, [
      ...['r.json', '--v1', good.url, '--v2', dying.url, ...fast, '--fail-on', 'none'],
    ]);
    expect(stdout).toContain(
      'The new version does not answer any more: ECONNRESET. The remaining requests were not sent.',
    );
    expect([code, stderr]).toEqual([2, 'Not all requests were sent.\n']);
  });

  const ok = { format: 1, requests: [{ route: 'GET /a' }] };
  it.each<[name: string, file: unknown, message: string]>([
    ['no JSON', `{"format": 1,\n "requests": [${secret}]}`, 'r.json:2:15: is not JSON.'],
    ['nothing', '', 'r.json:1:1: is not JSON.'],
    ['an HTML page', '<html></html>', 'is not JSON.'],
    ['other JSON', { openapi: '3.1.0' }, 'is not a file of requests: it has no `format`.'],
    ['a newer format', { ...ok, format: 2 }, 'has the format 2, and this release reads format 1.  Use a newer release'],
    ['an expired file', { ...ok, expires: '2026-01-01T00:00:00Z' }, 'expired at 2026-01-01T00:00:00Z.  Make a new one'],
    ['a wrong date', { ...ok, expires: 'soon' }, 'expires: must match format "date-time"'],
    ['an unknown key', { ...ok, request: [] }, 'unknown key request'],
    ['a missing route', { format: 1, requests: [{}] }, 'requests[0]: `route` is missing'],
    ['POST', { format: 1, requests: [{ route: 'POST /a' }] }, 'requests[0].route: only GET and HEAD are sent'],
    [
      '_method',
      { format: 1, requests: [{ route: 'GET /a?_method=DELETE' }] },
      'requests[0]: remove the field or parameter',
    ],
    [
      'X-HTTP-Method-Override',
      { format: 1, requests: [{ route: 'GET /a', headers: { 'X-HTTP-Method-Override': 'PUT' } }] },
      'requests[0]: remove the field or parameter',
    ],
    ['no path', { format: 1, requests: [{ route: 'GET drinks' }] }, 'requests[0].route: the path must begin with /'],
    [
      'a path that leads out',
      { format: 1, requests: [{ route: 'GET /a/%2e./b' }] },
      'requests[0].route: the path must',
    ],
    [
      'a value that leads out',
      { format: 1, requests: [{ route: 'GET /{a}', path: { a: '..' } }] },
      'requests[0].path.a: the value',
    ],
    [
      'an unknown parameter',
      { format: 1, requests: [{ route: 'GET /a', path: { id: secret } }] },
      'requests[0].path: route has no {id}',
    ],
    [
      'an object as value',
      { format: 1, requests: [{ route: 'GET /a', query: { a: { b: secret } } }] },
      'requests[0].query.a: unknown key b',
    ],
    [
      'a wrong type',
      { format: 1, requests: [{ route: 'GET /a', query: { a: { type: 'text' } } }] },
      'requests[0].query.a.type: must be string, integer',
    ],
    [
      'too many parameters',
      { format: 1, requests: [{ route: 'GET /a', to: '/{b}' }] },
      'requests[0].to: it has more parameters than route',
    ],
    [
      'a field of the connection',
      { format: 1, requests: [{ route: 'GET /a', headers: { Host: secret } }] },
      'Host cannot be given',
    ],
    [
      'a line break',
      { format: 1, requests: [{ route: 'GET /a', headers: { a: `${secret}\r\nb: c` } }] },
      'the value of a has characters',
    ],
    ['__proto__', '{"format":1,"requests":[{"route":"GET /a","__proto__":{}}]}', 'requests[0]: unknown key __proto__'],
  ])('refuses a file with %s', async (_name, file, message) => {
    const result = await replayIn({ 'r.json': file }, [
      'r.json',
      '--v1',
      'http://127.0.0.1:1',
      '--v2',
      'http://127.0.0.1:1',
    ]);
    expect([result.code, result.stdout]).toEqual([2, '']);
    expect(result.stderr).toContain(message);
    expect(result.stderr).not.toContain(secret);
  });

  it.each<[name: string, args: string[], message: string]>([
    [
      'no server',
      [],
      '--v1 http://127.0.0.1:1/ does not answer: ECONNREFUSED.  Check that /v1 runs there, or correct --v1.',
    ],
    ['no URL', ['--v1', 'localhost:3001'], '--v1 is not a URL.  Write one such as'],
    ['a password in a URL', ['--v1', `http://a:${secret}@localhost`], '--v1 has a user name or password.'],
    ['a query in a URL', ['--v1', `http://localhost/?a=${secret}`], '--v1 has a query or a fragment.'],
    ['a field without a name', ['--header', secret], 'A --header has no name.'],
    ['a field of the connection', ['--header', `Host: ${secret}`], 'A --header cannot be sent: Host cannot be given'],
    ['a field with a line break', ['--header', `X-A: ${secret}\nX-B: 1`], 'the value of X-A has characters'],
    [
      'two sources of contracts',
      ['--config', 'routes.yaml', '--contract-v1', 'a'],
      '--config names the contracts already',
    ],
    ['a missing contract', ['--contract-v1', 'a.yaml'], 'a.yaml: cannot be read: there is no such file.'],
    ['no rate', ['--rate', '0'], 'Write a number above 0 and up to 10000'],
  ])('refuses options with %s', async (_name, args, message) => {
    const result = await replayIn({ 'r.json': ok }, [
      'r.json',
      '--v1',
      'http://127.0.0.1:1',
      '--v2',
      'http://127.0.0.1:1',
      ...args,
    ]);
    expect([result.code, result.stdout]).toEqual([2, '']);
    expect(result.stderr).toContain(message);
    expect(result.stderr).not.toContain(secret);
  });

  it('says that a server does not speak TLS', async () => {
    const { url } = await jsonServer(() => ({}));
    const args = ['r.json', '--v1', url.replace('http:', 'https:'), '--v2', url];
    const { code, stderr } = await replayIn({ 'r.json': ok }, args);
    expect(stderr).toMatch(
      /does not answer: EPROTO. {2}It does not speak TLS: write http:\/\/ instead of https:\/\/\./,
    );
    expect(code).toBe(2);
  });

  it('reads the example', () => {
    const text = readFileSync('examples/replay-requests.json', 'utf8');
    const { requests } = parseRequestFile(text, 'example', Date.now());
    expect(requests.length).toBeGreaterThan(3);
    expect(requests.map(({ path }) => path)).toContain('/drinks/{id}');
  });
});

it('takes examples of a referenced parameter', () => {
  const id = { name: 'id', in: 'path', required: true, schema: { $ref: '#/components/schemas/Id' } };
  const root = {
    openapi: '3.0.3',
    paths: { '/drinks/{id}': { parameters: [{ $ref: '#/components/parameters/id' }], get: { responses: {} } } },
    components: { parameters: { id }, schemas: { Id: { type: 'integer', example: 7 } } },
  };
  const noFiles = (): never => {
    throw new Error('The contract refers to no other file.');
  };
  const contract = new ReplayedContract(new Documents({ name: 'contract', root }, noFiles), 'v1');
  const parameter = contract.parametersOf(contract.routeOf('GET', '/drinks/{id}'), 'path').get('id');
  expect(parameter && contract.examplesOf(parameter)).toEqual([7]);
});

it('sends the requests to a version of an API below its segment', async () => {
  const [v1, v2] = [await jsonServer(() => ({ id: 1 })), await jsonServer(() => ({ id: 1 }))];
  const [old, now] = ['/v1/drinks', '/v2/drinks'].map((path) => contractOf({ [path]: answering(drink) }));
  const requests = [{ route: 'GET /v1/drinks', to: '/v2/drinks' }];
  const file = { format: 1, version: 'orders/v1', to: 'orders/v2', requests };
  const args = ['r.json', '--v1', v1.url, '--v2', `${v2.url}/v2`, ...withContracts, ...fast];
  const { code, stderr } = await replayIn({ 'v1.json': old, 'v2.json': now, 'r.json': file }, args);
  expect([code, stderr]).toEqual([0, '']);
  expect(new Set([...v1.paths, ...v2.paths])).toEqual(new Set(['GET /v1/drinks', 'GET /v2/drinks']));
});
