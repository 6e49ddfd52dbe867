import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectTo } from '../support/rawClient.ts';
import { countByStatus, type LoadResponse, startLoad } from './support/load.ts';
import { generousMs, skipped, useStack, waitForOk, waitUntil } from './support/stack.ts';

const connectTimeoutMs = 3_000;

describe.skipIf(skipped)('under load', () => {
  const stack = useStack();
  const { compose, url } = stack;
  /** How many configurations the gateway has applied. */
  const generation = async (): Promise<number> => {
    const response = await fetch(`${stack.admin}/api/status`, { headers: { authorization: `Bearer ${stack.token}` } });
    return ((await response.json()) as { config: { generation: number } }).config.generation;
  };

  it('a killed version gets problem responses, other versions are unaffected, and it recovers after its start', async () => {
    const [v1, v2] = [startLoad(`${url}/v1/drinks/7`, 'old'), startLoad(`${url}/v2/cocktails/7`, 'new')];
    await waitUntil(async () => [v1, v2].every(({ responses }) => responses.length > 10), 'the load');
    await compose.kill('v1');
    const killedAt = Date.now();
    const sinceKill = () => v1.responses.filter(({ at }) => at > killedAt);
    await waitUntil(async () => sinceKill().length >= 3, 'responses to requests after the kill');
    const whileStopped = sinceKill();
    const recovered = waitForOk(`${url}/v1/drinks/7`).then(Date.now);
    const [recoveredAt] = await Promise.all([recovered, compose.start('v1')]);
    const recovery = recoveredAt - (await compose.startedAt('v1'));
    // Requests from before the recovery may still be waiting for their time-out.
    const isServedAgain = async () => v1.responses.some(({ at }) => at > recoveredAt);
    await waitUntil(isServedAgain, 'a response to a request after the recovery');
    const [old, current] = await Promise.all([v1.stop(), v2.stop()]);
    console.log(
      `v1 killed: ${JSON.stringify(countByStatus(old))}, slowest ${Math.max(...times(failed(old)))} ms; recovered ${recovery} ms after its start; v2: ${JSON.stringify(countByStatus(current))}`,
    );
    for (const { status, type, ms } of failed(old)) {
      expect([502, 503, 504]).toContain(status);
      expect(type).toBe('application/problem+json');
      // No host has the address any more, so connections are not refused but time out. There is no other target.
      expect(ms).toBeLessThan(connectTimeoutMs + generousMs);
    }
    expect(failed(whileStopped)).toEqual(whileStopped);
    expect(failed(old.filter(({ at }) => at > recoveredAt))).toEqual([]);
    expect(failed(current)).toEqual([]);
    expect(recovery).toBeLessThan(generousMs);
  });

  it('with health checks, requests to a killed version fail fast, and it recovers after its start', async () => {
    const shipped = readFileSync(stack.routes, 'utf8');
    onTestFinished(() => writeFileSync(stack.routes, shipped));
    const health = '{ path: /health, interval: 500ms, timeout: 500ms, on_none_healthy: refuse }';
    const before = await generation();
    writeFileSync(stack.routes, `${shipped}\ndefaults:\n  health: ${health}\n`);
    // The guard refuses `refuse` for a version without a healthy target.
    await waitUntil(async () => (await generation()) > before, 'the edit to be applied');
    await compose.kill('v1');
    const isRefused = async () => (await fetch(`${url}/v1/drinks/7`)).status === 503;
    const detection = await waitUntil(isRefused, 'the health check to fail');
    const load = startLoad(`${url}/v1/drinks/7`, 'old');
    await waitUntil(async () => load.responses.length > 20, 'responses');
    const responses = await load.stop();
    const recovered = waitForOk(`${url}/v1/drinks/7`).then(Date.now);
    const [recoveredAt] = await Promise.all([recovered, compose.start('v1')]);
    const recovery = recoveredAt - (await compose.startedAt('v1'));
    console.log(
      `detected in ${detection} ms, then ${median(times(responses))} ms per response; recovered in ${recovery} ms`,
    );
    expect(Object.keys(countByStatus(responses))).toEqual(['503']);
    expect(new Set(responses.map(({ type }) => type))).toEqual(new Set(['application/problem+json']));
    // Faster than an attempt to connect.
    expect(median(times(responses))).toBeLessThan(connectTimeoutMs);
    expect(recovery).toBeLessThan(generousMs);
  });

  it('a stopped gateway finishes its requests in flight and exits with 0 within the drain time', async () => {
    const [id = ''] = await compose.containers('gateway');
    // Bypasses the port proxy of the engine, which accepts connections even if the gateway does not run.
    const networks = `{{(index .NetworkSettings.Networks "${compose.network('edge')}").IPAddress}}`;
    const address = (await compose.docker('inspect', id, '-f', networks)).trim();
    const load = startLoad(`http://${address}:8080/v2/cocktails/7`, 'new');
    const draft = JSON.stringify({ name: 'Slow Gin', base: 'gin', price: 9, ingredients: ['gin', 'lime'] });
    const slow = await connectTo(8080, address);
    slow.send(
      `POST /v2/cocktails HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${draft.length}\r\n\r\n`,
    );
    const sent = load.responses.length;
    await waitUntil(async () => load.responses.length > sent + 10, 'responses to later requests');
    const stoppedAt = Date.now();
    const stopped = compose.stop('gateway');
    await waitUntil(async () => failed(load.responses).length > 0, 'the listener to close');
    slow.send(draft);
    const { status, body } = await slow.response('POST');
    expect([status, body]).toEqual([201, expect.stringContaining('Slow Gin')]);
    await stopped;
    const took = Date.now() - stoppedAt;
    const responses = await load.stop();
    console.log(`gateway stopped in ${took} ms: ${JSON.stringify(countByStatus(responses))}`);
    const exit = await compose.docker('inspect', id, '-f', '{{.State.ExitCode}} {{.State.OOMKilled}}');
    expect(exit.trim()).toBe('0 false');
    expect(took).toBeLessThan(generousMs);
    // New connections are refused. Accepted requests get their response.
    const outcomes = Object.keys(countByStatus(responses));
    expect(outcomes.filter((key) => !/^(200|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH)$/.test(key))).toEqual([]);
  });

  it('the gateway starts without backends and does not start their containers', async () => {
    await compose.stop('v1');
    await compose.stop('v2');
    await compose.upOne('gateway', '--force-recreate');
    await waitUntil(async () => (await fetch(`${stack.admin}/readyz`)).status === 200, 'the gateway');
    const { status, headers } = await fetch(`${url}/v1/drinks/7`);
    expect([502, 503, 504]).toContain(status);
    expect(headers.get('content-type')).toBe('application/problem+json');
    await compose.start('v2');
    await waitForOk(`${url}/v2/cocktails/7`);
    expect(await compose.containers('v1')).toEqual([]);
  });

  it('the ledger survives the replacement of the container', async () => {
    const countedRequests = async (): Promise<number> => {
      const text = await compose.exec('gateway', ['version-gateway', 'usage', '/v2', '--format', 'json']);
      const { rows } = JSON.parse(text) as { rows: { client: string; requests: number }[] };
      return rows.find(({ client }) => client.includes('new'))?.requests ?? 0;
    };
    await waitUntil(async () => (await countedRequests()) > 0, 'requests in the ledger');
    const before = await countedRequests();
    const [id = ''] = await compose.containers('gateway');
    await compose.upOne('gateway', '--force-recreate');
    await waitUntil(async () => (await fetch(`${stack.admin}/readyz`)).status === 200, 'the gateway');
    expect(await compose.containers('gateway')).not.toContain(id);
    expect(await countedRequests()).toBe(before);
  });
});

function failed(responses: readonly LoadResponse[]): LoadResponse[] {
  return responses.filter(({ status }) => status !== 200);
}

function times(responses: readonly LoadResponse[]): number[] {
  return responses.map(({ ms }) => ms);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.POSITIVE_INFINITY;
}
