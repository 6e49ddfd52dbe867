import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { NotifyEvent } from '../../../gateway/operate/notify/events.ts';
import type { Pair } from '../../support/certificates.ts';

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What a receiver does with a request: answers with a status, or something else. */
export type Behaviour = number | ((res: ServerResponse) => void);

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** The behaviours of the next requests; afterwards, 204. */
  readonly next: Behaviour[];
  /** The titles of all JSON events. */
  readonly titles: () => string[];
}

export const hang: Behaviour = () => {};
export const reset: Behaviour = (res) => void res.socket?.resetAndDestroy();
export const redirectTo =
  (location: string): Behaviour =>
  (res) =>
    void res.writeHead(307, { location }).end();
/** Sends a head and then bytes without end. */
export const endless: Behaviour = (res) => {
  res.writeHead(200);
  const timer = setInterval(() => res.write('x'.repeat(1024)), 5);
  res.on('close', () => clearInterval(timer));
};

/** A webhook on a port of 127.0.0.1, closed at the end of the test. */
export async function startReceiver(tls?: Pair): Promise<Receiver> {
  const received: Received[] = [];
  const next: Behaviour[] = [];
  const server: Server = tls ? createTlsServer(tls) : createServer();
  server.on('request', async (req, res) => {
    let body = '';
    for await (const chunk of req) body += chunk;
    received.push({ path: req.url ?? '', headers: req.headers, body });
    const behaviour = next.shift() ?? 204;
    if (typeof behaviour === 'number') res.writeHead(behaviour).end();
    else behaviour(res);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http${tls ? 's' : ''}://127.0.0.1:${port}/hook/secret-path?token=secret-query`,
    received,
    next,
    titles: () => received.map(({ body }) => (JSON.parse(body) as { data: { title: string } }).data.title),
  };
}

export const secret = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64');

/** An event that the tests send. */
export function eventOf(id: string, more: Partial<NotifyEvent> = {}): NotifyEvent {
  const at = Date.parse('2026-11-18T12:00:00Z');
  const sections = [{ lines: [`The text of ${id}.`] }];
  return {
    id,
    type: 'deprecation',
    at,
    title: `Event ${id}`,
    sections,
    data: { version: 'v1' },
    keepUntil: at * 2,
    ...more,
  };
}
