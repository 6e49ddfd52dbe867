import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../config/temporary.ts';
import { startWorkers } from '../process/runtime/startWorkers.ts';
import { answer, startBackend } from '../support/backend.ts';
import { connectSecurely, makePair } from '../support/certificates.ts';
import { startTestGateway } from '../support/gateway.ts';
import { ask, get, message, RawClient } from '../support/rawClient.ts';
import { type RawResponse, valuesOf } from '../support/response.ts';

const year = 'max-age=31536000';
let files: { cert: string; key: string };

beforeAll(() => {
  const folder = temporaryFolder();
  const pair = makePair(folder, 'api.test');
  files = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') };
  writeFileSync(files.cert, pair.cert);
  writeFileSync(files.key, pair.key);
});

async function start(tls: Record<string, unknown> | undefined, script = answer(200, 'ok')): Promise<number> {
  const backend = await startBackend(script);
  const routes = { '/v0': { retired: true }, '/v1': backend.url };
  return (await startTestGateway(routes, tls && { gateway: { tls: { ...files, ...tls } } })).port;
}

async function askSecurely(port: number, bytes: string): Promise<RawResponse> {
  const client = new RawClient(await connectSecurely(port));
  client.send(bytes);
  return client.response(bytes.slice(0, bytes.indexOf(' ')));
}

const requests = [
  ['a request', get('/v1/x'), 200],
  ['HEAD', message('HEAD /v1/x HTTP/1.1', 'Host: api.test'), 200],
  ['a retired version', get('/v0/x'), 410],
  ['OPTIONS *', message('OPTIONS * HTTP/1.1', 'Host: api.test'), 204],
  ['a broken request', message('GET /v1/x HTTP/1.1', 'Host : api.test'), 400],
] as const;

/** RFC 6797 §7.1 and §7.2. */
describe.each(requests)('Strict-Transport-Security: the response to %s', (_name, request, status) => {
  it.each([
    ['has it once over TLS', { hsts: true }, [year]],
    ['does not have it if tls.hsts is false', { hsts: false }, []],
    ['does not have it by default', {}, []],
  ])('%s', async (_what, tls, expected) => {
    const response = await askSecurely(await start(tls), request);
    expect([response.status, valuesOf(response, 'strict-transport-security')]).toEqual([status, expected]);
  });

  it('does not have it over plain HTTP', async () => {
    const response = await ask(await start(undefined), request);
    expect([response.status, valuesOf(response, 'strict-transport-security')]).toEqual([status, []]);
  });
});

it.each([true, false])('the field of the backend is passed on unchanged, tls.hsts: %s', async (hsts) => {
  const own = 'max-age=60; includeSubDomains';
  const port = await start({ hsts }, answer(200, 'ok', `strict-transport-security: ${own}`));
  expect(valuesOf(await askSecurely(port, get('/v1/x')), 'strict-transport-security')).toEqual([own]);
});

it('the final response has Strict-Transport-Security, and interim responses do not', async () => {
  const hints = message('HTTP/1.1 103 Early Hints', 'Link: </a.css>; rel=preload');
  const response = await askSecurely(await start({ hsts: true }, hints + answer(200, 'ok')), get('/v1/x'));
  expect(response.interim.map((one) => valuesOf(one, 'strict-transport-security'))).toEqual([[]]);
  expect(valuesOf(response, 'strict-transport-security')).toEqual([year]);
});

it.each([1, 2])('a reload applies tls.hsts to open and new connections, %i workers', async (workers) => {
  const routes = { '/v1': (await startBackend(answer(200, 'ok'))).url };
  const gateway = await startWorkers(workers, routes, { gateway: { tls: files } });
  let edits = 0;
  const edit = async (hsts: boolean): Promise<void> => {
    edits += 1;
    const listeners = { listen: '127.0.0.1:0', admin: '127.0.0.1:0' };
    gateway.edit(routes, { gateway: { ...listeners, workers, drain: '5s', tls: { ...files, hsts } } });
    await gateway.printed(new RegExp(`(?:settings changed[^]*){${edits}}`));
  };
  const open = new RawClient(await connectSecurely(gateway.port));
  const fields = async (): Promise<string[][]> => {
    open.send(get('/v1/x'));
    const others = Array.from({ length: 8 }, () => askSecurely(gateway.port, get('/v1/x')));
    const responses = [await open.response(), ...(await Promise.all(others))];
    return responses.map((one) => valuesOf(one, 'strict-transport-security'));
  };
  expect(await fields()).toEqual(Array(9).fill([]));
  await edit(true);
  expect(await fields()).toEqual(Array(9).fill([year]));
  await edit(false);
  expect(await fields()).toEqual(Array(9).fill([]));
  await edit(true);
  // A worker that starts later has the setting, too.
  if (workers > 1) for (const pid of await gateway.pids()) process.kill(pid, 'SIGKILL');
  const later = await askSecurely(gateway.port, get('/v1/x'));
  expect(valuesOf(later, 'strict-transport-security')).toEqual([year]);
  expect(gateway.output()).not.toMatch(/next start|not everywhere/);
});
