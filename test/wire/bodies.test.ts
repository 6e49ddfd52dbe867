import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect } from 'node:http2';
import { createServer as createSecureServer, request as requestSecurely, Agent as SecureAgent } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../config/temporary.ts';
import { makePair, type Pair } from '../support/certificates.ts';
import { settled } from '../support/eventually.ts';
import { startTestGateway } from '../support/gateway.ts';
import { Random, seedOfRun } from '../support/random.ts';

// Every exchange has bodies of its own in both directions at once. Connections share buffers in the gateway, so a byte that is
// overwritten before it is sent shows as a difference.

const seed = seedOfRun();
const content = randomBytes(8_000_000);

interface Plan {
  readonly up: Buffer;
  readonly down: Buffer;
  /** Both readers begin only when the others have ended and nothing is sent any more. */
  readonly pauses: boolean;
  /** Its bodies arrive in small reads, for which the gateway uses another buffer than for large ones. */
  readonly trickles: boolean;
  readonly chunkedUp: boolean;
  readonly chunkedDown: boolean;
}

/** Every second exchange pauses, and one of 40 has bodies that are larger than what the kernel accepts for a paused reader. */
function planned(count: number): Plan[] {
  const random = new Random(seed);
  const body = (index: number): Buffer => {
    const size = index % 40 === 1 ? 5_000_000 + random.below(2_000_000) : random.below(300_000);
    const start = random.below(content.length - size);
    return content.subarray(start, start + size);
  };
  return Array.from({ length: count }, (_, index) => ({
    up: body(index),
    down: body(index),
    pauses: index % 2 === 1,
    trickles: index % 80 === 1,
    chunkedUp: index % 8 > 5,
    chunkedDown: index % 3 === 0,
  }));
}

let sent = 0;

/** Random pieces of a body. The last one follows after `wait`. */
async function* pieces(
  body: Buffer,
  { trickles }: Plan,
  random: Random,
  wait?: Promise<unknown>,
): AsyncGenerator<Buffer> {
  let size = 0;
  for (let at = 0; at < body.length; at += size) {
    if (trickles) await setImmediate();
    size = 1 + random.below(trickles ? 16_000 : random.below(4) === 0 ? 200 : 150_000);
    if (at + size >= body.length) await wait;
    sent += size;
    yield body.subarray(at, at + size);
  }
}

/** How `stream` differs from `expected`; `same` if it does not. */
async function compare(stream: Readable, expected: Buffer): Promise<string> {
  let at = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      if (!chunk.equals(expected.subarray(at, at + chunk.length))) return `differs behind byte ${at}`;
      at += chunk.length;
    }
  } catch (error) {
    return `breaks off at byte ${at} of ${expected.length}: ${error}`;
  }
  return at === expected.length ? 'same' : `ends at byte ${at} of ${expected.length}`;
}

type Length = { readonly 'content-length'?: number };

const lengthOf = (body: Buffer, chunked: boolean): Length => (chunked ? {} : { 'content-length': body.length });

/** Sends a request on a connection of its own, and returns the body of the response. */
type Client = (port: number, path: string, headers: Length, body: Readable) => Promise<Readable>;

const overHttp: Client = async (port, path, headers, body) => {
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const req = request({ host: '127.0.0.1', port, method: 'POST', path, headers, agent });
  const [res] = (await once(body.pipe(req), 'response')) as [IncomingMessage];
  return res;
};

const overTls: Client = async (port, path, headers, body) => {
  const agent = new SecureAgent({ keepAlive: true, rejectUnauthorized: false });
  onTestFinished(() => agent.destroy());
  const req = requestSecurely({ host: '127.0.0.1', port, method: 'POST', path, headers, agent });
  const [res] = (await once(body.pipe(req), 'response')) as [IncomingMessage];
  return res;
};

const overHttp2: Client = async (port, path, headers, body) => {
  const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  onTestFinished(() => session.destroy());
  return body.pipe(session.request({ ':method': 'POST', ':path': path, ...headers }));
};

/** Starts a backend that answers each request by its plan. `compared`: how the bodies of the requests differ. */
async function startBackend(
  plans: readonly Plan[],
  pair: Pair | undefined,
  read: (stream: Readable, expected: Buffer, plan: Plan) => Promise<string>,
  random: Random,
): Promise<{ readonly url: string; readonly compared: readonly Promise<string>[] }> {
  const compared: Promise<string>[] = [];
  const answer = (req: IncomingMessage, res: ServerResponse): void => {
    const plan = plans[Number(req.url?.slice(1))] as Plan;
    const result = read(req, plan.up, plan);
    compared.push(result);
    res.writeHead(200, { ...lengthOf(plan.down, plan.chunkedDown) });
    // A response that ends before the request would end the exchange.
    Readable.from(pieces(plan.down, plan, random, result)).pipe(res);
  };
  const server = pair ? createSecureServer(pair, answer) : createServer(answer);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http${pair ? 's' : ''}://127.0.0.1:${port}`, compared };
}

/** Runs all exchanges at once through a gateway. Returns how the bodies at the client and at the backend differ. */
async function exchangeAll(plans: readonly Plan[], client: Client, secureBackend: boolean): Promise<string[]> {
  const mayRead = Promise.withResolvers<void>();
  const read = async (stream: Readable, expected: Buffer, { pauses }: Plan): Promise<string> => {
    if (pauses) await mayRead.promise;
    return compare(stream, expected);
  };
  const random = new Random(seed + 1);
  const folder = temporaryFolder();
  const pair = makePair(folder, 'api');
  const [cert, key] = [join(folder, 'api.made.crt'), join(folder, 'api.made.key')];
  const backend = await startBackend(plans, secureBackend ? pair : undefined, read, random);
  const timeouts = { first_byte: '10m', idle: '10m', write_idle: '10m' };
  const v1 = { upstream: backend.url, timeouts, ...(secureBackend && { tls: { ca: cert, servername: 'api' } }) };
  const tls = client === overHttp ? {} : { tls: { cert, key } };
  const { port } = await startTestGateway({ '/v1': v1 }, { gateway: { timeouts: { body_idle: '10m' }, ...tls } });

  const atClient = plans.map(async (plan, index) => {
    const body = Readable.from(pieces(plan.up, plan, random));
    const response = await client(port, `/v1/${index}`, lengthOf(plan.up, plan.chunkedUp), body);
    return read(response, plan.down, plan);
  });
  await Promise.all(atClient.filter((_, index) => !plans[index]?.pauses));
  await settled(() => sent);
  mayRead.resolve();
  const received = await Promise.all(atClient);
  return [...received, ...(await Promise.all(backend.compared))];
}

it.each([
  ['200 connections', 200, overHttp, false],
  ['20 connections with TLS', 20, overTls, false],
  ['20 connections, to a backend with TLS', 20, overHttp, true],
  ['20 streams of HTTP/2', 20, overHttp2, false],
])(
  'carries both bodies of %s unchanged, at once, while half of the readers pause',
  async (_, count, client, secure) => {
    const results = await exchangeAll(planned(count), client, secure);
    const different = results.filter((result) => result !== 'same');
    expect({ seed, different, compared: results.length }).toEqual({ seed, different: [], compared: 2 * count });
  },
);
