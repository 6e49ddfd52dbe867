import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { loadedOnDemand } from '../../gateway/shared/onDemand.ts';

let server: Server | undefined;
const notices: string[] = [];

afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve));
});

const answersWithPath: RequestListener = (req, res) => res.end(req.url);

async function serve(load: () => Promise<RequestListener>): Promise<(path: string) => Promise<string>> {
  const listening = createServer(loadedOnDemand(load, (line) => notices.push(line)));
  server = listening;
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const { port } = listening.address() as AddressInfo;
  return async (path) => (await fetch(`http://127.0.0.1:${port}${path}`)).text();
}

it('loads once, with the first request', async () => {
  let loads = 0;
  const get = await serve(async () => {
    loads += 1;
    return answersWithPath;
  });
  expect(loads).toBe(0);
  expect(await get('/a')).toBe('/a');
  expect(await get('/b')).toBe('/b');
  expect(loads).toBe(1);
});

it('lets requests wait while it loads', async () => {
  const { promise, resolve } = Promise.withResolvers<RequestListener>();
  const get = await serve(() => promise);
  const answers = Promise.all([get('/a'), get('/b')]);
  resolve(answersWithPath);
  expect(await answers).toEqual(['/a', '/b']);
});

it('closes the connection if it cannot be loaded, reports why once, and tries again', async () => {
  let loads = 0;
  const get = await serve(async () => {
    loads += 1;
    if (loads <= 2) throw new Error('Cannot find module');
    return answersWithPath;
  });
  for (const path of ['/a', '/b']) await expect(get(path)).rejects.toThrow('fetch failed');
  expect(await get('/c')).toBe('/c');
  expect(notices).toEqual(['A request cannot be answered, because its modules cannot be loaded: Cannot find module']);
});
