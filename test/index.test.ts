import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import express from 'express';
import { expect, it, onTestFinished } from 'vitest';
import { createVersionGateway, type VersionGatewayOptions } from '../gateway/index.ts';
import { temporaryFolder } from './config/temporary.ts';
import { startBackend } from './support/backend.ts';
import { echoBackend, host, usageIn } from './support/embeddedServer.ts';
import { eventually } from './support/eventually.ts';
import { singleValueOf } from './support/response.ts';

/** An app that answers every path, and a gateway in front of it. */
async function mounted(config: string | object, options?: VersionGatewayOptions): Promise<string> {
  const gateway = createVersionGateway(config, options);
  onTestFinished(() => gateway.close());
  const app = express();
  app.use(gateway);
  app.use((req, res) => void res.send(`host ${req.path}`));
  return (await host(app)).url;
}

const withContracts = (upstream: string) => ({
  routes: {
    '/v1': {
      upstream,
      deprecation: '2026-01-01',
      guide: true,
      contract: resolve('services/v1/contract/openapi.yaml'),
    },
    '/v2': { upstream, contract: resolve('services/v2/contract/openapi.yaml') },
  },
});
const discovered = [
  '/',
  '/.well-known/api-catalog',
  '/contracts/v1.yaml',
  '/guides/v1-to-v2',
  '/lifecycle.ics',
  '/lifecycle.atom',
];
const textOf = async (url: string): Promise<string> => (await fetch(url)).text();

it('leaves the index, the contracts, the guides and the API catalog to its host', async () => {
  const url = await mounted(withContracts(await echoBackend()));
  for (const path of discovered) expect(await textOf(url + path)).toBe(`host ${path}`);
  const answer = await fetch(`${url}/v1/cocktails`);
  expect(await answer.text()).toBe('backend /cocktails');
  // No link to a guide that is not served.
  expect(answer.headers.get('link')).toBe('</v2/cocktails>; rel="successor-version"');
});

it('exports no spans: it samples new traces as without `telemetry`, and passes on those of clients', async () => {
  const backend = await startBackend();
  const telemetry = { otlp: 'http://127.0.0.1:1', sample: '0%' };
  const url = await mounted({ routes: { '/v1': backend.url }, telemetry });
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await fetch(`${url}/v1/x`);
  await fetch(`${url}/v1/x`, { headers: { traceparent } });
  const [made, kept] = backend.requests.map((request) => singleValueOf(request, 'traceparent'));
  expect(made).toMatch(/-01$/);
  expect(kept).toBe(traceparent);
});

it('answers them with `discovery: true`', async () => {
  const url = await mounted(withContracts(await echoBackend()), { discovery: true });
  for (const path of discovered) expect(await textOf(url + path)).not.toBe(`host ${path}`);
  expect((await fetch(`${url}/v1/cocktails`)).headers.get('link')).toContain('</guides/v1-to-v2>; rel="deprecation"');
  expect(await textOf(`${url}/about`)).toBe('host /about');
});

it('without another handler, answers 404 instead of the index', async () => {
  const gateway = createVersionGateway({ routes: { '/v1': await echoBackend() } });
  const { url } = await host((req, res) => gateway(req, res));
  expect([(await fetch(url)).status, await textOf(`${url}/v1/a`)]).toEqual([404, 'backend /a']);
});

it('with `reload: true` applies edits, and refuses invalid ones and those that the guard rejects', async () => {
  const backend = await echoBackend();
  const file = join(temporaryFolder(), 'routes.yaml');
  const write = (v1: string) =>
    writeFileSync(file, `routes:\n  /v1: { upstream: '${backend}', ${v1} }\n  /v2: { upstream: '${backend}' }\n`);
  const sunset = async () => (await fetch(`${url}/v1/a`)).headers.get('sunset');
  const lines: string[] = [];
  write('deprecation: 2026-06-30, sunset: 2029-06-30');
  const url = await mounted(file, { reload: true, notice: (line) => lines.push(line) });
  expect(await sunset()).toBe('Sat, 30 Jun 2029 00:00:00 GMT');

  write('deprecation: 2026-06-30, sunset: 2030-06-30');
  await eventually(() => expect(lines.join('\n')).toContain('/v1: sunset 2030-06-30'));
  expect(await sunset()).toBe('Sun, 30 Jun 2030 00:00:00 GMT');

  write('deprecation: 2026-06-30, sunset: never');
  await eventually(() => expect(lines.join('\n')).toContain('Write a date'));
  write('retired: true');
  await eventually(() => expect(lines.join('\n')).toMatch(/refused/));
  expect(await sunset()).toBe('Sun, 30 Jun 2030 00:00:00 GMT');
});

it('cannot reload an object', () => {
  expect(() => createVersionGateway({ routes: { '/v1': 'http://127.0.0.1:1' } }, { reload: true })).toThrow(
    'reload: true needs the path of a routes.yaml',
  );
});

