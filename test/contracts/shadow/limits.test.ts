import { expect, it } from 'vitest';
import { CircuitBreaker } from '../../../gateway/contracts/shadow/sampling/shadowQueue.ts';
import { answer, okAnswer } from '../../support/backend.ts';
import { eventually, settled } from '../../support/eventually.ts';
import { refusedUrl } from '../../support/gateway.ts';
import { ask, get } from '../../support/rawClient.ts';
import { startShadowed } from './shadowedGateway.ts';

type Shadowed = Awaited<ReturnType<typeof startShadowed>>;

/** Sends requests of ten clients on two routes until `isOver`. @returns how many were answered with another status than 200 */
async function askUntil({ port }: Pick<Shadowed, 'port'>, isOver: () => boolean): Promise<number> {
  let failed = 0;
  const loop = async (client: string): Promise<void> => {
    while (!isOver()) {
      const { status } = await ask(port, get(`/v1/${client}`, `X-Client-Id: ${client}`));
      if (status !== 200) failed += 1;
    }
  };
  await Promise.all(Array.from({ length: 10 }, (_, index) => loop(`c${index % 5}`)));
  return failed;
}

async function countsOf(gateway: Shadowed) {
  const { copies = {}, dropped = {}, state } = (await gateway.shadow()) ?? {};
  return { ...copies['shadow'], dropped, state };
}

it('keeps the rate at many times the load, with the control requests', async () => {
  const gateway = await startShadowed({ shadow: { rate: '5/s', control: '100%' } });
  const begun = performance.now();
  const isOver = () => gateway.v1.requests.length > 500 && gateway.v2.requests.length >= 4;
  expect(await askUntil(gateway, isOver)).toBe(0);
  const controls = gateway.v1.requests.filter(({ raw }) => /^X-Shadow: 1\r$/m.test(raw)).length;
  const copies = gateway.v2.requests.length + controls;
  const seconds = (performance.now() - begun) / 1000;
  expect(copies).toBeLessThanOrEqual(5 * (seconds + 0.05) + 1);
});

it('has no more than in_flight copies without a response, and answers clients while no copy is answered', async () => {
  const gateway = await startShadowed({ shadow: { in_flight: 3, timeout: '1m' }, v2Answer: [] });
  expect(await askUntil(gateway, () => gateway.v1.requests.length > 100)).toBe(0);
  await eventually(() => expect(gateway.v2.requests.length).toBeGreaterThanOrEqual(3));
  expect(await settled(() => gateway.v2.requests.length)).toBe(3);
  // Only a bounded number waits.
  await eventually(async () => expect((await countsOf(gateway)).dropped['queue']).toBeGreaterThan(50));
});

it('sends nothing at or after until', async () => {
  const gateway = await startShadowed();
  await ask(gateway.port, get('/v1/before'));
  await eventually(() => expect(gateway.v2.requests).toHaveLength(1));
  const until = Math.ceil(Date.now() / 1000 + 0.5) * 1000;
  await gateway.edit({ until: new Date(until).toISOString() });
  await askUntil(gateway, () => Date.now() > until);
  for (let count = 0; count < 20; count += 1) await ask(gateway.port, get(`/v1/late-${count}`));
  await settled(() => gateway.v2.requests.length);
  expect(gateway.v2.requests.filter(({ raw }) => raw.includes('late'))).toEqual([]);
  expect((await gateway.shadow())?.state).toBe('over');
});

it('stops sending to a version that fails five times in a row', async () => {
  const gateway = await startShadowed({ v2Answer: answer(503, ''), shadow: { in_flight: 1 } });
  expect(await askUntil(gateway, () => gateway.v1.requests.length > 60)).toBe(0);
  await eventually(async () => expect(await countsOf(gateway)).toMatchObject({ failed: 5, state: 'broken' }));
  expect((await countsOf(gateway)).dropped['breaker']).toBeGreaterThan(0);
  expect(gateway.v2.requests).toHaveLength(5);
});

it('opens the circuit breaker after five failures in a row, and tries one copy every 30 s', () => {
  const breaker = new CircuitBreaker();
  const answered = { status: 500, contentType: undefined, body: new Uint8Array() };
  const results = ['failed', 'timeout', 'failed', 'failed', answered, 'failed', 'failed', 'failed', 'timeout'] as const;
  for (const result of results) {
    expect(breaker.allows(0)).toBe(true);
    breaker.record(result, 0);
  }
  expect(breaker.allows(0)).toBe(true);
  breaker.record('failed', 1_000);
  expect([breaker.allows(1_000), breaker.allows(30_999)]).toEqual([false, false]);
  expect([breaker.allows(31_000), breaker.allows(31_000)]).toEqual([true, false]);
  breaker.record('timeout', 36_000);
  expect([breaker.allows(65_999), breaker.allows(66_000), breaker.allows(66_000)]).toEqual([false, true, false]);
  // An aborted copy says nothing about the version, so the next copy is tried at once.
  breaker.record('aborted', 66_001);
  expect(breaker.allows(66_001)).toBe(true);
  breaker.record(answered, 66_002);
  expect([breaker.allows(66_003), breaker.allows(66_003)]).toEqual([true, true]);
});

it('changes nothing for clients while the version that gets the copies is down', async () => {
  const gateway = await startShadowed({ v2: { upstream: await refusedUrl() } });
  expect(await askUntil(gateway, () => gateway.v1.requests.length > 100)).toBe(0);
  await eventually(async () => expect((await countsOf(gateway)).state).toBe('broken'));
});

it('stops at once, keeps copies in flight from being compared, and stays stopped over a reload', async () => {
  const gateway = await startShadowed({ v2Answer: [], shadow: { timeout: '1m', in_flight: 2 } });
  await ask(gateway.port, get('/v1/a'));
  await eventually(() => expect(gateway.v2.requests).toHaveLength(1));
  const stopped = await stop(gateway);
  expect(stopped).toMatchObject({ shadow: { version: 'v1', to: 'v2', state: 'stopped' }, stored: false });
  await eventually(() => expect(gateway.v2.connections[0]?.closed).not.toBe('open'));
  expect(await stop(gateway)).toMatchObject({ code: 'NO_SHADOW', detail: 'The shadow of /v1 was stopped before.' });
  await gateway.edit({ timeout: '1m', in_flight: 2 });
  for (let count = 0; count < 20; count += 1) await ask(gateway.port, get(`/v1/${count}`));
  expect(await settled(() => gateway.v2.requests.length)).toBe(1);
  expect((await gateway.shadow())?.copies).toEqual({ shadow: { aborted: 1 } });
  // A shadow with other settings counts as another shadow.
  await gateway.edit({ timeout: '1m', in_flight: 3 });
  await eventually(async () => {
    await ask(gateway.port, get('/v1/again'));
    expect(gateway.v2.requests.length).toBeGreaterThan(1);
  });
});

async function stop({ admin }: Pick<Shadowed, 'admin'>): Promise<unknown> {
  const options = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"version":"v1"}' };
  return (await fetch(`${admin}/api/shadow/stop`, options)).json();
}

it('exports its state as metrics', async () => {
  const gateway = await startShadowed({ v1Answer: okAnswer });
  await ask(gateway.port, get('/v1/a'));
  await eventually(async () => {
    const text = await (await fetch(`${gateway.admin}/metrics`)).text();
    expect(text).toContain('version_gateway_shadow_running{version="v1"} 1');
    expect(text).toContain('version_gateway_shadow_copies_total{version="v1",kind="shadow",outcome="compared"} 1');
  });
});
