import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { parseConfig } from '../../../gateway/config/load.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { prepareAdaptersAndGrease } from '../../../gateway/process/runtime/adapterCheck.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { serveInProcess } from '../../../gateway/process/runtime/inProcess.ts';
import { namingRulesIdOf } from '../../../gateway/usage/counting/identification.ts';
import { brownoutKey } from '../../../gateway/versions/lifecycle/brownouts.ts';
import { freezeKey } from '../../../gateway/versions/restrictions/knownClients.ts';
import { anonymous } from '../../support/anonymous.ts';
import { answer, type Backend, startBackend } from '../../support/backend.ts';
import { fastLane, refusedUrl } from '../../support/gateway.ts';
import { hostOf } from '../../support/hostOf.ts';
import { chunked, connectTo, get, message, post } from '../../support/rawClient.ts';

// Below its base, an API of a host with several APIs answers byte for byte what a gateway of its own answers with this base path. Its
// backends get the same bytes, too. The one exception is tested in severalApis.test.ts: a backend that answers with the path `/v6/x`, which lacks its base.

// A file with every stage and every restriction. In it, the brownout of v5 runs at this time.
const file = resolve('test/fixtures/golden/every-feature/routes.yaml');
const now = Date.parse('2031-03-03T10:10:00Z');
const clock = { now: () => now };

type Routes = Record<string, Record<string, unknown>>;

/** The routes of an API. They differ between the APIs, so that an answer for another API would be noticed. */
interface Api {
  readonly base: string;
  edit(routes: Routes): Routes;
}

const apis: readonly Api[] = [
  { base: '', edit: ({ '/v4': v4 = {}, '/v6': v6 = {} }) => ({ '/v4': v4, '/v6': v6 }) },
  { base: '/orders', edit: (routes) => routes },
  {
    base: '/a',
    edit: ({ '/v5': v5 = {}, '/v6': v6 = {} }) => ({
      '/v5': { ...v5, sunset: '2032-05-31', brownouts: [{ at: '2031-03-03T10:00Z', for: '2h', clients: '50%' }] },
      '/v6': { ...v6, deprecation: undefined, sunset: undefined, prefix: 'forward' },
    }),
  },
  {
    base: '/a/b',
    edit: ({ '/v9': _, '/v4': v4, ...routes }) => ({ ...routes, '/v4': { ...v4, info: undefined, prefix: 'forward' } }),
  },
];

const locationsIn = (target: string): string[] => [...new URL(target, 'http://x').searchParams.getAll('to')];

/** Answers with its name and what it was asked, and with the URLs that the query names. */
function startNamedBackend(name: string): Promise<Backend> {
  return startBackend(({ target, method }) => {
    // An adapter refuses a price that is no number.
    const price = target.includes('/8') ? 'none' : 12.5;
    const body = JSON.stringify({ id: 7, name, title: name, price, target });
    const fields = locationsIn(target).flatMap((to) => [
      `Location: ${to}`,
      `Content-Location: ${to}`,
      `Link: <${to}>; rel="next"`,
      `Refresh: 5; url=${to}`,
      `Set-Cookie: a=b; Path=${to}`,
      `Set-Cookie: __Host-a=b; Path=/`,
      'Sunset: Sat, 30 Jun 2029 00:00:00 GMT',
    ]);
    const response = answer(200, body, 'Content-Type: application/json', ...fields);
    return method === 'HEAD' ? response.slice(0, response.indexOf('\r\n\r\n') + 4) : response;
  });
}

