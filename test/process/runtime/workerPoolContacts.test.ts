import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { refusedUrl } from '../../support/gateway.ts';
import { ask, get } from '../../support/rawClient.ts';
import { valuesOf } from '../../support/response.ts';
import { startWorkers } from './startWorkers.ts';

/** A backend that answers the paths in `known`, and 404 for all others. */
async function startBackend(...known: string[]) {
  const paths = new Set(known);
  const server = createServer((req, res) => {
    res.statusCode = paths.has(req.url ?? '') ? 200 : 404;
    res.end('ok');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paths };
}

it('every worker ends the link that one worker has seen lead to a 404, and a new worker, too', async () => {
  const [v1, v2] = [await startBackend('/profile'), await startBackend('/other')];
  const routes = { '/v1': { upstream: v1.url, deprecation: '2026-01-01' }, '/v2': v2.url };
  const gateway = await startWorkers(3, routes, { log: { access: 'off' } });
  /** The links of 30 requests, each on a connection of its own, so that every worker probably answers some of them. */
  const linksSent = async (): Promise<number> => {
    const responses = await Promise.all(Array.from({ length: 30 }, () => ask(gateway.port, get('/v1/profile'))));
    return responses.flatMap((response) => valuesOf(response, 'link')).length;
  };
  expect(await linksSent()).toBe(30);
  await ask(gateway.port, get('/v2/profile'));
  await eventually(async () => expect(await linksSent()).toBe(0));
  gateway.child.kill('SIGUSR2');
  await gateway.printed(/rolling restart done/);
  await eventually(async () => expect(await linksSent()).toBe(0));
  v2.paths.add('/profile');
  await ask(gateway.port, get('/v2/profile'));
  await eventually(async () => expect(await linksSent()).toBe(30));
});

it('a worker that ends at once tells the others which link leads to a 404', async () => {
  const [v1, v2] = [await startBackend('/profile'), await startBackend('/other')];
  const routes = { '/v1': { upstream: v1.url, deprecation: '2026-01-01' }, '/v2': v2.url };
  const gateway = await startWorkers(2, routes, { log: { access: 'off' } });
  await ask(gateway.port, get('/v2/profile'));
  gateway.child.kill('SIGUSR2');
  await gateway.printed(/rolling restart done/);
  await eventually(async () => {
    const responses = await Promise.all(Array.from({ length: 30 }, () => ask(gateway.port, get('/v1/profile'))));
    expect(responses.flatMap((response) => valuesOf(response, 'link'))).toEqual([]);
  });
});

it('a target is failing if its last contact failed in any worker', async () => {
  const gateway = await startWorkers(3, { '/v1': await refusedUrl() }, { log: { access: 'off' } });
  const targetOf = async () => {
    const status = (await (await fetch(`${gateway.admin}/api/status`)).json()) as {
      versions: { targets: { health: string; reachable: boolean | null; failing_since: string | null }[] }[];
    };
    return status.versions[0]?.targets[0];
  };
  expect(await targetOf()).toMatchObject({ health: 'not tried', reachable: null, failing_since: null });
  expect((await ask(gateway.port, get('/v1/x'))).status).toBe(502);
  expect(await targetOf()).toMatchObject({ health: 'failing', reachable: false, failing_since: expect.any(String) });
});
