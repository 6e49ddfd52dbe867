import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { serveDiscovery, snapshotWith } from '../operate/discovery/server.ts';
import { launchChromium, networkChanged, onEachScreen, open, overflowOf, violationsOn } from './chromium.ts';

// Screenshots to look at, overwritten by each run.
const screenshots = join(tmpdir(), 'version-gateway-screenshots', 'discovery');

// Only a test that hangs reaches this limit.
let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

interface Visit {
  readonly page: Page;
  readonly origin: string;
  /** Every URL that the browser requested. */
  readonly requests: readonly string[];
  /** Messages of the console and errors of the page, including violations of the policy. */
  readonly complaints: readonly string[];
}

async function visit(
  options: BrowserContextOptions = {},
  gateway: { base_path?: string; public_url?: string } = {},
): Promise<Visit> {
  const { url: origin } = await serveDiscovery(snapshotWith(gateway));
  // The page's policy forbids injecting axe. Another test checks the policy itself.
  const context = await browser.newContext({ bypassCSP: true, ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(300_000);
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => networkChanged.test(message.text()) || complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  await open(page, `${origin}${gateway.base_path ?? '/'}`);
  return { page, origin, requests, complaints };
}

it('has no accessibility violation on any screen', async () => {
  const { page } = await visit();
  await onEachScreen(page, async (screen) => {
    await page.screenshot({ path: join(screenshots, `${screen}.png`), fullPage: true });
    expect(await violationsOn(page), screen).toEqual([]);
  });
});

it('fits every screen, logs nothing, and loads nothing from other hosts', async () => {
  const { page, origin, requests, complaints } = await visit({ bypassCSP: false });
  await onEachScreen(page, async (screen, colorScheme) => {
    expect(await overflowOf(page), screen).toBeLessThanOrEqual(0);
    const background = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    expect(background).toBe(colorScheme === 'dark' ? 'rgb(20, 21, 23)' : 'rgb(251, 251, 250)');
  });
  expect(complaints).toEqual([]);
  expect(requests.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith('data:'))).toEqual([]);
});

it('fits a narrow screen with a long host name', async () => {
  const long = `https://${'a-rather-long-label.'.repeat(6)}example.com`;
  const { page } = await visit(
    { viewport: { width: 320, height: 700 } },
    { public_url: long, base_path: '/some/deep/base/path' },
  );
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
});

it('can be used with the keyboard, with a visible focus', async () => {
  const { page } = await visit();
  const seen: string[] = [];
  for (let step = 0; step < 10; step += 1) {
    await page.keyboard.press('Tab');
    const focus = await page.evaluate<{ text: string; outline: string }>(
      '({ text: document.activeElement.textContent, outline: getComputedStyle(document.activeElement).outlineStyle })',
    );
    expect(focus.outline).toBe('solid');
    seen.push(focus.text);
  }
  expect(seen).toEqual([
    'v4',
    'v3',
    'OpenAPI contract of v2',
    'v2',
    'OpenAPI contract of v1',
    'About the end of v1',
    'v1',
    'calendar',
    'feed',
    'API catalog',
  ]);
});

it('links to the contracts and the catalog', async () => {
  const { page, origin } = await visit();
  const links = await page.getByRole('link').evaluateAll((all) => all.map((link) => link.getAttribute('href')));
  expect(links).toContain('/contracts/v2.json');
  await page.getByRole('link', { name: 'OpenAPI contract of v2' }).click();
  await page.waitForURL(`${origin}/contracts/v2.json`);
  await page.goBack();
  await page.getByRole('link', { name: 'API catalog' }).click();
  await page.waitForURL(`${origin}/.well-known/api-catalog`);
});

it('has accessible names for versions and stages', async () => {
  const { page } = await visit();
  const articles = page.getByRole('article');
  expect(await articles.count()).toBe(5);
  const deprecated = page.getByRole('article', { name: 'v2' });
  expect(await deprecated.getByText('Deprecated', { exact: true }).isVisible()).toBe(true);
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('API versions');
});
