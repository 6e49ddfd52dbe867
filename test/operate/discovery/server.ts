import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { createDiscovery } from '../../../gateway/operate/discovery/app.ts';

export const now = Date.parse('2026-11-21T10:00:00Z');

/** One version in each stage; v1 and v2 have published contracts, v3 an unpublished one. */
export const lifecycle = {
  routes: {
    '/v0': { retired: true, deprecation: '2024-03-01', sunset: '2025-03-01', successor: '/v1' },
    '/v1': {
      upstream: 'http://127.0.0.1:3001',
      deprecation: '2024-12-01',
      sunset: '2026-08-31T23:59:59Z',
      info: 'https://example.com/v1-end',
      contract: 'v1.yaml',
    },
    '/v2': { upstream: 'http://127.0.0.1:3002', deprecation: '2026-06-30', sunset: '2028-06-30', contract: 'v2.json' },
    '/v3': {
      upstream: 'http://127.0.0.1:3003',
      deprecation: '2027-02-01',
      contract: { file: 'v3.yaml', publish: false },
    },
    '/v4': 'http://127.0.0.1:3004',
  },
};

export const yamlContract = 'openapi: 3.1.0\ninfo: { title: Cocktails, version: "1" }\npaths: {}\n';
export const jsonContract = '{"openapi":"3.1.0","info":{"title":"Cocktails","version":"2"},"paths":{}}';

/** A folder with the contracts that `lifecycle` names. `files`: other contents. */
export function contractFolder(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'discovery-'));
  onTestFinished(() => rmSync(folder, { recursive: true, maxRetries: 10 }));
  writeFileSync(join(folder, 'v1.yaml'), yamlContract);
  writeFileSync(join(folder, 'v2.json'), jsonContract);
  writeFileSync(join(folder, 'v3.yaml'), yamlContract);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

/** The snapshot of `lifecycle` with other gateway settings. */
export function snapshotWith(gateway: object = {}, folder: string = contractFolder()): Snapshot {
  return snapshotFrom({ ...lifecycle, gateway }, folder);
}

export interface Served {
  readonly url: string;
  readonly port: number;
}

/** Takes a function that frees something, and calls it later. */
export type AtEnd = (close: () => void | Promise<void>) => void;

/** A server on a free port. `atEnd` gets the function that closes it. */
export async function serve(listener: RequestListener, atEnd: AtEnd = onTestFinished): Promise<Served> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port };
}

/** The discovery handler on a socket, at `now`. */
export function serveDiscovery(snapshot: Snapshot = snapshotWith(), notice?: (line: string) => void): Promise<Served> {
  return serve(createDiscovery({ current: snapshot }, { now: () => now }, notice));
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Sends a request with exactly these headers: `fetch` would add its own Accept and reject another Host. */
export async function ask(
  served: Served,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Answer> {
  const outgoing = request({ port: served.port, host: '127.0.0.1', path, method, headers, agent: false }).end();
  const [incoming] = await once(outgoing, 'response');
  return { status: incoming.statusCode, headers: incoming.headers, body: await text(incoming) };
}

/** Sends these bytes and returns everything that the server sends until it closes the connection. */
export async function sendRaw(served: Served, bytes: string): Promise<string> {
  const socket = connect(served.port, '127.0.0.1');
  socket.end(bytes);
  return text(socket);
}