it('reports that it cannot be in a fleet, exports no telemetry and freezes no version', async () => {
  const settings = {
    routes: { '/v1': { upstream: 'http://127.0.0.1:1', freeze: { from: '2026-01-01' } } },
    usage: { store: join(temporaryFolder(), 'usage.db') },
    fleet: { store: 'postgres://127.0.0.1:1/gateway' },
    telemetry: { otlp: 'http://127.0.0.1:1' },
  };
  const ignored = [
    'fleet.store is ignored: an embedded gateway cannot be in a fleet.  The shared ledger lacks its calls.',
    'telemetry is ignored: an embedded gateway exports nothing.  Use the SDK of your server.',
    'freeze is ignored: an embedded gateway neither refuses nor reports new clients.',
  ];
  for (const ledger of [false, true]) {
    const notices: string[] = [];
    await createVersionGateway(settings, { ledger, notice: (line) => void notices.push(line) }).close();
    expect(notices).toEqual(ignored);
  }
  const warnings: string[] = [];
  const onWarning = ({ message }: Error): void => void warnings.push(message);
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  await createVersionGateway(settings).close();
  await eventually(() => expect(warnings).toEqual(ignored));
});

it('announces no brownout, and neither brownouts nor freezes change responses', async () => {
  const v1 = {
    upstream: await echoBackend(),
    deprecation: '2026-01-01',
    brownouts: [{ at: '2999-01-01T12:00Z', for: '1h' }],
    freeze: { from: '2026-02-01', mode: 'refuse' },
  };
  const url = await mounted({ routes: { '/v1': v1 } }, { discovery: true, notice: () => {} });
  expect(await textOf(`${url}/`)).not.toContain('brownout');
  expect(await textOf(`${url}/lifecycle.ics`)).not.toContain('Brownout');
  // A response that depended on the client would name the fields that identify it.
  expect((await fetch(`${url}/v1/cocktails`)).headers.get('vary')).toBeNull();
});

it('reports that adapters are ignored, and rejects a version that needs one', async () => {
  const upstream = 'http://127.0.0.1:1';
  const contractOf = (version: string) => ({ contract: `services/${version}/contract/openapi.yaml` });
  const adapter = { from: '/v2', mode: 'serve', routes: { 'GET /health': { to: 'GET /health' } } };
  const routesWith = (own: object) => ({
    routes: { '/v1': { ...own, ...contractOf('v1'), adapter }, '/v2': { upstream, ...contractOf('v2') } },
  });
  const notices: string[] = [];
  const notice = (line: string) => void notices.push(line);
  await createVersionGateway(routesWith({ upstream }), { notice }).close();
  expect(notices).toEqual([
    'adapters are ignored: an embedded gateway changes no responses.  Run version-gateway start.',
  ]);
  expect(() => createVersionGateway(routesWith({}), { notice })).toThrow(
    '/v1 has no upstream, and an embedded gateway ignores its adapter from /v2.  Add an upstream, or run version-gateway start.',
  );
});

it('with `reload: true` applies edits of a file whose adapter would not pass the check, because it ignores the adapter', async () => {
  const upstream = await echoBackend();
  const file = join(temporaryFolder(), 'routes.yaml');
  const [v1, v2] = ['v1', 'v2'].map((name) => ({
    upstream,
    contract: resolve(`services/${name}/contract/openapi.yaml`),
  }));
  // The response of /v2 lacks fields that the contract of /v1 requires.
  const adapter = { from: '/v2', mode: 'shadow', routes: { 'GET /cocktails': { to: 'GET /cocktails' } } };
  const edit = (deprecation: string): void =>
    writeFileSync(file, JSON.stringify({ routes: { '/v1': { ...v1, deprecation, adapter }, '/v2': v2 } }));
  edit('2026-01-01');
  const url = await mounted(file, { reload: true, notice: () => {} });
  edit('2026-02-02');
  await eventually(async () => {
    expect((await fetch(`${url}/v1/cocktails`)).headers.get('deprecation')).toBe('@1769990400');
  });
});

it('with `ledger: true` counts requests by client', async () => {
  const folder = temporaryFolder();
  const gateway = createVersionGateway(
    {
      routes: { '/v1': await echoBackend() },
      usage: { store: join(folder, 'usage.db'), identify: ['header:x-client'] },
    },
    { ledger: true },
  );
  const { url } = await host((req, res) => gateway(req, res));
  for (let count = 0; count < 3; count += 1) await textOf(`${url}/v1/a`);
  await fetch(`${url}/v1/a`, { headers: { 'x-client': 'shop' } }).then((answer) => answer.text());
  await gateway.close();
  const rows = await usageIn(folder, '/v1', 'client');
  expect(rows).toContainEqual(expect.objectContaining({ client: 'x-client:shop', requests: 1 }));
  expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBe(4);
});
