import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectTo } from '../support/rawClient.ts';
import { type Answer, keepAsking, stats } from './support/load.ts';
import { answered, skipped, until, useStack } from './support/stack.ts';

const connectTimeoutMs = 3_000;

describe.skipIf(skipped)('under load', () => {
  const stack = useStack();
  const { compose, url } = stack;

  it('a version that is killed fails alone and in order, and comes back by itself', async () => {
    const [v1, v2] = [keepAsking(`${url}/v1/drinks/7`, 'old'), keepAsking(`${url}/v2/cocktails/7`, 'new')];
    await sleep(500);
    await compose.kill('v1');
    const killed = Date.now();
    const during = () => v1.answers.filter(({ at }) => at > killed);
    await until(async () => during().length >= 3, 'answers to whoever asked after it', 30_000);
    const whileGone = during();
    const asked = answered(`${url}/v1/drinks/7`, 20_000).then(Date.now);
    const [answeredAt] = await Promise.all([asked, compose.start('v1')]);
    const back = answeredAt - (await compose.startedAt('v1'));
    // Those who asked before it was back may wait longer than those who come now.
    await until(async () => v1.answers.some(({ at }) => at > answeredAt), 'load to reach it again', 30_000);
    const [old, current] = await Promise.all([v1.stop(), v2.stop()]);
    console.log(
      `v1 killed: ${JSON.stringify(stats(old))}, slowest ${Math.max(...times(failed(old)))} ms; back ${back} ms after its start; v2: ${JSON.stringify(stats(current))}`,
    );
    for (const { status, type, ms } of failed(old)) {
      expect([502, 503, 504]).toContain(status);
      expect(type).toBe('application/problem+json');
      // Nobody has its address any more, so nobody refuses; and there is no other target. Each finds out for itself.
      expect(ms).toBeLessThan(connectTimeoutMs + 1_500);
    }
    expect(failed(whileGone)).toEqual(whileGone);
    expect(failed(old.filter(({ at }) => at > answeredAt))).toEqual([]);
    expect(failed(current)).toEqual([]);
    expect(back).toBeLessThan(5_000);
  });

  it('a version that is killed where probes watch it is refused at once, and comes back by itself', async () => {
    const shipped = readFileSync(stack.routes, 'utf8');
    onTestFinished(() => writeFileSync(stack.routes, shipped));
    const health = '{ path: /health, interval: 500ms, timeout: 500ms, on_none_healthy: refuse }';
    writeFileSync(stack.routes, `${shipped}\ndefaults:\n  health: ${health}\n`);
    await compose.kill('v1');
    const noticed = await until(async () => (await fetch(`${url}/v1/drinks/7`)).status === 503, 'the probes', 30_000);
    const load = keepAsking(`${url}/v1/drinks/7`, 'old');
    await sleep(2_000);
    const answers = await load.stop();
    const asked = answered(`${url}/v1/drinks/7`, 20_000).then(Date.now);
    const [answeredAt] = await Promise.all([asked, compose.start('v1')]);
    const back = answeredAt - (await compose.startedAt('v1'));
    console.log(
      `noticed in ${noticed} ms, then ${median(times(answers))} ms for each of ${answers.length}; back ${back} ms`,
    );
    expect(Object.keys(stats(answers))).toEqual(['503']);
    expect(new Set(answers.map(({ type }) => type))).toEqual(new Set(['application/problem+json']));
    expect(answers.length).toBeGreaterThan(20);
    expect(median(times(answers))).toBeLessThan(500);
    expect(back).toBeLessThan(5_000);
  });

  it('a gateway that is stopped lets what is under way finish, and ends with 0 within the drain time', async () => {
    const [id = ''] = await compose.containers('gateway');
    // Past the proxy of the engine, which takes connections for a gateway that is not there.
    const networks = `{{(index .NetworkSettings.Networks "${compose.network('edge')}").IPAddress}}`;
    const address = (await compose.docker('inspect', id, '-f', networks)).trim();
    const load = keepAsking(`http://${address}:8080/v2/cocktails/7`, 'new');
    const draft = JSON.stringify({ name: 'Slow Gin', base: 'gin', price: 9, ingredients: ['gin', 'patience'] });
    const slow = await connectTo(8080, address);
    slow.send(
      `POST /v2/cocktails HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${draft.length}\r\n\r\n`,
    );
    await sleep(500);
    const begun = Date.now();
    const stopped = compose.stop('gateway');
    await until(async () => failed(load.answers).length > 0, 'the listener to close', 30_000);
    slow.send(draft);
    const { status, body } = await slow.response('POST');
    expect([status, body]).toEqual([201, expect.stringContaining('Slow Gin')]);
    await stopped;
    const took = Date.now() - begun;
    const answers = await load.stop();
    console.log(`gateway stopped in ${took} ms: ${JSON.stringify(stats(answers))}`);
    const exit = await compose.docker('inspect', id, '-f', '{{.State.ExitCode}} {{.State.OOMKilled}}');
    expect(exit.trim()).toBe('0 false');
    expect(took).toBeLessThan(30_000);
    // Whoever came too late was not let in; nobody who was in was dropped.
    expect(
      Object.keys(stats(answers)).filter((key) => !/^(200|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH)$/.test(key)),
    ).toEqual([]);
  });

  it('a gateway that starts finds no backend, and goes without; what was stopped stays stopped', async () => {
    await compose.stop('v1');
    await compose.stop('v2');
    await compose.upOne('gateway', '--force-recreate');
    await until(async () => (await fetch(`${stack.admin}/readyz`)).status === 200, 'the gateway', 30_000);
    const { status, headers } = await fetch(`${url}/v1/drinks/7`);
    expect([502, 503, 504]).toContain(status);
    expect(headers.get('content-type')).toBe('application/problem+json');
    await compose.start('v2');
    await answered(`${url}/v2/cocktails/7`, 10_000);
    expect(await compose.containers('v1')).toEqual([]);
  });

  it('the ledger outlives the container', async () => {
    const used = async (): Promise<number> => {
      const text = await compose.exec('gateway', ['version-gateway', 'usage', '/v2', '--format', 'json']);
      const { rows } = JSON.parse(text) as { rows: { client: string; requests: number }[] };
      return rows.find(({ client }) => client.includes('new'))?.requests ?? 0;
    };
    await until(async () => (await used()) > 0, 'the ledger to be written', 30_000);
    const before = await used();
    const [id = ''] = await compose.containers('gateway');
    await compose.upOne('gateway', '--force-recreate');
    await until(async () => (await fetch(`${stack.admin}/readyz`)).status === 200, 'the gateway', 30_000);
    expect(await compose.containers('gateway')).not.toContain(id);
    expect(await used()).toBe(before);
  });
});

function failed(answers: readonly Answer[]): Answer[] {
  return answers.filter(({ status }) => status !== 200);
}

function times(answers: readonly Answer[]): number[] {
  return answers.map(({ ms }) => ms);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.POSITIVE_INFINITY;
}
