import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../gateway/config/load.ts';
import { startGateway } from '../../gateway/process/runtime/gateway.ts';
import { systemClock } from '../../gateway/shared/clock.ts';
import { Ledger } from '../../gateway/usage/ledger/ledger.ts';
import { temporaryFolder } from '../config/temporary.ts';
import { runIn } from '../process/cli/io.ts';
import { eventually } from '../support/eventually.ts';
import { fastLane, startTestGateway } from '../support/gateway.ts';

/** A backend that answers only the paths in `paths`, and 404 for all others. */
async function startBackendWith(...paths: string[]) {
  const known = new Set(paths);
  const server = createServer((req, res) => {
    res.statusCode = known.has(req.url ?? '') ? 200 : 404;
    res.end('ok');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, known };
}

const ended = { deprecation: '2026-01-01' };

async function linkOf(url: string, init: RequestInit = {}): Promise<string> {
  const response = await fetch(url, init);
  await response.arrayBuffer();
  return response.headers.get('link') ?? '';
}

/** Gateways with and without a ledger. */
async function startWithLedger(routes: Readonly<Record<string, unknown>>) {
  const store = join(temporaryFolder(), 'usage.db');
  const snapshot = snapshotFrom({
    gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', ...fastLane },
    usage: { store },
    routes,
  });
  const ledger = Ledger.open(snapshot.usage, { clock: systemClock });
  const gateway = await startGateway(snapshot, { ledger });
  onTestFinished(async () => {
    await gateway.close();
    ledger.close();
  });
  return { url: `http://127.0.0.1:${gateway.port}`, admin: `127.0.0.1:${gateway.adminPort}` };
}

it.each([
  ['with a ledger', startWithLedger],
  ['without a ledger', startTestGateway],
])('%s, an observed 404 of the successor ends the link, and a success brings it back', async (_what, start) => {
  const [v1, v2] = [await startBackendWith('/profile', '/drinks'), await startBackendWith('/drinks')];
  const { url } = await start({ '/v1': { upstream: v1.url, ...ended }, '/v2': v2.url });
  const link = '</v2/profile>; rel="successor-version"';
  expect(await linkOf(`${url}/v1/profile`)).toBe(link);
  expect((await fetch(`${url}/v2/profile`)).status).toBe(404);
  await eventually(async () => expect(await linkOf(`${url}/v1/profile`)).toBe(''));
  expect(await linkOf(`${url}/v1/profile`, { method: 'HEAD' })).toBe('');
  // Another method, or another route, is another question.
  expect(await linkOf(`${url}/v1/profile`, { method: 'DELETE' })).toBe(link);
  expect(await linkOf(`${url}/v1/drinks`)).toBe('</v2/drinks>; rel="successor-version"');
  v2.known.add('/profile');
  expect((await fetch(`${url}/v2/profile`)).status).toBe(200);
  await eventually(async () => expect(await linkOf(`${url}/v1/profile`)).toBe(link));
});

it('a resource that is gone does not end the link of its route', async () => {
  const [v1, v2] = [await startBackendWith('/profile/7'), await startBackendWith()];
  const { url } = await startWithLedger({ '/v1': { upstream: v1.url, ...ended }, '/v2': v2.url });
  for (let count = 0; count < 30; count += 1) expect((await fetch(`${url}/v2/profile/7`)).status).toBe(404);
  // An observation that counts shows that the earlier ones were recorded.
  await fetch(`${url}/v2/other`);
  await eventually(async () => expect(await linkOf(`${url}/v1/other`)).toBe(''));
  expect(await linkOf(`${url}/v1/profile/7`)).toBe('</v2/profile/7>; rel="successor-version"');
});

it('only the link to the version that answers 404 ends', async () => {
  const [one, three] = [await startBackendWith('/a'), await startBackendWith()];
  const { url } = await startTestGateway({ '/v1': { upstream: one.url, ...ended }, '/v2': one.url, '/v3': three.url });
  const successor = '</v2/a>; rel="successor-version"';
  expect(await linkOf(`${url}/v1/a`)).toBe(`${successor}, </v3/a>; rel="latest-version"`);
  expect((await fetch(`${url}/v3/a`)).status).toBe(404);
  await eventually(async () => expect(await linkOf(`${url}/v1/a`)).toBe(successor));
});

it('moved and contracts are believed: the link stays', async () => {
  const folder = temporaryFolder();
  const contractFor = (version: string): string => {
    const file = join(folder, `${version}.yaml`);
    const info = `openapi: 3.1.0\ninfo: { title: x, version: "1" }\npaths:\n  /${version}/a: { get: { responses: {} } }\n`;
    writeFileSync(file, info);
    return file;
  };
  const [v1, v2] = [await startBackendWith('/a'), await startBackendWith()];
  const known = [
    [{ contract: contractFor('v1') }, { contract: contractFor('v2') }],
    [{ moved: { '/a': '/a' } }, {}],
  ];
  for (const [old, next] of known) {
    const routes = { '/v1': { upstream: v1.url, ...ended, ...old }, '/v2': { upstream: v2.url, ...next } };
    const { url } = await startTestGateway(routes);
    for (const path of ['a', 'b']) await fetch(`${url}/v2/${path}`);
    if (next === known[1]?.[1]) await eventually(async () => expect(await linkOf(`${url}/v1/b`)).toBe(''));
    expect(await linkOf(`${url}/v1/a`)).toBe('</v2/a>; rel="successor-version"');
  }
});

it('usage, plan and the verdict name the route, and call other counterparts not known', async () => {
  const [v1, v2] = [await startBackendWith('/profile', '/drinks'), await startBackendWith('/drinks')];
  const { url, admin } = await startWithLedger({ '/v1': { upstream: v1.url, ...ended }, '/v2': v2.url });
  for (const path of ['v1/profile', 'v1/drinks', 'v2/profile', 'v2/drinks']) await fetch(`${url}/${path}`);
  const factsOf = async () => {
    const response = await fetch(`http://${admin}/api/versions/v1/retirement`);
    return (await response.json()) as { facts: Record<string, unknown>; notes: { code: string; text: string }[] };
  };
  await eventually(async () =>
    expect((await factsOf()).facts).toMatchObject({
      routes_without_counterpart: [],
      routes_missing_in_successor: [{ route: 'GET /profile', successor_route: 'GET /profile', status: 404 }],
      routes_with_unknown_counterpart: [{ route: 'GET /drinks' }],
    }),
  );
  const { notes } = await factsOf();
  expect(notes.find(({ code }) => code === 'missing_in_successor')?.text).toMatch(
    /^Used routes that the successor, \/v2, does not answer, .*: GET \/profile \(GET \/v2\/profile: 404, .*\)\.$/,
  );
  const plan = await runIn('/', ['plan', '--admin', admin, '--retire', '/v1']);
  expect(plan.stdout).toMatch(/GET \/profile \(GET \/v2\/profile: 404, /);
  const usage = await runIn('/', ['usage', '/v1', '--by', 'route', '--admin', admin]);
  expect(usage.stdout).toMatch(/in the successor/);
  expect(usage.stdout).toMatch(/GET \/profile .*missing \(404\)/);
  expect(usage.stdout).not.toMatch(/GET \/drinks .*missing/);
});
