import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { okAnswer, startBackend } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { ask, get } from '../support/rawClient.ts';
import { startRestricted } from '../versions/restrictions/restrictedGateway.ts';
import { launchChromium, onEachScreen, overflowOf, violationsOn } from './chromium.ts';

const timeoutMs = 300_000;
let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
}, 3 * timeoutMs);
afterAll(() => browser.close());

const token = 'a-token-for-the-dashboard';

/** A gateway with a brownout that is running. */
async function start() {
  const { url } = await startBackend(okAnswer);
  const brownouts = [
    { at: '2027-03-02T14:00Z', for: '1h', clients: '25%', routes: ['GET /drinks/{id}'] },
    { at: '2027-03-03T14:00Z', for: '1h' },
  ];
  const file = {
    routes: { '/v1': { upstream: url, deprecation: '2027-01-01', brownouts }, '/v2': url },
    brownout: { unnamed: '100%', max_share: '100%' },
    gateway: { admin_token: token },
  };
  return startRestricted(file, '2027-03-02T14:30:00Z');
}

it('shows brownouts on every screen, and stops one after a confirmation', async () => {
  const gateway = await start();
  const extraHTTPHeaders = { authorization: `Bearer ${token}` };
  const context = await browser.newContext({ locale: 'en-GB', bypassCSP: true, extraHTTPHeaders });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(timeoutMs);
  await page.goto(`http://127.0.0.1:${gateway.adminPort}/`);
  const rows = page.locator('#windows tbody tr');
  await rows.filter({ hasText: 'Running' }).waitFor();
  expect(await rows.allInnerTexts()).toEqual([
    expect.stringMatching(/25% of the clients.*on GET \/drinks\/\{id\}.*Running.*Stop/s),
    expect.stringMatching(/100% of the clients.*Planned.*Stop/s),
  ]);
  const marks = page.getByRole('group', { name: 'Brownouts of v1' }).getByRole('img');
  const labels = () => marks.evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')));
  expect(await labels()).toEqual([
    'Brownout of v1, 2 Mar 2027, 14:00 to 2 Mar 2027, 15:00: Running',
    'Brownout of v1, 3 Mar 2027, 14:00 to 3 Mar 2027, 15:00: Planned',
  ]);
  await onEachScreen(page, async (screen, _colorScheme, width) => {
    await expect.poll(() => overflowOf(page), { message: screen }).toBeLessThanOrEqual(0);
    await eventually(async () => {
      const bar = await page.locator('.lifecycle li', { hasText: 'v1' }).locator('rect.track').boundingBox();
      const mark = await marks.first().boundingBox();
      if (!bar || !mark) throw new Error('The timeline is not drawn.');
      expect(mark.width).toBeGreaterThanOrEqual(5);
      expect(mark.y).toBeLessThan(bar.y);
      expect(mark.y + mark.height).toBeGreaterThan(bar.y + bar.height);
      expect(mark.x + mark.width).toBeLessThan(width);
    });
    const picture = join(tmpdir(), 'version-gateway-screenshots', `brownouts-${screen}.png`);
    await page.screenshot({ path: picture, fullPage: true });
    expect(await violationsOn(page), screen).toEqual([]);
  });
  await rows.filter({ hasText: 'Planned' }).getByRole('button').click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await rows.filter({ hasText: 'Running' }).getByRole('button').click();
  const dialog = page.getByRole('dialog');
  expect(await dialog.innerText()).toContain('It does not start again.');
  await onEachScreen(page, async (screen) => expect(await violationsOn(page, 'dialog'), screen).toEqual([]));
  await dialog.getByRole('button', { name: 'Stop the brownout' }).click();
  await rows.filter({ hasText: 'Stopped' }).waitFor();
  expect(await rows.first().innerText()).toMatch(/stopped by an operator/);
  expect(await rows.nth(1).innerText()).toMatch(/Planned/);
  await expect.poll(labels).toContain('Brownout of v1, 2 Mar 2027, 14:00 to 2 Mar 2027, 15:00: Stopped');
  expect(await page.locator('.windows rect.off').count()).toBe(1);
  expect((await ask(gateway.port, get('/v1/drinks/7'))).status).toBe(200);
});

it('lists the clients that are new to a freeze beside the verdict', async () => {
  const { url } = await startBackend(okAnswer);
  const file = {
    routes: { '/v1': { upstream: url, deprecation: '2027-01-01', freeze: { from: '2027-03-01', mode: 'refuse' } } },
  };
  const gateway = await startRestricted(file, '2027-03-02T14:30:00Z');
  await expect.poll(() => gateway.notices.join(), { timeout: timeoutMs }).toMatch(/\/v1 is frozen/);
  expect((await ask(gateway.port, get('/v1/drinks', 'X-Client-Id: late'))).status).toBe(403);
  const page = await browser.newPage();
  onTestFinished(() => page.close());
  page.setDefaultTimeout(timeoutMs);
  await page.goto(`http://127.0.0.1:${gateway.adminPort}/`);
  await page.locator('#verdict', { hasText: '1 new client: x-client-id:late' }).waitFor();
});