/** The snapshot of a gateway that serves only this API, and what its backends have received. */
async function snapshotOf(api: Api, basePath: string) {
  const backends = new Map<string, Backend>();
  const { routes, usage, ...others } = parse(readFileSync(file, 'utf8'));
  const edited = api.edit(routes);
  for (const [key, route] of Object.entries(edited)) {
    const { shadow: _s, drift: _d, ...kept } = { ...route };
    edited[key] = kept;
    if (kept['upstream'] === undefined) continue;
    delete kept['health'];
    delete kept['tls'];
    const backend = await startNamedBackend(`${api.base || 'root'}${key}`);
    backends.set(key, backend);
    // v8 cannot be reached.
    kept['upstream'] = key === '/v8' ? await refusedUrl() : backend.url;
    if (kept['waivers']) kept['waivers'] = [{ client: 'x-client-id:late', until: '2031-09-01', reason: 'a contract' }];
  }
  const config = {
    defaults: others.defaults,
    retire: others.retire,
    brownout: { ...others.brownout, status: api.base === '/a' ? 410 : 503 },
    usage: { identify: usage.identify, tag_key: usage.tag_key },
    gateway: {
      listen: '127.0.0.1:0',
      admin: '127.0.0.1:0',
      public_url: 'https://api.example.test',
      base_path: basePath || '/',
      self_service: 'on',
      limits: { url: '1KiB' },
      ...fastLane,
    },
    routes: edited,
  };
  const { snapshot, faults } = await prepareAdaptersAndGrease(parseConfig(JSON.stringify(config), file, { clock }), 1);
  expect(faults).toEqual([]);
  if (!snapshot) throw new Error('no snapshot');
  return { snapshot: { ...snapshot, filesChangedAt: now - 3_600_000 }, backends: [...backends.values()] };
}

/** Starts a gateway in which all brownouts and freezes are in force, and no client is known from before the freezes. */
async function start(snapshot: Snapshot) {
  const { sortedVersions, usage } = snapshot;
  const brownouts = new Set(
    sortedVersions.flatMap(({ name, brownouts: all }) => all.map((one) => brownoutKey(name, one))),
  );
  const clientLinesByFreeze = new Map(
    sortedVersions.flatMap(({ name, freeze }) => (freeze ? [[freezeKey(name, freeze), '']] : [])),
  );
  const known = { namingRulesId: namingRulesIdOf(usage.identify, ''), clientLinesByFreeze };
  const running = await startGateway(snapshot, {
    clock,
    serve: async (one, options) => {
      const serving = await serveInProcess(one, { ...options, restrictions: { brownouts, known } });
      // Without a ledger, the operating side would end them all.
      return Object.defineProperty(serving, 'restrict', { value: async () => {} });
    },
  });
  onTestFinished(() => running.close());
  return running;
}

const close = 'Connection: close';
const discovery = ['', '/', '/lifecycle.ics', '/lifecycle.atom'];
const pages = [
  ...['/contracts/v4.yaml', '/contracts/v5.yaml', '/contracts/v6.json', '/contracts/v9.yaml', '/contracts/v77.yaml'],
  ...['/guides/v4-to-v6', '/guides/v5-to-v6.md', '/guides/v1-to-v4', '/guides/v6-to-v7', '/guides/v4-to-x-v6'],
];
const resources = [
  '/drinks/7',
  '/drinks/8',
  '/legacy-search?q=1',
  '/export',
  '/cocktails/7',
  '',
  '/',
  '?x',
  '//x',
  '/drinks/mine/',
];
const urls = ['/x', '/drinks/7', 'x', 'https://other.test/v6/x', '//api.test/x', 'https://api.example.test/x'];

