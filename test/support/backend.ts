import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { parseRequestHead, type SeenRequest, withBody } from './seenRequest.ts';

export type { SeenRequest };

export type Bytes = string | Buffer;

export type Step =
  | { readonly write: Bytes }
  /** Waits this many ms, or until the promise resolves. */
  | { readonly wait: number | Promise<unknown> }
  /** Sends FIN, and keeps reading. */
  | { readonly end: true }
  | { readonly reset: true }
  /** The following bytes belong to a tunnel. `early`: the bytes that have already arrived. */
  | { readonly take: (socket: Socket, early: string) => void };

/** The response of a backend. No steps or undefined: no response. */
export type Answer = Bytes | readonly Step[] | ((request: SeenRequest) => Answer | undefined);

export interface SeenConnection {
  raw: string;
  closed: 'open' | 'end' | 'reset';
  readonly requests: SeenRequest[];
}

export interface Backend {
  readonly url: string;
  readonly port: number;
  readonly connections: readonly SeenConnection[];
  /** Complete requests, in the order in which they were completed. */
  readonly requests: readonly SeenRequest[];
  /** All bytes received, over all connections. */
  readonly bytes: string;
  /** The only request. Throws if there is none or more than one. */
  readonly request: SeenRequest;
}

export const okAnswer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** A valid response with a Content-Length; `fields` are header lines. */
export function answer(status: number, body: string, ...fields: string[]): string {
  const lines = [`HTTP/1.1 ${status} Reason`, ...fields, `Content-Length: ${body.length}`];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Writes `bytes` in pieces of `size`, with a pause after each. */
export function inPieces(bytes: string, size = 1, pauseMs = 1): Step[] {
  const steps: Step[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    steps.push({ write: bytes.slice(at, at + size) }, { wait: pauseMs });
  }
  return steps;
}

/** Starts a backend on a free port; closed at the end of the test. `at`: what it must have received before it responds. */
export async function startBackend(
  script: Answer = okAnswer,
  { at = 'request' }: { at?: 'request' | 'head' } = {},
): Promise<Backend> {
  const connections: SeenConnection[] = [];
  const requests: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    const seen: SeenConnection = { raw: '', closed: 'open', requests: [] };
    const number = connections.push(seen) - 1;
    serve(socket, seen, number, script, at, (request) => requests.push(request));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    connections,
    requests,
    get bytes() {
      return allBytes(connections);
    },
    get request() {
      const [only, ...others] = requests;
      if (!only || others.length > 0) throw new Error(`${requests.length} requests, not one: ${allBytes(connections)}`);
      return only;
    },
  };
}

function allBytes(connections: readonly SeenConnection[]): string {
  return connections.map(({ raw }) => raw).join('');
}

function serve(
  socket: Socket,
  seen: SeenConnection,
  connection: number,
  script: Answer,
  at: 'request' | 'head',
  onRequest: (request: SeenRequest) => void,
): void {
  let buffer = '';
  let answered = 0;
  let isTunnel = false;
  let isPaused = false;
  let responses = Promise.resolve();
  const take = (handler: (socket: Socket, early: string) => void): void => {
    isTunnel = true;
    const early = buffer;
    buffer = '';
    handler(socket, early);
  };
  const read = (): void => {
    while (!isTunnel && !isPaused && buffer !== '') {
      const index = seen.requests.length;
      const head = parseRequestHead(buffer, connection, index);
      if (!head) return;
      const reply = (request: SeenRequest): void => {
        answered += 1;
        responses = responses.then(() => perform(socket, stepsOf(script, request), take));
      };
      if (at === 'head' && answered === index) reply(head);
      const whole = withBody(head, buffer);
      if (!whole) return;
      buffer = buffer.slice(whole.raw.length);
      seen.requests.push(whole);
      onRequest(whole);
      if (at === 'request') reply(whole);
      // A tunnel may begin here: the bytes that follow wait until the response is sent.
      if (/^upgrade:/im.test(whole.raw)) {
        isPaused = true;
        responses = responses.then(() => {
          isPaused = false;
          read();
        });
      }
    }
  };
  socket.on('data', (data) => {
    seen.raw += data.toString('latin1');
    if (isTunnel) return;
    buffer += data.toString('latin1');
    read();
  });
  socket.on('end', () => {
    if (seen.closed === 'open') seen.closed = 'end';
    if (!isTunnel) void responses.then(() => socket.end());
  });
  socket.on('error', () => {
    seen.closed = 'reset';
  });
}

function stepsOf(script: Answer | undefined, request: SeenRequest): readonly Step[] {
  if (script === undefined) return [];
  if (typeof script === 'function') return stepsOf(script(request), request);
  if (typeof script === 'string' || Buffer.isBuffer(script)) return [{ write: script }];
  return script;
}

async function perform(
  socket: Socket,
  steps: readonly Step[],
  take: (handler: (socket: Socket, early: string) => void) => void,
): Promise<void> {
  for (const step of steps) {
    if (socket.destroyed) return;
    if ('write' in step) await write(socket, step.write);
    else if ('wait' in step) await (typeof step.wait === 'number' ? sleep(step.wait) : step.wait);
    else if ('take' in step) take(step.take);
    else if ('end' in step) socket.end();
    else socket.resetAndDestroy();
  }
}

/** Waits until the kernel has accepted the bytes, so that the next step follows them. */
function write(socket: Socket, bytes: Bytes): Promise<void> {
  const data = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
  return new Promise((resolve) => {
    socket.once('close', resolve);
    socket.write(data, () => {
      socket.off('close', resolve);
      resolve();
    });
  });
}
