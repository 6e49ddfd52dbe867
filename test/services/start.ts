import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { ReceivedResponse } from '../support/contract.ts';

export interface Service {
  readonly url: string;
  ask(path: string, init?: RequestInit): Promise<ReceivedResponse>;
}

/** Starts a service on a free port. It is closed at the end of the test. */
export async function start(app: RequestListener): Promise<Service> {
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    async ask(path, init) {
      const response = await fetch(url + path, init);
      return { status: response.status, headers: response.headers, text: await response.text() };
    },
  };
}

/** The request that adds `body`, as JSON unless it is text already. */
export function post(body: unknown, type = 'application/json'): RequestInit {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { method: 'POST', headers: { 'content-type': type }, body: text };
}

/** The request of a client that has the answer named `tag`. */
export function ifNoneMatch(tag: string): RequestInit {
  // For a conditional request fetch adds `Cache-Control: no-cache`, which prevents a 304, unless the field is set.
  return { headers: { 'if-none-match': tag, 'cache-control': 'max-age=0' } };
}

export function nextPage(headers: Headers): string | undefined {
  return /<([^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
}
