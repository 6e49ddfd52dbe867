import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isInstalled } from '../../compose/support/programs.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { host } from '../../support/embeddedServer.ts';
import { eventually } from '../../support/eventually.ts';
import { freeUrl } from '../../support/gateway.ts';
import { run } from '../../support/process.ts';
import { startRestricted } from './restrictedGateway.ts';

/** Starts nginx as a shared cache in front of a gateway. Returns its URL. */
async function startCache(gatewayPort: number): Promise<string> {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'logs'));
  const url = await freeUrl();
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  writeFileSync(
    join(folder, 'nginx.conf'),
    `${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; pid ${folder}/pid; error_log ${folder}/error.log; events {}
     http { access_log off; ${temporary.join(' ')} proxy_cache_path ${folder}/cache keys_zone=shared:1m;
       server { listen ${new URL(url).host}; proxy_cache shared; proxy_cache_key $request_uri;
         location / { proxy_pass http://127.0.0.1:${gatewayPort}; add_header X-Cache $upstream_cache_status always; } } }`,
  );
  run('nginx', ['-p', folder, '-e', join(folder, 'error.log'), '-c', join(folder, 'nginx.conf')]);
  await eventually(async () => expect((await fetch(url)).status).toBe(200));
  return url;
}

it.skipIf(!isInstalled('nginx'))('a shared cache never answers one client with the response to another', async () => {
  const { url: upstream } = await host((req, res) => {
    res.writeHead(200, { 'Cache-Control': 'public, max-age=3600' }).end(`for ${req.headers['x-client-id']}`);
  });
  const waivers = ['acme', 'beta'].map((client) => ({ client, until: '2027-09-01', reason: 'contract 4711' }));
  const retired = { routes: { '/v1': { upstream, retired: true, waivers }, '/v2': upstream } };
  const gateway = await startRestricted(retired, '2027-07-01T00:00:00Z');
  const cache = await startCache(gateway.port);
  const ask = async (client: string, path: string): Promise<readonly [number, string, string | null]> => {
    const response = await fetch(`${cache}/v1/${path}`, { headers: { 'x-client-id': client } });
    const body = await response.text();
    return [response.status, response.ok ? body : '', response.headers.get('x-cache')];
  };
  let hits = 0;
  for (let round = 0; round < 10; round += 1) {
    for (const client of ['acme', 'other', 'beta', 'another']) {
      const isWaived = client === 'acme' || client === 'beta';
      const [status, body, state] = await ask(client, `x${round % 2}`);
      expect([status, body]).toEqual(isWaived ? [200, `for ${client}`] : [410, '']);
      if (state === 'HIT') hits += 1;
      if (!isWaived) expect(state).toBe('MISS');
    }
  }
  // Two clients with two paths each miss once.
  expect(hits).toBe(2 * 10 - 4);
  await gateway.edit({ ...retired, routes: { ...retired.routes, '/v1': { upstream, waivers } } });
  expect((await ask('other', 'x0')).slice(0, 2)).toEqual([200, 'for other']);
});
