import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { evidenceHash } from '../../gateway/contracts/shadow/compare/evidence.ts';
import { collect, contract, json, pairOf } from '../contracts/shadow/pairs.ts';
import { launchChromium, onEachScreen, open, overflowOf, violationsOn } from './chromium.ts';
import { now, type Scene, scene } from './dashboardGateway.ts';
import { sampleUsage } from './sampleUsage.ts';

const timeoutMs = 300_000;
let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
}, 3 * timeoutMs);
afterAll(() => browser.close());

const longName = 'aVeryLongNameOfAFieldThatNoContractListsAndThat';

/** A dashboard whose v1 has evidence about two routes. */
function withEvidence(): Scene {
  const schema = { type: 'object', properties: { price: { type: 'string' }, glass: { type: 'string' } } };
  const rows = collect(
    contract(schema),
    contract({ type: 'object', properties: { price: { type: 'string' } } }),
    Array.from({ length: 30 }, (_one, index) =>
      ['/drinks/{id}', '/<img src=x onerror=alert(1)>'].map((template) =>
        pairOf(json({ price: '1', glass: 'x', [longName]: 1 }), json({ price: index < 12 ? 1 : '1' }), {
          template,
          toTemplate: '/drinks',
          at: now - 3_600_000,
        }),
      ),
    ).flat(),
  );
  const listed = contract({ type: 'object', properties: { price: { type: 'number' } } });
  const drifting = json({ price: '1', [longName]: 1 });
  const drift = collect(
    listed,
    listed,
    Array.from({ length: 4 }, () => pairOf(drifting, drifting, { kind: 'drift', at: now - 60_000 })),
  );
  const hash = evidenceHash(undefined, undefined);
  const all = [...rows, ...drift].map((row) => ({ ...row, hash }));
  const evidence = { of: async (version: string) => (version === 'v1' ? all : []) };
  return Object.assign(scene(), { usage: { ...sampleUsage(now), evidence } });
}

async function visit(shown: Scene) {
  const server = createServer(shown.listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const context = await browser.newContext({ locale: 'en-GB', bypassCSP: true });
  onTestFinished(async () => {
    await context.close();
    server.closeAllConnections();
    server.close();
  });
  const page = await context.newPage();
  page.setDefaultTimeout(timeoutMs);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('dialog', (dialog) => complaints.push(dialog.message()));
  await open(page, `http://127.0.0.1:${(server.address() as AddressInfo).port}/#v1`);
  return { page, complaints, card: page.locator('#shadow-card'), drift: page.locator('#drift-card') };
}

it('shows the differences of the responses on every screen', async () => {
  const { page, card, drift, complaints } = await visit(withEvidence());
  const rows = card.locator('tbody tr');
  await rows.first().waitFor();
  expect(await card.locator('.summary').innerText()).toMatch(
    /^\/v1 compared with \/v2: \d undeclared differences and \d declared in 60 pairs of 2 routes\.$/,
  );
  const texts = await rows.allInnerTexts();
  expect(texts.filter((text) => text.includes('Undeclared')).length).toBeGreaterThanOrEqual(4);
  expect(texts[0]).toContain('Undeclared');
  expect(texts.join('\n')).toMatch(/\/price[\s\S]*type: string to number[\s\S]*12 of 30/);
  expect(texts.join('\n')).toContain('/<img src=x onerror=alert(1)>');
  await drift.locator('tbody tr').first().waitFor();
  const found = (await drift.innerText()).replace(/\s+/g, ' ');
  expect(found).toContain('/v1 returns 2 things that its contract does not declare, in 4 responses of 1 route.');
  expect(found).toMatch(/\/price GET \S+ .*type: string .*4 of 4/);
  const pictures = join(tmpdir(), 'version-gateway-screenshots');
  await onEachScreen(page, async (screen) => {
    await card.screenshot({ path: join(pictures, `shadow-${screen}.png`) });
    await drift.screenshot({ path: join(pictures, `drift-${screen}.png`) });
    await expect.poll(() => overflowOf(page), { message: screen }).toBeLessThanOrEqual(0);
    expect(await violationsOn(page, '#shadow-card'), screen).toEqual([]);
    expect(await violationsOn(page, '#drift-card'), screen).toEqual([]);
  });
  expect(complaints).toEqual([]);
});

it('does not show the card for a version without evidence', async () => {
  const { page, card, drift } = await visit(withEvidence());
  await card.locator('tbody tr').first().waitFor();
  await page.locator('#picker label', { hasText: 'v2' }).click();
  await page.getByRole('heading', { name: 'Retirement of v2' }).waitFor();
  await page.locator('#clients tbody tr').first().waitFor();
  expect([await card.isVisible(), await drift.isVisible()]).toEqual([false, false]);
});