/** Requests to paths below `base`, which is '' or `/orders`. `hasOwnRoot`: its index and dates are those of this API only. */
function* corpus(base: string, hasOwnRoot: boolean): Generator<string> {
  for (const path of hasOwnRoot ? [...discovery, ...pages] : pages) {
    yield get(`${base}${path}` || '/', close, 'Accept: application/json');
    yield get(`${base}${path}?a=b` || '/', close, 'Accept: text/html', 'Origin: https://app.test');
    yield message(`GET http://api.test${base}${path} HTTP/1.1`, 'Host: api.test', close);
    for (const method of ['HEAD', 'OPTIONS', 'DELETE', 'POST'])
      yield message(`${method} ${base}${path} HTTP/1.1`, 'Host: api.test', close, 'Content-Length: 0');
  }
  // Paths of a backend that adds its prefix itself, also one with a version that the API at the root lacks.
  const locations = [...urls, `${base}/v6/x`, `${base}/v9/x`, ...(hasOwnRoot ? [] : ['/v6/x'])];
  for (let major = 0; major <= 10; major += 1) {
    const version = `${base}/v${major}`;
    for (const resource of resources) yield get(version + resource, close);
    for (const to of locations) yield get(`${version}/drinks/7?to=${encodeURIComponent(to)}`, close);
    for (const client of ['late', 'next', 'one', 'two', 'three', 'spared', 'monitor'])
      yield get(`${version}/drinks/7`, close, `X-Client-Id: ${client}`, 'Origin: https://app.test');
    for (const method of ['HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'TRACE'])
      yield message(`${method} ${version}/drinks/7 HTTP/1.1`, 'Host: api.test', close, 'Content-Length: 0');
    yield message(
      `OPTIONS ${version}/drinks/7 HTTP/1.1`,
      ...['Host: api.test', 'Origin: https://app.test', 'Access-Control-Request-Method: GET', close],
    );
    yield get(`${version}/cocktails/7`, close, 'Prefer: grease');
    yield post(`${version}/drinks`, 'x'.repeat(100), close);
    yield chunked(`${version}/drinks`, '64\r\n'.concat('x'.repeat(100), '\r\n0\r\n\r\n'), close);
    yield message(`GET ${version}/drinks/7 HTTP/1.0`, 'Host: api.test');
    yield message(`GET ${version}/drinks/7 HTTP/1.1`, close);
    yield message(`POST ${version}/x HTTP/1.1`, 'Host: api.test', 'Expect: magic', 'Content-Length: 1', close);
    yield get(`${version}/x`, 'Connection: Upgrade, close', 'Upgrade: chat');
  }
  for (const path of [
    '/v99/x',
    '/v06/x',
    '/V6/x',
    '/v6%2fx',
    '/v/x',
    '//v6/x',
    '/x/v6',
    '/contracts',
    '/versions/me',
    '/%76',
  ])
    yield get(base + path, close);
  yield get(`${base}/${'x'.repeat(1100)}`, close);
  yield get(`${base}/../v6`, close);
}

async function receivedFrom(port: number, request: string): Promise<string> {
  const client = await connectTo(port);
  // Ids of the gateway grow from time to time by a character.
  client.send(request.replace('\r\n', '\r\nX-Request-Id: id\r\n'));
  const { leftover } = await client.closed();
  return anonymous(leftover, port);
}

it.each(['', '/api'])('each API of a host below "%s" answers as a gateway of its own', async (hostPath) => {
  const alone = await Promise.all(
    apis.map(async (api) => ({ base: api.base, ...(await snapshotOf(api, hostPath + api.base)) })),
  );
  const [root, ...others] = alone;
  if (!root) throw new Error('no API');
  const host = await start(hostOf(root.snapshot, Object.fromEntries(others.map((one) => [one.base, one.snapshot]))));
  const differing: object[] = [];
  const kinds = new Set<string>();
  for (const { base, snapshot, backends } of alone) {
    const own = await start(snapshot);
    // The requests that the backends have received since the last call.
    const counts = backends.map(() => 0);
    const newRequests = (): string[] =>
      backends.flatMap(({ requests }, at) => {
        const received = requests.slice(counts[at]);
        counts[at] = requests.length;
        return received.map(({ raw }) => anonymous(anonymous(raw, own.port), host.port));
      });
    for (const request of corpus(hostPath + base, base !== '')) {
      const expected = { received: await receivedFrom(own.port, request), sent: newRequests() };
      const actual = { received: await receivedFrom(host.port, request), sent: newRequests() };
      if (JSON.stringify(actual) !== JSON.stringify(expected))
        differing.push({ request: request.slice(0, 300), actual, expected });
      kinds.add(/"code":"(\w+)"/.exec(expected.received)?.[1] ?? expected.received.slice(9, 12));
    }
  }
  expect(differing).toEqual([]);
  // The corpus reaches all that may differ between APIs.
  expect([...kinds]).toEqual(
    expect.arrayContaining([
      ...['200', '204', 'ADAPTER_FAILED', 'BODY_TOO_LARGE', 'NOT_FOUND', 'ROUTE_NOT_ADAPTED', 'TARGET_REFUSED'],
      ...['UNKNOWN_VERSION', 'VERSION_BROWNOUT', 'VERSION_FROZEN', 'VERSION_RETIRED'],
    ]),
  );
});
