import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { composeWith } from './support/compose.ts';
import { keepAsking, stats } from './support/load.ts';
import { answered, skipped, until, useStack } from './support/stack.ts';

describe.skipIf(skipped)('containers that come and go', () => {
  const stack = useStack();
  const { compose, url } = stack;
  const scaled = composeWith(stack.site, ['docker-compose.yml', 'docker-compose.scale.yml']);
  const gateway = async () => {
    const [id = ''] = await compose.containers('gateway');
    return compose.docker('inspect', id, '-f', '{{.Id}} {{.State.StartedAt}} {{.RestartCount}}');
  };

  it('a second one of v2 is found within 5 s, and takes turns with the first', async () => {
    const before = await gateway();
    // Each keeps what it is told to itself, so that whoever does not know it is another one.
    const draft = { name: 'Only Here', base: 'gin', price: 9, ingredients: ['gin'] };
    const made = await fetch(`${url}/v2/cocktails`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(draft),
    });
    const item = new URL(made.headers.get('location') ?? '', url);
    const load = keepAsking(`${url}/v2/cocktails/7`, 'new');
    const found = until(async () => (await fetch(item)).status === 404, 'the second container', 30_000).then(Date.now);
    const [foundAt] = await Promise.all([found, scaled.up()]);
    expect(await compose.containers('v2')).toHaveLength(2);
    const took = foundAt - (await compose.startedAt('v2'));
    await until(async () => (await fetch(item)).status === 200, 'the first one again', 2_000);
    console.log(
      `a second container answers ${took} ms after it was started: ${JSON.stringify(stats(await load.stop()))}`,
    );
    expect(took).toBeLessThan(5_000);
    expect(Object.keys(stats(load.answers))).toEqual(['200']);
    expect(await gateway()).toBe(before);
  });

  it('one of two that is stopped is left out, and nobody notices', async () => {
    const [one = ''] = await compose.containers('v2');
    const load = keepAsking(`${url}/v2/cocktails/7`, 'new');
    await sleep(300);
    await compose.docker('stop', one);
    await sleep(5_000);
    expect(stats(await load.stop())).toEqual({ 200: expect.any(Number) });
    await scaled.up();
  });

  it('one that is replaced is found within 5 s', async () => {
    const before = await gateway();
    await compose.upOne('v1', '--force-recreate', '--no-deps');
    await answered(`${url}/v1/drinks/7`, 10_000);
    expect(Date.now() - (await compose.startedAt('v1'))).toBeLessThan(5_000);
    expect(await gateway()).toBe(before);
  });

  it('one that comes back with another address is found within 5 s', async () => {
    const before = await gateway();
    const addressOf = async () => {
      const [id = ''] = await compose.containers('v1');
      const own = `{{(index .NetworkSettings.Networks "${compose.network('backends')}").IPAddress}}`;
      return (await compose.docker('inspect', id, '-f', own)).trim();
    };
    const old = await addressOf();
    const [id = ''] = await compose.containers('v1');
    const image = (await compose.docker('inspect', id, '-f', '{{.Image}}')).trim();
    await compose.stop('v1');
    const squatter = ['run', '--detach', '--rm', '--network', compose.network('backends'), '--entrypoint', 'node'];
    const other = await compose.docker(...squatter, image, '-e', 'setInterval(() => {}, 1000)');
    onTestFinished(() => compose.docker('rm', '--force', other.trim()).then(() => {}));
    const found = answered(`${url}/v1/drinks/7`, 20_000).then(Date.now);
    const [foundAt] = await Promise.all([found, compose.start('v1')]);
    const took = foundAt - (await compose.startedAt('v1'));
    console.log(`another address: ${old} → ${await addressOf()}, answers after ${took} ms`);
    expect(await addressOf()).not.toBe(old);
    expect(took).toBeLessThan(5_000);
    expect(await gateway()).toBe(before);
  });
});
