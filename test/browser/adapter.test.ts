import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startServed } from '../contracts/adapters/servedVersion.ts';
import { answer } from '../support/backend.ts';
import { ask, get } from '../support/rawClient.ts';
import { launchChromium, onEachScreen, open, overflowOf, violationsOn } from './chromium.ts';

const timeoutMs = 300_000;
let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
}, 3 * timeoutMs);
afterAll(() => browser.close());

it('shows the failures of an adapter on every screen', async () => {
  const body = JSON.stringify({ title: 'a secret', price: 'free' });
  const { adminPort, port } = await startServed(answer(200, body, 'Content-Type: application/json'));
  for (let count = 0; count < 2; count += 1) expect((await ask(port, get('/v1/drinks/7'))).status).toBe(502);
  expect((await ask(port, get('/v1/no-such-route'))).status).toBe(410);
  const context = await browser.newContext({ locale: 'en-GB', bypassCSP: true });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(timeoutMs);
  await open(page, `http://127.0.0.1:${adminPort}/`);
  const attention = page.locator('#attention');
  await attention.getByText('The adapter of /v1 has failed').waitFor();
  const text = (await attention.innerText()).replace(/\s+/g, ' ');
  expect(text).toContain('The adapter of /v1 has failed with responses of /v2. Clients of /v1 got 502.');
  expect(text).toMatch(/GET \/drinks\/\{id\}: 2 responses since the adapter was loaded, last at .*, \/price/);
  expect(text).not.toContain('secret');
  const row = await page.locator('.lifecycle').innerText();
  expect(row).toContain('Served from v2 by an adapter');
  expect(row).toContain('1 request to other routes since the adapter was loaded: 410');
  await onEachScreen(page, async (screen) => {
    await expect.poll(() => overflowOf(page), { message: screen }).toBeLessThanOrEqual(0);
    expect(await violationsOn(page, '#attention'), screen).toEqual([]);
  });
  expect((await ask(port, get('/v1/no-such-route'))).status).toBe(410);
  await page.locator('.lifecycle').getByText('2 requests to other routes since the adapter was loaded: 410').waitFor();
});
