import { expect, it, onTestFinished } from 'vitest';
import { ThreadedLedgerClient } from '../../gateway/operate/admin/reading/threadedClient.ts';
import { crowded } from '../operate/admin/reading/crowd.ts';
import { serve } from '../operate/discovery/server.ts';
import { cases } from '../support/cases.ts';
import { launchChromium, open } from './chromium.ts';
import { now, scene } from './dashboardGateway.ts';

const timeoutMs = 300_000;

const clients = cases(20_000, 50_000);
const known = clients.toLocaleString('en');

it(`shows a version with ${known} clients quickly, and requests only the rows that it shows`, async () => {
  const browser = await launchChromium();
  onTestFinished(() => browser.close());
  const ledgerClient = new ThreadedLedgerClient(crowded(clients, now).ledger);
  onTestFinished(() => ledgerClient.close());
  const { url } = await serve(Object.assign(scene(), { ledgerClient }).listener);
  const page = await browser.newPage({ locale: 'en-GB' });
  page.setDefaultTimeout(timeoutMs);
  await page.clock.setFixedTime(now);
  const answers: { path: string; bytes: number }[] = [];
  page.on('response', (response) => {
    const { pathname, search } = new URL(response.url());
    const bytes = Number(response.headers()['content-length'] ?? 0);
    if (pathname.startsWith('/api/')) answers.push({ path: pathname + search, bytes });
  });
  await open(page, url);
  await page.locator('#verdict .answer').waitFor();
  const rows = page.locator('#clients tbody tr');
  await rows.nth(49).waitFor();
  await page.locator('#routes tbody tr').first().waitFor();
  expect(await rows.count()).toBe(50);
  expect(await rows.first().innerText()).toContain(`x-client-id:shop-${clients - 1}`);
  await page.getByLabel('Filter').fill('shop-1234');
  await page.locator('#clients').getByText(`11 of ${known}`).waitFor();
  await page.getByLabel('Clients to show').selectOption('v1 and v2');
  await page.locator('#clients').getByText(`6 of ${known}`).waitFor();
  const asked = answers.filter(({ path }) => path !== '/api/events');
  // A page whose event stream starts late asks for the status in between.
  const [first] = asked.filter(({ path }) => path !== '/api/status' && !path.includes('by=day'));
  expect(first?.path).toBe('/api/versions/v1/retirement');
  expect(asked.filter(({ bytes }) => bytes > 150_000)).toEqual([]);
});
