import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { gatewayMain } from '../support/gatewayMain.ts';
import { run } from '../support/process.ts';
import { copyShippedRoutes } from '../support/shipped.ts';

const anyPorts = ['start', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'];

/** The gateway and both services as `npm start` runs them, on the test's own ports. */
async function startAll(): Promise<string> {
  const services = ['v1', 'v2'].map((name) => run(process.execPath, [`services/${name}/server.ts`], { PORT: '0' }));
  const [v1, v2] = await Promise.all(services.map((service) => service.printed(/listening on (\S+)/)));
  const env = { V1_URL: v1?.[1] ?? '', V2_URL: v2?.[1] ?? '' };
  const gateway = run(process.execPath, ['gateway/main.ts', ...anyPorts, '--config', copyShippedRoutes()], env);
  const [, base] = await gateway.printed(/listens on (\S+)/);
  await gateway.printed(/readyz/);
  return base as string;
}

it('the shipped routes.yaml serves both services, and v1 links to its successor', async () => {
  const base = await startAll();

  const drink = await fetch(`${base}/v1/drinks/7`);
  expect(await drink.json()).toMatchObject({ title: 'Mojito', price: '8.50' });
  expect(drink.headers.get('deprecation')).toBe('@1735603200');
  expect(drink.headers.get('sunset')).toBe('Mon, 30 Jun 2025 23:59:59 GMT');
  expect(drink.headers.get('link')).toContain('</v2/cocktails/7>; rel="successor-version"');

  const cocktail = await fetch(`${base}/v2/cocktails/7`);
  expect(await cocktail.json()).toMatchObject({ name: 'Mojito', price: 8.5 });
  expect(cocktail.headers.get('deprecation')).toBeNull();

  const search = await fetch(`${base}/v1/legacy-search?q=mo`);
  expect([search.status, search.headers.get('link')?.includes('successor-version')]).toEqual([200, false]);
});

it('clients can follow the links and locations of a service through the gateway', async () => {
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

it('SIGTERM ends the gateway with exit code 0; a port in use gives one line and exit code 1', async () => {
  const file = copyShippedRoutes();
  const gateway = run(process.execPath, [gatewayMain, ...anyPorts, '--config', file]);
  const [, base] = await gateway.printed(/listens on (\S+)/);
  const [, admin] = await gateway.printed(/(127\.0\.0\.1:\d+)\/readyz/);
  const address = (base as string).replace('http://', '');
  for (const taken of [
    ['--listen', address, '--admin', '127.0.0.1:0'],
    ['--listen', '127.0.0.1:0', '--admin', admin as string],
  ]) {
    const second = run(process.execPath, [gatewayMain, 'start', '--config', file, ...taken]);
    await second.printed(
      /is in use by another process\. {2}Stop that process, or set gateway\.(listen|admin) \(or --\1\)/,
    );
    expect(await exitOf(second.child)).toBe(1);
  }
  gateway.child.kill('SIGTERM');
  expect(await exitOf(gateway.child)).toBe(0);
  expect(existsSync(join(dirname(file), '..', '.version-gateway', 'usage.db'))).toBe(true);
});

it('an edit of the file and SIGHUP cause a reload, and a faulty edit is rejected', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'start-'));
  onTestFinished(() => rmSync(folder, { recursive: true, maxRetries: 10 }));
  const file = join(folder, 'routes.yaml');
  const write = (sunset: string): void =>
    writeFileSync(
      file,
      `routes:\n  /v1: { upstream: 'http://127.0.0.1:1', deprecation: 2026-06-30, sunset: ${sunset} }\n`,
    );
  write('2029-06-30');
  const gateway = run(process.execPath, [gatewayMain, ...anyPorts, '--config', file]);
  await gateway.printed(/readyz/);
  write('2030-06-30');
  await gateway.printed(/reload \(file\): \/v1: sunset 2030-06-30/);
  write('2028-06-30');
  await gateway.printed(/reload \(file\): The sunset of \/v1 moves from 2030-06-30 to 2028-06-30/);
  await gateway.printed(/add the reason to routes.yaml: guard: \{ force: \{ \/v1: /);
  write('2030-06-30');
  await gateway.printed(/reload \(file\): the rejected edit was undone/);
  write('never');
  await gateway.printed(/never .* Write a date/);
  gateway.child.kill('SIGHUP');
  await gateway.printed(/reload \(signal\)/);
});

async function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null) await once(child, 'exit');
  return child.exitCode;
}
