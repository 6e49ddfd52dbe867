import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { createAdmin } from '../../../gateway/operate/admin/app.ts';
import { type IdleOperations, idleOperations } from '../../support/idleOperations.ts';

export const token = 'correct-horse-battery-staple';

export interface IdleSettings {
  readonly ready?: boolean;
  readonly token?: string;
  readonly loopback?: string;
  /** The address that the request comes from. */
  readonly from?: string;
  readonly operations?: IdleOperations;
}

export async function startIdleAdmin({
  ready = true,
  token,
  loopback,
  from,
  operations,
}: IdleSettings = {}): Promise<number> {
  const gateway = {
    ...(token !== undefined && { admin_token: token }),
    ...(loopback !== undefined && { admin_loopback: loopback }),
  };
  const current = snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:3001' }, gateway });
  const listener = createAdmin({ current }, { ready: () => ready }, idleOperations(operations));
  const server = createServer((req, res) => {
    if (from !== undefined) Object.defineProperty(req.socket, 'remoteAddress', { value: from });
    listener(req, res);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

export async function ask(port: number, path: string, headers: Record<string, string> = {}, method = 'GET') {
  const outgoing = request({ port, host: '127.0.0.1', path, method, headers, agent: false }).end();
  const [incoming] = await once(outgoing, 'response');
  return { status: incoming.statusCode, headers: incoming.headers, body: await text(incoming) };
}
