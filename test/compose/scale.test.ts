import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { composeWith } from './support/compose.ts';
import { countByStatus, startLoad } from './support/load.ts';
import { generousMs, skipped, useStack, waitForOk, waitUntil } from './support/stack.ts';

describe.skipIf(skipped)('containers that start and stop', () => {
  const stack = useStack();
  const { compose, url } = stack;
  const scaled = composeWith(stack.project, ['docker-compose.yml', 'docker-compose.scale.yml']);
  /** Changes if the gateway's container is restarted or replaced. */
  const gatewayContainer = async () => {
    const [id = ''] = await compose.containers('gateway');
    return compose.docker('inspect', id, '-f', '{{.Id}} {{.State.StartedAt}} {{.RestartCount}}');
  };

  it('a second container of v2 gets requests in turn with the first within seconds', async () => {
    const before = await gatewayContainer();
    // Containers do not share added cocktails. A container without this one is the second.
    const draft = { name: 'Only Here', base: 'gin', price: 9, ingredients: ['gin'] };
    const created = await fetch(`${url}/v2/cocktails`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(draft),
    });
    expect(created.status).toBe(201);
    const item = new URL(created.headers.get('location') ?? '', url);
    const load = startLoad(`${url}/v2/cocktails/7`, 'new');
    const isUnknown = async () => (await fetch(item)).status === 404;
    const found = waitUntil(isUnknown, 'a response of the second container').then(Date.now);
    const [foundAt] = await Promise.all([found, scaled.up()]);
    expect(await compose.containers('v2')).toHaveLength(2);
    const took = foundAt - (await compose.startedAt('v2'));
    await waitUntil(async () => (await fetch(item)).status === 200, 'a response of the first container');
    console.log(
      `the second container responds ${took} ms after its start: ${JSON.stringify(countByStatus(await load.stop()))}`,
    );
    expect(took).toBeLessThan(generousMs);
    expect(Object.keys(countByStatus(load.responses))).toEqual(['200']);
    expect(await gatewayContainer()).toBe(before);
  });

  it('one of two containers of v2 stops without a failed request', async () => {
    const [first = ''] = await compose.containers('v2');
    const load = startLoad(`${url}/v2/cocktails/7`, 'new');
    await waitUntil(async () => load.responses.length > 10, 'the load');
    await compose.docker('stop', first);
    // The gateway resolves the name every 4 s.
    await sleep(5_000);
    expect(countByStatus(await load.stop())).toEqual({ 200: expect.any(Number) });
    await scaled.up();
  });

  it('a replaced container of v1 gets requests within seconds', async () => {
    const before = await gatewayContainer();
    await compose.upOne('v1', '--force-recreate', '--no-deps');
    await waitForOk(`${url}/v1/drinks/7`);
    expect(Date.now() - (await compose.startedAt('v1'))).toBeLessThan(generousMs);
    expect(await gatewayContainer()).toBe(before);
  });

  it('a container of v1 that gets another IP address gets requests within seconds', async () => {
    const before = await gatewayContainer();
    const addressOf = async () => {
      const [id = ''] = await compose.containers('v1');
      const format = `{{(index .NetworkSettings.Networks "${compose.network('backends')}").IPAddress}}`;
      return (await compose.docker('inspect', id, '-f', format)).trim();
    };
    const old = await addressOf();
    const [id = ''] = await compose.containers('v1');
    const image = (await compose.docker('inspect', id, '-f', '{{.Image}}')).trim();
    await compose.stop('v1');
    // Takes the old address.
    const options = ['run', '--detach', '--rm', '--network', compose.network('backends'), '--entrypoint', 'node'];
    const other = await compose.docker(...options, image, '-e', 'setInterval(() => {}, 1000)');
    onTestFinished(() => compose.docker('rm', '--force', other.trim()).then(() => {}));
    const found = waitForOk(`${url}/v1/drinks/7`).then(Date.now);
    const [foundAt] = await Promise.all([found, compose.start('v1')]);
    const took = foundAt - (await compose.startedAt('v1'));
    console.log(`another address: ${old} → ${await addressOf()}, responds after ${took} ms`);
    expect(await addressOf()).not.toBe(old);
    expect(took).toBeLessThan(generousMs);
    expect(await gatewayContainer()).toBe(before);
  });
});
