import { request } from 'node:http';
import { connect } from 'node:http2';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import type { Plan } from '../../../gateway/versions/plan/plan.ts';
import { startTestGateway } from '../../support/gateway.ts';
import { randomOf } from '../../usage/model.ts';
import { reasonsOf, startBackend, startEdited } from './candidates.ts';

// A longer run: ROUNDS=200.
const rounds = Number(process.env['ROUNDS'] ?? 20);
const requestsPerRound = 6;
const h2c = { h2c: 'on' };

interface Request {
  readonly path: string;
  readonly field: number;
  readonly body: number | undefined;
  /** Without Content-Length. */
  readonly isChunked: boolean;
  readonly http2: boolean;
}

/** The same bytes reach each gateway, whatever its port is. */
async function send({ path, field, body, isChunked, http2 }: Request, port: number): Promise<number> {
  const method = body === undefined ? 'GET' : 'POST';
  const length = body === undefined || isChunked ? {} : { 'content-length': body };
  const fields = { 'x-field': 'f'.repeat(field), ...length };
  const content = 'b'.repeat(body ?? 0);
  if (http2) {
    const session = connect(`http://127.0.0.1:${port}`);
    const stream = session.request(
      { ':method': method, ':path': path, ':authority': 'api.test', ...fields },
      { endStream: body === undefined },
    );
    if (body !== undefined) stream.end(content);
    const status = await new Promise<number>((resolve, reject) => {
      stream.on('response', ({ ':status': answered }) => resolve(answered ?? 0)).on('error', reject);
    });
    stream.resume();
    session.close();
    return status;
  }
  const framing = isChunked && body !== undefined ? { 'transfer-encoding': 'chunked' } : {};
  const headers = { host: 'api.test', connection: 'close', ...fields, ...framing };
  return new Promise((resolve, reject) => {
    const req = request({ port, method, path, headers }, (res) => {
      void text(res).then(() => resolve(res.statusCode ?? 0), reject);
    });
    req.on('error', reject).end(content);
  });
}

/** As `gateway.limits.head` counts them. */
function sizeOfFields({ field, body, isChunked, http2 }: Request): number {
  const framing =
    body === undefined ? [] : isChunked ? [['transfer-encoding', 'chunked']] : [['content-length', String(body)]];
  const fields = [['host', 'api.test'], ...(http2 ? [] : [['connection', 'close']]), ...framing];
  return fields.reduce(
    (sum, [name = '', value = '']) => sum + name.length + value.length + 4,
    'x-field: \r\n'.length + field,
  );
}

it('the guard and plan refuse generated limits if and only if a gateway with them refuses a request that is answered now', async () => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 100_000);
  const random = randomOf(seed);
  const pick = <Value>(values: readonly Value[]): Value => values[random(values.length)] as Value;
  // A backend that answers some requests itself with the statuses of the gateway.
  const backend = await startBackend((path) => Number(/^\/s(\d+)/.exec(path)?.[1] ?? 200));
  const document = (limits: { readonly gateway: object; readonly v1: object; readonly v2: object }) => ({
    gateway: { ...h2c, limits: limits.gateway },
    routes: {
      '/v1': { upstream: backend.url, limits: limits.v1 },
      '/v2': { upstream: backend.url, limits: limits.v2 },
    },
  });
  const unlimited = document({ gateway: {}, v1: {}, v2: {} });
  const { preview, post, url } = await startEdited(unlimited, { isCovered: true });
  const port = Number(new URL(url).port);
  const answered: Request[] = [];
  const seen: Readonly<Record<string, number[]>> = { v1: [1], v2: [1], url: [60], head: [600] };
  let refused = 0;
  for (let round = 0; round < rounds; round += 1) {
    for (let count = 0; count < requestsPerRound; count += 1) {
      const query = random(3) === 0 ? `?q=${'q'.repeat(random(900))}` : '';
      const version = pick(['v1', 'v2']);
      const fails = random(3) === 0;
      const path = `/${version}${pick(fails ? ['/s404', '/s413', '/s422'] : ['/a', '/b/7', '/s500', '/s201'])}${query}`;
      const body = random(2) === 0 ? undefined : random(fails ? 9000 : 5000);
      const one = { path, field: random(1500), body, isChunked: random(2) === 0, http2: random(4) === 0 };
      const status = await send(one, port);
      expect(status >= 400 && status < 500, path).toBe(fails);
      if (fails) continue;
      answered.push(one);
      seen[version]?.push(one.body ?? 0);
      seen['url']?.push(path.length);
      seen['head']?.push(path.length + sizeOfFields(one));
    }
    // Often at the largest size, where one byte decides.
    const near = (sizes: readonly number[]): number =>
      Math.max(1, (random(3) > 0 ? Math.max(...sizes) : pick(sizes)) + random(3) - 1);
    const maybe = (name: string, key: string) => (random(3) === 0 ? { [key]: near(seen[name] ?? []) } : {});
    const limits = {
      gateway: { ...maybe('url', 'url'), ...maybe('head', 'head') },
      v1: maybe('v1', 'body'),
      v2: maybe('v2', 'body'),
    };
    const candidate = document(limits);
    const oracle = await startTestGateway(candidate.routes, { gateway: candidate.gateway });
    let isRefused = false;
    for (const one of answered) isRefused ||= [413, 414, 431].includes(await send(one, oracle.port));
    refused += isRefused ? 1 : 0;
    const outcome = await preview(candidate);
    const plan = await post<Plan>('/api/plan', { since: '7d' });
    const what = `seed ${seed}, round ${round}, ${JSON.stringify(limits)}: ${reasonsOf(outcome)}`;
    expect([outcome['kind'] === 'refused', plan.too_large.length > 0], what).toEqual([isRefused, isRefused]);
  }
  // Both answers are tested.
  expect(refused).toBeGreaterThan(0);
  expect(refused).toBeLessThan(rounds);
});
