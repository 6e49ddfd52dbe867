import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type GuideOptions, giving, guided } from '../operate/discovery/guides.ts';
import { serveDiscovery } from '../operate/discovery/server.ts';
import { launchChromium, networkChanged, onEachScreen, open, overflowOf, violationsOn } from './chromium.ts';

// Screenshots to look at, overwritten by each run.
const screenshots = join(tmpdir(), 'version-gateway-screenshots', 'guide');

// Only a test that hangs reaches this limit.
let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

interface Visit {
  readonly page: Page;
  readonly origin: string;
  readonly requests: readonly string[];
  readonly complaints: readonly string[];
}

async function visit(options: BrowserContextOptions = {}, guide: GuideOptions = {}, hash = ''): Promise<Visit> {
  const { url: origin } = await serveDiscovery(guided(guide));
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
  await open(page, `${origin}/guides/v1-to-v2${hash}`);
  return { page, origin, requests, complaints };
}

it('has no accessibility violation on any screen, with sections collapsed or expanded', async () => {
  const { page } = await visit();
  expect(await violationsOn(page)).toEqual([]);
  await page.locator('summary').click();
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

it('fits a narrow screen with long names', async () => {
  const long = 'aVeryLongNameOfAFieldThatNobodyWouldLikeToType'.repeat(4);
  const string = { type: 'string' };
  const { page } = await visit(
    { viewport: { width: 320, height: 700 } },
    {
      old: { [`/${long}/{${long}}`]: giving({ [long]: string }, { [long]: long }) },
      now: { [`/${long}/{${long}}`]: giving({}, {}) },
      route: { moved: {} },
    },
  );
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
});

it('links each route of the table to its changes, which have a link of their own', async () => {
  const { page, origin } = await visit();
  await page.getByRole('link', { name: 'GET /drinks/{id}' }).first().click();
  await page.waitForURL(`${origin}/guides/v1-to-v2#get-drinks-id`);
  const article = page.locator('article:target');
  expect(await article.getByText('GET /v2/cocktails/').isVisible()).toBe(true);
  expect(await article.getByRole('link', { name: 'Link to this part' }).getAttribute('href')).toBe('#get-drinks-id');
});

it('marks the lines before and after with signs as well as colors', async () => {
  const { page } = await visit();
  const marks = await page.evaluate<string[]>(
    "[...document.querySelectorAll('.out, .in')].map((line) => getComputedStyle(line, '::before').content)",
  );
  expect(new Set(marks)).toEqual(new Set(['"−" / ""', '"+" / ""']));
});

it('can be used with the keyboard, with a visible focus', async () => {
  const { page } = await visit();
  for (let step = 0; step < 10; step += 1) {
    await page.keyboard.press('Tab');
    expect(await page.evaluate<string>('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
  }
});

it('prints collapsed sections', async () => {
  const { page } = await visit();
  const item = page.locator('details li').first();
  expect(await item.isVisible()).toBe(false);
  await page.emulateMedia({ media: 'print' });
  expect(await item.isVisible()).toBe(true);
});

it('shows markup in a contract as text', async () => {
  const evil = '"><img src=x onerror=alert(1)><script>alert(2)</script><a href="javascript:alert(3)">`x`</a>{{7*7}}';
  const both = (name: string): GuideOptions => ({
    title: name,
    old: { [`/${name}`]: giving({ [name]: { type: 'string', enum: [name] } }, { [name]: name }) },
    now: { [`/${name}`]: giving({ [name]: { type: 'integer' } }, { [name]: 1 }) },
    route: { moved: {} },
  });
  // A backtick in the contract may begin or end a `code` element. No other element may appear.
  const tags = "[...document.querySelectorAll('*')].map(({ tagName }) => tagName).filter((name) => name !== 'CODE')";
  const [bad, good] = [await visit({}, both(evil)), await visit({}, both('calm'))];
  expect(await bad.page.evaluate(tags)).toEqual(await good.page.evaluate(tags));
  expect(bad.complaints).toEqual([]);
  expect(bad.requests).toHaveLength(good.requests.length);
});
