import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  type RequestOptions,
  request,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer, request as requestSecurely, Agent as SecureAgent } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../config/temporary.ts';
import { Random, seedOfRun } from '../faults/random.ts';
import { makePair } from '../support/certificates.ts';
import { settled } from '../support/eventually.ts';
import { startTestGateway } from '../support/gateway.ts';

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
async function compare(stream: IncomingMessage, expected: Buffer): Promise<string> {
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

const lengthOf = (body: Buffer, chunked: boolean) => (chunked ? {} : { 'content-length': body.length });

/** Runs all exchanges at once through a gateway. Returns how the bodies at the backend and at the client differ. */
async function exchangeAll(plans: readonly Plan[], secure: boolean): Promise<string[]> {
  const mayRead = Promise.withResolvers<void>();
  const random = new Random(seed + 1);
  const atBackend: Promise<string>[] = [];
  const planOf = ({ url = '' }: IncomingMessage): Plan => plans[Number(url.slice(1))] as Plan;
  const read = async (stream: IncomingMessage, expected: Buffer, pauses: boolean): Promise<string> => {
    if (pauses) await mayRead.promise;
    return compare(stream, expected);
  };
  const answer = (req: IncomingMessage, res: ServerResponse): void => {
    const plan = planOf(req);
    const { up, down, pauses, chunkedDown } = plan;
    const compared = read(req, up, pauses);
    atBackend.push(compared);
    res.writeHead(200, lengthOf(down, chunkedDown));
    // A response that ends before the request would end the exchange.
    pipeline(pieces(down, plan, random, compared), res).catch(() => {});
  };

  const folder = temporaryFolder();
  const pair = secure ? makePair(folder, 'api') : undefined;
  const backend = pair ? createSecureServer(pair, answer) : createServer(answer);
  onTestFinished(() => {
    backend.closeAllConnections();
    backend.close();
  });
  await once(backend.listen(0, '127.0.0.1'), 'listening');
  const { port: backendPort } = backend.address() as AddressInfo;
  const upstream = `http${secure ? 's' : ''}://127.0.0.1:${backendPort}`;
  const tls = secure && { tls: { ca: join(folder, 'api.made.crt'), servername: 'api' } };
  const timeouts = { first_byte: '10m', idle: '10m', write_idle: '10m' };
  const { port } = await startTestGateway(
    { '/v1': { upstream, timeouts, ...tls } },
    {
      gateway: {
        timeouts: { body_idle: '10m' },
        ...(secure && { tls: { cert: join(folder, 'api.made.crt'), key: join(folder, 'api.made.key') } }),
      },
    },
  );

  const agent = secure
    ? new SecureAgent({ keepAlive: true, rejectUnauthorized: false })
    : new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const atClient = plans.map(async (plan, index) => {
    const { up, down, pauses, chunkedUp } = plan;
    const options: RequestOptions = {
      host: '127.0.0.1',
      port,
      method: 'POST',
      path: `/v1/${index}`,
      headers: lengthOf(up, chunkedUp),
    };
    const req = secure ? requestSecurely({ ...options, agent }) : request({ ...options, agent });
    const responded = once(req, 'response') as Promise<[IncomingMessage]>;
    pipeline(pieces(up, plan, random), req).catch(() => {});
    const [res] = await responded;
    return read(res, down, pauses);
  });
  await Promise.all(atClient.filter((_, index) => !plans[index]?.pauses));
  await settled(() => sent);
  mayRead.resolve();
  const received = await Promise.all(atClient);
  return [...received, ...(await Promise.all(atBackend))];
}

it.each([
  ['200 connections', 200, false],
  ['20 connections, with TLS on both sides', 20, true],
])('carries both bodies of %s unchanged, at once, while half of the readers pause', async (_name, count, secure) => {
  const results = await exchangeAll(planned(count), secure);
  const different = results.filter((result) => result !== 'same');
  expect({ seed, different, compared: results.length }).toEqual({ seed, different: [], compared: 2 * count });
});
