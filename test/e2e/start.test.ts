import { expect, it } from 'vitest';
import { run } from '../support/process.ts';

const ports = { V1_URL: 'http://127.0.0.1:43001', V2_URL: 'http://127.0.0.1:43002' };

/** The gateway and both services as `npm start` runs them, on ports of the test's own. */
async function startAll(): Promise<string> {
  const v1 = run(process.execPath, ['services/v1/server.ts'], { PORT: '43001' });
  const v2 = run(process.execPath, ['services/v2/server.ts'], { PORT: '43002' });
  const gateway = run(
    process.execPath,
    ['gateway/main.ts', 'start', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'],
    ports,
  );
  await Promise.all([v1.printed(/listening/), v2.printed(/listening/)]);
  const [, base] = await gateway.printed(/listens on (\S+)/);
  await gateway.printed(/readyz/);
  return base as string;
}

it('the shipped routes.yaml serves both services, and v1 says where to go', async () => {
  const base = await startAll();

  const drink = await fetch(`${base}/v1/drinks/7`);
  expect(await drink.json()).toMatchObject({ title: 'Mojito', price: '8.50' });
  expect(drink.headers.get('deprecation')).toBe('@1782777600');
  expect(drink.headers.get('sunset')).toBe('Sat, 30 Jun 2029 23:59:59 GMT');
  expect(drink.headers.get('link')).toContain('</v2/cocktails/7>; rel="successor-version"');

  const cocktail = await fetch(`${base}/v2/cocktails/7`);
  expect(await cocktail.json()).toMatchObject({ name: 'Mojito', price: 8.5 });
  expect(cocktail.headers.get('deprecation')).toBeNull();

  const search = await fetch(`${base}/v1/legacy-search?q=mo`);
  expect([search.status, search.headers.get('link')?.includes('successor-version')]).toEqual([200, false]);
});

it('through the gateway, what a service says of its own paths leads back through the gateway', async () => {
  const base = await startAll();
  for (const [version, item] of [
    ['v1', /^\/v1\/drinks\/13$/],
    ['v2', /^\/v2\/cocktails\/13$/],
  ] as const) {
    const list = await fetch(`${base}/${version}/cocktails?base=gin&limit=1`);
    expect(list.headers.getSetCookie()[0]).toContain(`Path=/${version}/cocktails`);
    const next = /<([^>]+)>; rel="next"/.exec(list.headers.get('link') ?? '')?.[1] ?? '';
    expect((await fetch(base + next)).status).toBe(200);

    const draft = { title: 'A', name: 'A', base: 'gin', price: version === 'v1' ? '1.00' : 1, ingredients: ['gin'] };
    const headers = { 'content-type': 'application/json' };
    const made = await fetch(`${base}/${version}/cocktails`, { method: 'POST', body: JSON.stringify(draft), headers });
    expect([made.status, made.headers.get('location')]).toEqual([201, expect.stringMatching(item)]);
    expect((await fetch(base + made.headers.get('location'))).status).toBe(200);
  }
});

it('SIGTERM ends it with 0, and a taken port is one clear line', async () => {
  const gateway = run(
    process.execPath,
    ['gateway/main.ts', 'start', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'],
    ports,
  );
  const [, base] = await gateway.printed(/listens on (\S+)/);
  await gateway.printed(/readyz/);
  const address = (base as string).replace('http://', '');
  const second = run(
    process.execPath,
    ['gateway/main.ts', 'start', '--listen', address, '--admin', '127.0.0.1:0'],
    ports,
  );
  await second.printed(/is taken by another process/);
  const ended = new Promise((resolve) => gateway.child.once('exit', resolve));
  gateway.child.kill('SIGTERM');
  expect(await ended).toBe(0);
});
