import { readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../gateway/config/load.ts';
import { startGateway } from '../../gateway/process/runtime/gateway.ts';
import { ThreadedLedger } from '../../gateway/usage/ledger/threadedLedger.ts';
import type { BrownoutQueries, UsageQueries } from '../../gateway/usage/usageQueries.ts';
import { temporaryFolder } from '../config/temporary.ts';
import { type AtEnd, serve } from '../operate/discovery/server.ts';
import { activeLoad, gatewayRow } from '../operate/fleet/gatewayRow.ts';
import { eventually } from '../support/eventually.ts';
import { refusedUrl, startTestGateway } from '../support/gateway.ts';
import { launchChromium, networkChanged, onEachScreen, open, overflowOf, violationsOn } from './chromium.ts';
import { fleetOf, now, type Scene, scene, watchesAfterEdit } from './dashboardGateway.ts';
import { hostile, noUsage, sampleUsage } from './sampleUsage.ts';

// Screenshots to look at, overwritten by each run.
const screenshots = join(tmpdir(), 'version-gateway-screenshots', 'dashboard');
// The pictures of the documentation are written there with SCREENSHOTS=docs/images.
const pictures = process.env['SCREENSHOTS'] ?? screenshots;

// How long to wait for a condition, ms: longer than a busy machine takes.
const timeoutMs = 300_000;
let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
}, 3 * timeoutMs);
afterAll(() => browser.close());

interface Visit {
  readonly page: Page;
  readonly origin: string;
  readonly shown: Scene;
  /** Every URL that the browser requested. */
  readonly requests: readonly string[];
  /** Messages of the console and errors of the page, including violations of the policy. */
  readonly complaints: string[];
}

async function visit(
  options: BrowserContextOptions = {},
  shown = scene(),
  atEnd: AtEnd = onTestFinished,
): Promise<Visit> {
  const { url: origin } = await serve(shown.listener, atEnd);
  // Without a locale this browser uses POSIX, which Intl rejects.
  const context = await browser.newContext({ locale: 'en-GB', ...options });
  atEnd(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(timeoutMs);
  await page.clock.setFixedTime(now);
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => networkChanged.test(message.text()) || complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  await open(page, origin);
  return { page, origin, shown, requests, complaints };
}

/** The page once everything is loaded. */
async function drawn(options?: BrowserContextOptions, shown?: Scene, atEnd?: AtEnd): Promise<Visit> {
  const visited = await visit(options, shown, atEnd);
  await visited.page.locator('#clients tbody tr').first().waitFor();
  await visited.page.locator('#traffic canvas').waitFor();
  await visited.page.locator('main .waiting').first().waitFor({ state: 'detached' });
  return visited;
}

/** The charts follow the width of the screen in their next frames. */
async function expectToFit(page: Page, screen: string): Promise<void> {
  await expect.poll(() => overflowOf(page), { message: screen }).toBeLessThanOrEqual(0);
  await expect.poll(() => page.evaluate<string[]>(overlaps), { message: screen }).toEqual([]);
}

it('has no accessibility violation on any screen', async () => {
  // The page's policy forbids adding axe to it. Another test covers the policy.
  const { page } = await drawn({ bypassCSP: true });
  await onEachScreen(page, async (screen) => {
    await page.screenshot({ path: join(screenshots, `${screen}.png`), fullPage: true });
    expect(await violationsOn(page), screen).toEqual([]);
  });
});

/** The names of clients that are broken elsewhere than after the colon. */
async function brokenNames(page: Page): Promise<(string | null)[]> {
  const words = page.locator('#clients .unbroken');
  expect(await words.count()).toBeGreaterThan(5);
  return words.evaluateAll((all) => all.filter((one) => one.getClientRects().length > 1).map((one) => one.textContent));
}

/** Pairs of elements that overlap although neither contains the other. */
const overlaps = `(() => {
  const boxes = [...document.querySelectorAll('main :is(h2, h3, p, li, dt, dd, th, button, select, input:not([type=radio]), a, .badge, .chart, legend:not(.visually-hidden)), header :is(h1, p, button)')]
    .filter((one) => one.offsetParent && !one.closest('.scroll, .visually-hidden, [aria-hidden]') && one.checkVisibility())
    .map((one) => [one, one.getBoundingClientRect()])
    .filter(([, { width, height }]) => width > 1 && height > 1);
  const found = [];
  for (const [a, x] of boxes) for (const [b, y] of boxes) {
    if (a === b || a.contains(b) || b.contains(a) || a.compareDocumentPosition(b) & 2) continue;
    const [wide, high] = [Math.min(x.right, y.right) - Math.max(x.left, y.left), Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top)];
    if (wide > 1 && high > 1) found.push(a.textContent.slice(0, 40) + ' | ' + b.textContent.slice(0, 40));
  }
  return found;
})()`;

const row = (page: Page, name: string) => page.locator('#clients tbody tr', { hasText: name });
const column = (page: Page, at: number) => page.locator(`#clients tbody tr > :nth-child(${at})`).allTextContents();

// Without problems, with problems, and on a phone.
it.each([
  ['light', 'light', 1440],
  ['dark', 'dark', 1440],
  ['phone', 'light', 390],
] as const)('has a picture for the documentation, %s', async (name, colorScheme, width) => {
  const shown = Object.assign(scene(), { usage: sampleUsage(now, false) });
  if (name === 'dark') Object.assign(shown, withProblems(shown));
  const { page } = await drawn({ colorScheme, viewport: { width, height: 900 } }, shown);
  // The port differs in each run.
  await page.evaluate("document.getElementById('host').textContent = 'version-gateway · 127.0.0.1:9901'");
  const picture = await page.screenshot({ path: join(pictures, `dashboard-${name}.png`), fullPage: true });
  expect(picture.length).toBeLessThan(400_000);
});

function withProblems(shown: Scene): Partial<Scene> {
  const message = 'the probe was not answered within 2000 ms';
  const reasons = [
    'routes.yaml:7:13  routes./v1.sunset  2026-02-01 is earlier than deprecation 2026-03-01.  Move sunset to 2026-03-01 or later, or remove it.',
  ];
  return {
    target: { ...shown.target, health: 'failing', lastError: { message, at: now - 40_000 } },
    config: { ...shown.config, lastFailure: { at: now - 12 * 60_000, trigger: 'file', reasons } },
  };
}

// These tests do not change the data. To load a page for each would take most of their time.
describe('a page whose data does not change', () => {
  const closing: (() => void | Promise<void>)[] = [];
  let visited: Visit;
  beforeAll(async () => {
    visited = await drawn({}, scene(), (close) => closing.push(close));
  }, 3 * timeoutMs);
  afterAll(async () => {
    for (const close of closing.toReversed()) await close();
  });

  it('draws the lifecycle of every version, newest first, with the time that is left', async () => {
    const { page } = visited;
    const lifecycle = page.locator('.lifecycle li');
    expect(await lifecycle.locator('strong').allTextContents()).toEqual(['v3', 'v2', 'v1', 'v0']);
    const text = (await lifecycle.nth(2).innerText()).replace(/\s+/g, ' ');
    expect(text).toBe('v1 Deprecated Deprecation 1 Mar 2026 265 days ago Sunset 30 Jun 2027 221 days left');
    const [today, line] = await page.evaluate<[number, number]>(`[
      document.querySelector('.axis .now'), document.querySelector('li.lifecycle-row line.today'),
    ].map((one) => { const { left, right } = one.getBoundingClientRect(); return (left + right) / 2; })`);
    expect(Math.abs(today - line)).toBeLessThan(2);
  });

  it('shows whether the next version can be retired, and what prevents it', async () => {
    const { page } = visited;
    expect(await page.locator('#h-retire').textContent()).toBe('Retirement of v1');
    expect(await page.locator('#verdict .answer').textContent()).toBe('Not yet: keep v1 running.');
    expect(await page.locator('#verdict .reasons li').count()).toBeGreaterThan(0);
    expect(await page.locator('#trend').textContent()).toMatch(/Falling: zero on \d+ \w+ 202\d at this rate/);
  });

  it('shows the routes without a counterpart in the successor', async () => {
    const { page } = visited;
    const missing = page.locator('#routes tbody tr', { hasText: 'No counterpart in v2' });
    const clients = await missing.first().locator('a').getAttribute('href');
    expect(clients).toMatch(/^\/api\/usage\.csv\?by=client&version=v1&route=GET\+%2F/);
    expect(await missing.locator('th').allTextContents()).toEqual(['GET /legacy-search']);
  });

  it('does not repeat the tables in sentences', async () => {
    const { page } = visited;
    const verdict = await page.locator('#verdict').innerText();
    expect(verdict).toContain('5 clients made 883 requests in the last 7 days');
    expect(verdict).not.toContain('Billing');
    expect(verdict).not.toMatch(/\d\d:\d\d:\d\d|\.\d{3}Z/);
  });

  it('uses one colour for a version everywhere, whichever other versions are shown', async () => {
    const { page } = visited;
    const colors = (selector: string) =>
      page.evaluate<string[]>(
        `[...document.querySelectorAll(${JSON.stringify(selector)})].map((one) => getComputedStyle(one).fill)`,
      );
    const [v1] = await colors('.lifecycle li:nth-child(3) .swatch');
    expect(await colors('#traffic .legend li:first-child .swatch')).toEqual([v1]);
    expect(await colors('#rates tbody tr:first-child .swatch')).toEqual([v1]);
    expect((await colors('#clients .spark polygon'))[0]).toBe(v1);
    expect(new Set([...(await colors('.lifecycle .swatch')), ...(await colors('#traffic .swatch'))]).size).toBe(4);
  });

  it('shows rates and latencies of each version, and the time they cover', async () => {
    const { page } = visited;
    const cells = await page
      .locator('#rates tbody tr')
      .evaluateAll((rows) => rows.map((one) => [...one.children].map((cell) => cell.textContent.trim())));
    expect(cells.map(([version, perSecond, errors]) => [version, perSecond, errors])).toEqual([
      ['v1', '3.2', '2.6%'],
      ['v2', '21', '0%'],
      ['v3', '41', '0%'],
      ['no version', '0.117', '0%'],
    ]);
    expect(cells[0]?.slice(3)).toEqual([expect.stringMatching(/^\d\d ms$/), expect.stringMatching(/^1\.\d+ s$/)]);
    await page.locator('#rates').getByText('Average over the last 1 minute, all worker processes together.').waitFor();
  });

  it('exports the clients as CSV', async () => {
    const { page } = visited;
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Export as CSV' }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/\.csv$/);
  });

  it('shows the name of a hostile client as text', async () => {
    const { page, complaints } = visited;
    expect(await row(page, '<img src=x').locator('.client').textContent()).toBe(hostile);
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(await page.evaluate('window.ran')).toBeUndefined();
    expect(complaints).toEqual([]);
  });

  it('shows no fleet, brownout or notifications that it does not have, and offers names only with the token', async () => {
    const { page } = visited;
    for (const section of ['#fleet-section', '#brownout-card', '#notify-section'])
      expect(await page.locator(section).isVisible(), section).toBe(false);
    expect(await page.locator('.rename').count()).toBe(0);
  });

  it('fits every screen, logs nothing, and sends requests to its own origin only', async () => {
    const { page, origin, requests, complaints } = visited;
    await onEachScreen(page, async (screen, colorScheme) => {
      await expectToFit(page, screen);
      const background = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
      expect(background).toBe(colorScheme === 'dark' ? 'rgb(20, 21, 23)' : 'rgb(251, 251, 250)');
      expect(await brokenNames(page), screen).toEqual([]);
    });
    await page.setViewportSize({ width: 1280, height: 720 });
    await page.emulateMedia({ colorScheme: null });
    expect(complaints).toEqual([]);
    expect(requests.filter((url) => !url.startsWith(`${origin}/`))).toEqual([]);
  });

  // The remaining ones change what the page shows, and begin with a part of the page that no other one has changed.
  it('sorts by the clicked column, and reverses the order on the second click', async () => {
    const { page } = visited;
    const head = page.getByRole('columnheader', { name: 'Client', exact: true });
    const byRequests = await column(page, 1);
    await head.getByRole('button').click();
    expect(await head.getAttribute('aria-sort')).toBe('ascending');
    const upwards = byRequests.toSorted((a, b) => a.localeCompare(b, 'en'));
    expect(upwards).not.toEqual(byRequests);
    // The gateway sorts the rows, so they arrive later.
    await eventually(async () => expect(await column(page, 1)).toEqual(upwards));
    await head.getByRole('button').click();
    await eventually(async () => expect(await column(page, 1)).toEqual(upwards.toReversed()));
  });

  it('filters clients by a part of their name and by their migration state', async () => {
    const { page } = visited;
    await page.getByLabel('Filter').fill('kiosk');
    await eventually(async () => expect(await column(page, 1)).toEqual(['x-client-id:kiosk-eu']));
    expect(await row(page, 'kiosk').innerText()).toContain('v1 and v2');
    await page.getByLabel('Filter').fill('');
    await page.getByLabel('Clients to show').selectOption('Went back to v1');
    const back = ['Orders (partner)x-client-id:partner-orders'];
    await eventually(async () => expect(await column(page, 1)).toEqual(back));
    await page.getByLabel('Clients to show').selectOption('v2 only');
    await eventually(async () => expect(await column(page, 1)).toContain('x-client-id:web-shop'));
    await page.getByLabel('Filter').fill('no such client');
    await page.getByText('No client matches.').waitFor();
  });

  it('shows which clients would lose requests if the version were retired now', async () => {
    const { page } = visited;
    const plan = page.locator('#plan');
    expect(await plan.locator('.answer').textContent()).toBe('5 clients of the last 7 days would lose requests.');
    expect(await plan.locator('.summary').textContent()).toMatch(
      /^\d clients would lose [\d,]+ of the [\d,]+ requests that backends answered in the last 7 days: .*Billing \(\d+\)/,
    );
    expect(await plan.locator('.facts dt').allTextContents()).toEqual(['Lost', 'Clients', 'Stay served']);
    expect(await plan.locator('.facts small').allTextContents()).toEqual([
      expect.stringMatching(/^\d+% of all, last 7 days$/),
      expect.stringMatching(/^of \d+, last 7 days$/),
      'last 7 days',
    ]);
    await page.getByRole('radio', { name: 'v0' }).check({ force: true });
    await page.getByText('Yes, the tombstone of v0 may be removed.').waitFor();
    expect(await page.locator('#verdict .reasons li').allTextContents()).toEqual([
      '/v0 is retired, and no client called it in the last 7 days: its tombstone may be removed.',
    ]);
    expect(await page.locator('#plan-card').isVisible()).toBe(false);
  });
});

it('shows why it is not known which clients would lose requests', async () => {
  let problem: string | undefined;
  const usage = {
    ...sampleUsage(now),
    byVersionAndClient: async () => {
      problem = 'The disk reports an error.';
      return [];
    },
    get problem() {
      return problem;
    },
  };
  const { page } = await visit({}, Object.assign(scene(), { usage }));
  await page.locator('#plan').getByText('The disk reports an error.').waitFor();
  expect(await page.locator('#plan .answer').count()).toBe(0);
});

it('distinguishes a route that only fails from one with a counterpart', async () => {
  const usage = sampleUsage(now);
  const byRoute: typeof usage.byRoute = async (version, since) => {
    const rows = await usage.byRoute(version, since);
    const one = rows[0];
    return one ? [...rows, { ...one, route: 'GET /nothing', requests: 3, errors: 3, failing: 3, served: 0 }] : rows;
  };
  const { page } = await drawn({}, Object.assign(scene(), { usage: { ...usage, byRoute, routes: byRoute } }));
  const failing = page.locator('#routes tbody tr', { hasText: 'GET /nothing' });
  expect(await failing.locator('td').last().textContent()).toMatch(/Not in the contract|Every request failed/);
});

it('says nothing about the counterparts of routes that it did not compare', async () => {
  const usage = sampleUsage(now);
  const quietPeriod = 7 * 86_400_000;
  const byRoute: typeof usage.byRoute = async (version, since) => {
    const rows = (await usage.byRoute(version, since)).filter(({ route }) => route !== 'GET /legacy-search');
    const one = rows[0];
    if (version !== 'v1' || !one) return rows;
    const early = { ...one, route: 'GET /legacy-search', last: now - 20 * 86_400_000 };
    return [...rows, { ...one, route: 'other' }, ...(since < now - 2 * quietPeriod ? [early] : [])];
  };
  const { page } = await drawn({}, Object.assign(scene(), { usage: { ...usage, byRoute, routes: byRoute } }));
  const listed = page.locator('#routes tbody tr');
  await listed.filter({ hasText: 'other' }).waitFor();
  expect(await listed.filter({ hasText: 'other' }).locator('td').last().textContent()).toBe('–');
  expect(await listed.filter({ hasText: 'GET /legacy-search' }).count()).toBe(0);
  expect(await page.locator('#routes').textContent()).not.toContain('Every route');
});

it('shows another period when it is selected', async () => {
  const { page, requests } = await drawn();
  const before = await page.locator('#traffic .when').textContent();
  await page.getByRole('radio', { name: '1 day' }).check();
  await page.locator('#traffic .when', { hasText: 'since 20 Nov 2026, 10:00' }).waitFor();
  expect(before).toContain('since 14 Nov 2026, 10:00');
  expect(requests.some((url) => url.includes('by=day&step=hour&since=24h'))).toBe(true);
  await page.locator('#traffic .u-over').hover({ position: { x: 300, y: 80 } });
  expect(await page.locator('#traffic .when').textContent()).toMatch(/^2\d Nov 2026, \d\d:00: \d+$/);
  await page.getByRole('radio', { name: '365 days' }).check();
  await page.locator('#traffic .when', { hasText: 'since 17 Oct 2026, 10:00, when recording began' }).waitFor();
  // No records are not the same as no requests.
  await page.locator('#traffic .u-over').hover({ position: { x: 300, y: 80 } });
  await page.locator('#traffic .when', { hasText: /2026: not recorded$/ }).waitFor();
  await page.locator('#traffic').screenshot({ path: join(screenshots, 'year.png') });
});

/** Texts with a number whose period is not shown: neither beside it, nor in the heading of its card. */
const numbersWithoutPeriod = `(() => {
  const period = /last (?:\\d+ )?(?:complete )?(?:day|hour|minute)|three weeks|\\bnow\\b|\\bsince\\b|\\bago\\b|\\bevery \\d/;
  const noCounts = /\\/?v\\d+|\\b\\d{1,2} [A-Z][a-z]+ \\d{4}(, \\d\\d:\\d\\d)?|\\d{4}-\\d\\d-\\d\\d|\\d+ days left|\\d+ ms|[45]xx|\\b410\\b|\\bp50\\b|\\bp99\\b|retire.max_share/g;
  const noText = 'time, code, svg, label, option, .chart, .client, .lifecycle, #windows, [data-period]';
  const found = [];
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!/\\d/.test(node.data.replace(noCounts, '')) || !element.checkVisibility() || element.closest(noText)) continue;
    const heading = element.closest('article, section')?.querySelector(':scope > :is(h2, h3) [data-period]');
    const block = element.closest('td, th, dd, li, p') ?? element;
    // In the card of the verdict, some numbers are those of the quiet period, and others those of now.
    const isShown = heading?.checkVisibility() && heading.textContent !== '' && heading.dataset.period !== 'quiet';
    if (!isShown && !period.test(block.textContent)) found.push(block.textContent);
  }
  return found;
})()`;

describe('the period of every number', () => {
  const withPausing = (): Scene => {
    const usage = sampleUsage(now);
    const first = now - 35 * 86_400_000;
    const pastClients: UsageQueries['pastClients'] = async (_version, until, _now, shortestPause = 0) =>
      Array.from({ length: 12 }, (_one, index) => ({
        client: `job-${index}`,
        name: undefined,
        requests: 4,
        first,
        last: now - index * 3_600_000,
        usualPause: (6 + (index % 5)) * 86_400_000,
      })).filter(({ last, usualPause }) => last < until && usualPause >= 0.75 * shortestPause);
    return Object.assign(scene(), { usage: { ...usage, pastClients, requestsOfOtherClients: async () => 17 } });
  };

  it('is written beside it or above it, on every screen, with and without problems', async () => {
    for (const shown of [scene(), Object.assign(scene(), withProblems(scene())), withPausing()]) {
      const { page } = await drawn({}, shown);
      expect(await page.evaluate<string[]>(numbersWithoutPeriod)).toEqual([]);
      for (const version of ['v0', 'v3']) {
        await page.getByRole('radio', { name: version }).check({ force: true });
        await page.locator('main .waiting').first().waitFor({ state: 'detached' });
        expect(await page.evaluate<string[]>(numbersWithoutPeriod), version).toEqual([]);
      }
      // The check finds a card without its period, and a fact without its own.
      await page.evaluate("document.querySelector('#h-rates [data-period]').remove()");
      expect(await page.evaluate<string[]>(numbersWithoutPeriod)).toContain('21');
    }
  });

  it('changes with the one choice of the page', async () => {
    const { page, requests } = await drawn();
    const bodies: string[] = [];
    page.on('request', (request) => request.url().endsWith('/api/plan') && bodies.push(request.postData() ?? ''));
    for (const [label, since] of [
      ['30 days', '30d'],
      ['1 day', '24h'],
    ] as const) {
      const before = requests.length;
      await page.getByRole('radio', { name: label }).check();
      const cards = page.locator(':is(article, section).card', { has: page.locator('[data-period=chosen]') });
      await eventually(async () => {
        for (const text of await cards.allInnerTexts()) {
          expect(text).toContain(`last ${label}`);
          // Only a chart of the verdict has another period.
          const words = text.match(/last (?:\d+ )?(?:days?|hours?)/g) ?? [];
          expect([...new Set(words)]).toEqual([`last ${label}`]);
        }
      });
      expect(await cards.count()).toBe(4);
      expect(await page.evaluate<string[]>(numbersWithoutPeriod)).toEqual([]);
      const asked = requests.slice(before).filter((url) => url.includes('/api/usage'));
      expect(asked.length).toBeGreaterThanOrEqual(3);
      expect(asked.filter((url) => new URL(url).searchParams.get('since') !== since)).toEqual([]);
      expect(JSON.parse(bodies.at(-1) ?? '{}')).toEqual({ retire: 'v1', since });
      const links = page.locator('main a[href*="/api/usage.csv"]');
      for (const href of await links.evaluateAll((all) => all.map((one) => one.getAttribute('href'))))
        expect(href).toContain(`since=${since}`);
      // The verdict keeps its own period.
      expect(await page.locator('#verdict').innerText()).toContain('in the last 7 days');
    }
    // It is kept when the page is loaded again.
    expect(new URL(page.url()).search).toBe('?period=24h');
    await page.reload();
    await page.locator('#h-traffic', { hasText: 'last 1 day' }).waitFor();
    expect(await page.getByRole('radio', { name: '1 day' }).isChecked()).toBe(true);
  });

  it('is the quiet period of the verdict until another one is chosen, so that both count the same clients', async () => {
    const shown = scene(undefined, undefined, undefined, { quiet: '10d' });
    const { page } = await drawn({}, shown);
    await page.locator('article:has(#h-clients) [data-period]', { hasText: 'last 10 days' }).waitFor();
    await page.locator('#clients [role=status]', { hasText: 'last 10 days' }).waitFor();
    const verdict = await page.locator('#verdict').innerText();
    const counted = Number(/(\d+) clients made/.exec(verdict)?.[1]);
    expect(counted).toBeGreaterThan(3);
    expect(await page.locator('#clients tbody tr').count()).toBe(counted);
    expect(await page.locator('#period label').allTextContents()).toEqual([
      '1 day',
      '7 days',
      '10 days',
      '30 days',
      '365 days',
    ]);
    await page.getByRole('radio', { name: '30 days' }).check();
    await page.locator('#clients [role=status]', { hasText: 'last 30 days' }).waitFor();
    expect(await page.getByRole('radio', { name: '30 days' }).isChecked()).toBe(true);
  });

  it('predicts no end of the requests beside clients with long pauses', async () => {
    const { page } = await drawn({}, withPausing());
    expect(await page.locator('#trend .big').textContent()).toBe(
      'Falling, but 12 clients call every 6 to 10 days, so no end can be predicted.',
    );
    expect(await page.locator('#trend').textContent()).not.toContain('zero on');
  });
});

it('shows the first route of a client, and keeps the others open when rows are updated', async () => {
  const { page, shown } = await drawn();
  const routes = row(page, 'Billing').locator('details');
  expect(await routes.locator('summary').innerText()).toBe('GET /cocktails +4');
  expect(await routes.getByText('POST /cocktails').isVisible()).toBe(false);
  await routes.locator('summary').focus();
  await page.keyboard.press('Enter');
  expect(await routes.locator('li').count()).toBe(4);
  await routes.getByText('POST /cocktails').waitFor();
  expect(await row(page, 'kiosk').locator('code').first().innerText()).toBe('GET /cocktails');
  shown.usage = {
    ...sampleUsage(now),
    requestsOfOtherClients: async () => 4_321,
    problems: ['usage.names: names.yaml cannot be read'],
  };
  shown.config = { ...shown.config, generation: 8 };
  await page
    .locator('#clients')
    .getByText('4,321 requests in the last 7 days came from clients beyond usage.max_clients')
    .waitFor();
  await page.locator('#clients').getByText('names.yaml cannot be read').waitFor();
  expect(await routes.getAttribute('open')).toBe('');
  expect(await routes.locator('summary').evaluate((one) => one === one.ownerDocument.activeElement)).toBe(true);
});

describe('the attention section', () => {
  it('is at the top, and empty once the problem is solved', async () => {
    const { page, shown } = await drawn();
    const attention = page.locator('#attention');
    expect(await attention.isVisible()).toBe(false);
    const { target, config, workers } = shown;
    Object.assign(shown, withProblems(shown));
    await attention.getByText('The last edit of routes.yaml was rejected').waitFor();
    await attention.getByText('2026-02-01 is earlier than deprecation 2026-03-01').waitFor();
    await attention.getByText('v1 has no healthy backend').waitFor();
    await attention.getByText('http://127.0.0.1:3001 failing: the probe was not answered within 2000 ms').waitFor();
    shown.workers = [{ pid: 4711, since: now, unresponsiveSince: now - 60_000 }];
    await attention.getByText('Worker 4711 has not answered since 21 Nov 2026, 10:19').waitFor();
    shown.config = { ...config, forced: ['/v1: retired before its sunset'] };
    await attention.getByText('The guard was overridden by guard.force').waitFor();
    const [first] = await page.locator('main > *:visible').all();
    expect(await first?.getAttribute('id')).toBe('attention');
    Object.assign(shown, { target, config, workers });
    await attention.waitFor({ state: 'hidden' });
  });
});

describe('after an edit', () => {
  it('names the versions that lose requests, with the lines to undo, until they are answered again', async () => {
    const { page, shown } = await drawn();
    const [attention, facts] = [page.locator('#attention'), page.locator('#gateway')];
    shown.editWatches = watchesAfterEdit();
    const problem = attention.locator('.problem');
    await problem.getByText('/v2 loses requests since an edit of routes.yaml').waitFor();
    const text = await problem.innerText();
    expect(text).toContain('402 of 420 in 20 s (404: 12, 502: 390), against 12 of 6,300 in the 5 min before.');
    expect(text).toContain('/v2: target http://127.0.0.1:3009/<b> added');
    expect(await problem.locator('code').allInnerTexts()).toEqual([
      'routes.yaml:12  routes./v2.upstream: write http://127.0.0.1:3002 instead of http://127.0.0.1:3009/<b>',
    ]);
    // What is not known is no problem, but it is not harmless, either.
    expect(await attention.getByText('/v1').count()).toBe(0);
    await facts.getByText('Whether /v1 loses more requests').waitFor();
    expect(await facts.innerText()).toMatch(/\/v1 since the edit\s+Not known/);
    await onEachScreen(page, async (screen) => {
      await expectToFit(page, screen);
      await page.screenshot({ path: join(screenshots, `edit-${screen}.png`), fullPage: true });
    });
    shown.editWatches = shown.editWatches.map((watch) =>
      watch.jumped === 'yes' ? { ...watch, state: 'recovered', recoveredAt: now } : watch,
    );
    await attention.waitFor({ state: 'hidden' });
    expect(await facts.innerText()).toMatch(/\/v2 since the edit\s+As before again/);
  });

  it('has no accessibility violation', async () => {
    const { page, shown } = await drawn({ bypassCSP: true });
    shown.editWatches = watchesAfterEdit();
    await page.locator('#attention .problem').waitFor();
    expect(await violationsOn(page)).toEqual([]);
  });
});

describe('after a version is retired', () => {
  const retired = {
    '/v1': { retired: true, deprecation: '2026-03-01', sunset: '2027-06-30', successor: '/v2' },
    '/v2': 'http://127.0.0.1:3002',
  };

  /** One client of v1 was refused. */
  function refusing(routes: Readonly<Record<string, unknown>> = retired): Scene {
    const usage = sampleUsage(now);
    const byClient: typeof usage.byClient = async (version, since, isWanted) =>
      (await usage.byClient(version, since, isWanted)).map((one) =>
        one.client.includes('kiosk') && version === 'v1' ? { ...one, served: one.requests - 40, refused: 40 } : one,
      );
    return Object.assign(scene(undefined, routes), { usage: { ...usage, byClient } });
  }

  it('the page opens with it, without days left, and with the clients that still call it', async () => {
    const { page } = await drawn({}, refusing());
    expect(await page.locator('#h-retire').textContent()).toBe('Retirement of v1');
    expect(await page.locator('#verdict .answer').textContent()).toBe('Keep the tombstone of v1.');
    expect(await page.locator('#h-verdict').textContent()).toBe('After the retirement');
    // The text of the gateway, with every client that called.
    expect(await page.locator('#verdict .reasons li').allTextContents()).toEqual([
      expect.stringMatching(
        /^\/v1 is retired, and \d clients called it in the last 7 days: x-client-id:kiosk-eu \(last call .+, 40 refused\), .+ Keep its tombstone: without it, they get 404 instead of 410\.$/,
      ),
    ]);
    expect(await column(page, 1)).toEqual(['x-client-id:kiosk-eu']);
    expect(await row(page, 'kiosk').locator('[data-title=Refused]').textContent()).toBe('40');
    await page.getByLabel('Clients to show').selectOption('Called v1 in the last 7 days');
    await row(page, 'Billing').waitFor();
    await page.getByLabel('Clients to show').selectOption('Refused');
    await row(page, 'Billing').waitFor({ state: 'detached' });
    await page.screenshot({ path: join(screenshots, 'retired.png'), fullPage: true });
    const life = page.locator('.lifecycle li', { hasText: 'v1' });
    expect((await life.innerText()).replace(/\s+/g, ' ')).toContain('Sunset 30 Jun 2027 in 220 days');
    expect(await page.locator('.lifecycle').innerText()).not.toContain('left');
  });

  it('its backend may be stopped', async () => {
    const shown = refusing({ ...retired, '/v1': { ...retired['/v1'], upstream: 'http://127.0.0.1:3001' } });
    const { page } = await drawn({}, Object.assign(shown, { target: withProblems(shown).target }));
    await page.locator('#backends').getByText('http://127.0.0.1:3001').waitFor();
    expect(await page.locator('#attention').isVisible()).toBe(false);
    shown.target = { ...shown.target, health: 'removed', reachable: true };
    shown.config = { ...shown.config, generation: 8 };
    await page.locator('#backends').getByText('Removed').waitFor();
  });

  it('the page opens with the retired version that was called last', async () => {
    const { page } = await drawn({}, refusing({ '/v0': { retired: true }, ...retired }));
    expect(await page.locator('#h-retire').textContent()).toBe('Retirement of v1');
  });
});

it('gives requests in flight as the reason if there is no other', async () => {
  const routes = {
    '/v1': { upstream: 'http://127.0.0.1:3001', deprecation: '2026-03-01', sunset: '2026-10-01' },
    '/v2': 'http://127.0.0.1:3002',
  };
  const usage = {
    ...noUsage,
    coverage: async () => ({ since: now - 100 * 86_400_000, losses: [] }),
  };
  const { page } = await visit({}, Object.assign(scene(undefined, routes), { usage }));
  await page.locator('#verdict .answer', { hasText: 'No: v1 is still in use.' }).waitFor();
  const reasons = page.locator('#verdict .reasons');
  expect(await reasons.innerText()).toContain('/v1 has 3 requests in flight now, although no client called it');
});

it('gives a lower bound of the number of clients if some are counted together', async () => {
  const usage = sampleUsage(now);
  const byClient: typeof usage.byClient = async (version, since, isWanted) =>
    (await usage.byClient(version, since, isWanted)).slice(0, 1).map((one) => ({ ...one, client: 'other clients' }));
  const { page } = await visit({}, Object.assign(scene(), { usage: { ...usage, byClient } }));
  await page
    .locator('#verdict .reasons')
    .getByText(/^At least 1 client made /)
    .waitFor();
  expect(await page.locator('#verdict .facts').innerText()).toContain('At least 1');
});

it('shows no milliseconds', async () => {
  const usage = {
    ...sampleUsage(now),
    coverage: async () => ({ since: now - 86_400_123, losses: [] }),
  };
  const { page } = await drawn({}, Object.assign(scene(), { usage }));
  await page.locator('#verdict').getByText('The usage ledger begins at 2026-11-20T10:').waitFor();
  expect(await page.locator('main').innerText()).not.toMatch(/\.\d{3}Z/);
});

it('shows every column on a phone without scrolling sideways', async () => {
  const { page } = await drawn({ viewport: { width: 390, height: 844 } });
  const cells = await page
    .locator('td, tbody th')
    .evaluateAll((all) =>
      all
        .map((one) => one.getBoundingClientRect())
        .filter(({ left, right, width }) => width === 0 || left < 0 || right > 390),
    );
  expect(cells).toEqual([]);
  const titles = await page.evaluate<string[]>(
    "[...document.querySelectorAll('#clients tbody tr:first-child td')].map((one) => getComputedStyle(one, '::before').content)",
  );
  expect(titles).toEqual(['"Requests"', '"Last seen"', '"Migration"', '"Routes"', '"Errors"', '"By day"']);
  await page.getByRole('columnheader', { name: 'Client', exact: true }).getByRole('button').click();
  await page.locator('#clients th[aria-sort=ascending]').waitFor();
});

it('reloads when an asset could not be loaded', async () => {
  const { url } = await serve(scene().listener);
  const page = await browser.newPage({ locale: 'en-GB' });
  onTestFinished(() => page.close());
  page.setDefaultTimeout(timeoutMs);
  let failed = 0;
  for (const part of ['moment.js', 'uplot.js', 'style.css'])
    await page.route(`**/${part}`, (route) => (failed++ < 3 ? route.abort('internetdisconnected') : route.continue()));
  await open(page, url);
  await page.locator('#clients tbody tr').first().waitFor();
  await page.locator('#traffic canvas').waitFor();
  expect(failed).toBeGreaterThan(3);
});

it('retries soon after a failed request', async () => {
  const shown = scene();
  const lost = new Set(['/api/versions/v1/retirement', '/api/usage?by=day&step=hour&since=7d']);
  const listener: RequestListener = (req, res) =>
    lost.delete(req.url ?? '') ? req.socket.destroy() : shown.listener(req, res);
  await drawn({}, { ...shown, listener });
  expect([...lost]).toEqual([]);
});

describe('in the C locale, the page', () => {
  let posix: Browser;
  beforeAll(async () => {
    posix = await launchChromium({ LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8', LANGUAGE: '' });
  }, 3 * timeoutMs);
  afterAll(() => posix.close());

  it('draws its charts', async () => {
    const { url } = await serve(scene().listener);
    const page = await posix.newPage();
    page.setDefaultTimeout(timeoutMs);
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    await open(page, url);
    await page.locator('#traffic canvas').waitFor();
    await page.locator('#trend canvas').waitFor();
    expect(complaints).toEqual([]);
  });
});

it('updates while it is open', async () => {
  const { page, shown } = await drawn();
  const backend = page.locator('#backends tr', { hasText: '127.0.0.1:3001' });
  expect(await backend.innerText()).toContain('Healthy');
  const failingSince = now - 8 * 60_000;
  shown.target = { ...shown.target, health: 'failing', failingSince, reachable: false, inFlight: 77 };
  await backend.getByText('Failing since 21 Nov 2026, 10:12').waitFor();
  expect(await backend.innerText()).toContain('77');
  const at = now - 7 * 60_000;
  shown.target = { ...shown.target, lastError: { message: 'the probe failed: <b>connect</b> ECONNREFUSED', at } };
  await backend.getByText('the probe failed: <b>connect</b> ECONNREFUSED · 7 min ago').waitFor();
  expect(await backend.locator('time', { hasText: '7 min' }).getAttribute('title')).toBe('21 Nov 2026, 10:13 UTC');
  const reasons = ['routes.yaml:7:13  routes./v1.sunset  2026-05-01 is earlier than deprecation'];
  shown.config = { ...shown.config, lastFailure: { at: now, trigger: 'file', reasons } };
  await page.getByText(reasons[0] as string).waitFor();
});

it('reloads the configuration with a button, and shows the result', async () => {
  const { page, shown } = await drawn();
  const results = [
    [{ kind: 'reloaded', changes: ['/v1: sunset moved to 2027-06-30'], forced: [] }, '/v1: sunset moved to 2027-06-30'],
    [{ kind: 'unchanged' }, 'Nothing changed.'],
    [{ kind: 'faulty', faults: ['routes.yaml:7:13  <b>bold</b>'] }, 'routes.yaml:7:13  <b>bold</b>'],
    [{ kind: 'refused', refusals: [{ version: 'v1', message: 'It is in use.', force: '' }] }, 'v1: It is in use.'],
  ] as const;
  for (const [nth, [outcome, words]] of results.entries()) {
    shown.outcome = outcome;
    await page.getByRole('button', { name: 'Reload routes.yaml' }).click();
    await page.locator('#outcome').getByText(words).waitFor();
    expect(shown.reloads).toBe(nth + 1);
  }
});

it('keeps the scroll position of a table', async () => {
  const { page, shown } = await drawn({ viewport: { width: 660, height: 844 } });
  const table = page.locator('#backends .scroll');
  const left = await table.evaluate((one) => {
    one.scrollTo(90, 0);
    return one.scrollLeft;
  });
  expect(left).toBeGreaterThan(0);
  await table.focus();
  shown.target = { ...shown.target, inFlight: 77 };
  await table.locator('td', { hasText: /^77$/ }).waitFor();
  expect(await table.evaluate((one) => [one.scrollLeft, one === one.ownerDocument.activeElement])).toEqual([
    left,
    true,
  ]);
});

it('reports that the ledger cannot be written until it can', async () => {
  const { page, shown } = await drawn();
  const notice = page.locator('#attention');
  expect(await notice.isVisible()).toBe(false);
  const problem = 'ENOSPC: no space left on device, usage.db <script>window.ran=1</script>';
  shown.usage = { ...sampleUsage(now), problem, unwrittenRows: 1_234 };
  await notice.getByText(problem).waitFor();
  expect(await notice.innerText()).toContain('1,234 rows are waiting in memory');
  await page.screenshot({ path: join(screenshots, 'ledger.png') });
  shown.usage = sampleUsage(now);
  await notice.waitFor({ state: 'hidden' });
});

it('keeps the focus and open details when figures change', async () => {
  const { page, shown } = await drawn();
  const head = page.getByRole('columnheader', { name: 'Client', exact: true }).getByRole('button');
  await head.focus();
  await page.evaluate(`window.kept = document.querySelector('#clients tbody tr')`);
  shown.usage = sampleUsage(now, false);
  shown.config = { ...shown.config, generation: 8 };
  await row(page, '<img src=x').waitFor({ state: 'detached' });
  expect(await page.evaluate(`window.kept === document.querySelector('#clients tbody tr')`)).toBe(true);
  expect(await head.evaluate((one) => one === one.ownerDocument.activeElement)).toBe(true);
});

it('draws 5,000 clients one page at a time', async () => {
  const many = Array.from({ length: 5_000 }, (_nothing, at) => ({
    client: `x-client-id:shop-${at}`,
    name: undefined,
    requests: 5_000 - at,
    errors: 0,
    served: 5_000 - at,
    first: now - 86_400_000,
    last: now - 60_000,
    routes: 3,
    topRoutes: [{ route: 'GET /cocktails', requests: 9, last: now }],
  }));
  const { page } = await drawn(
    {},
    Object.assign(scene(), { usage: { ...sampleUsage(now), byClient: async () => many } }),
  );
  const rows = page.locator('#clients tbody tr');
  expect(await rows.count()).toBe(50);
  expect(await rows.first().locator('details').textContent()).toBe('GET /cocktails +22 more');
  await page.getByRole('button', { name: 'Show more (50 of 5,0' }).click();
  await rows.nth(99).waitFor();
  expect(await rows.count()).toBe(100);
  await page.getByRole('columnheader', { name: 'Client', exact: true }).getByRole('button').click();
  await rows.first().getByText('x-client-id:shop-0').waitFor();
  expect(await rows.count()).toBe(100);
});

it('shows the period that was selected last, in whatever order the responses arrive', async () => {
  const shown = scene();
  const slow = Promise.withResolvers<void>();
  const listener: RequestListener = async (req, res) => {
    if (req.url?.includes('by=day') && req.url.includes('since=30d')) await slow.promise;
    shown.listener(req, res);
  };
  const { page } = await drawn({}, { ...shown, listener });
  await page.getByRole('radio', { name: '30 days' }).check();
  expect(await page.locator('#traffic').getAttribute('aria-busy')).toBe('true');
  const aborted = page.waitForEvent('requestfailed', (request) => request.url().includes('since=30d'));
  await page.getByRole('radio', { name: '1 day' }).check();
  await page.locator('#traffic .when', { hasText: 'since 20 Nov 2026, 10:00' }).waitFor();
  slow.resolve();
  await aborted;
  expect(await page.locator('#traffic .when').textContent()).toContain('since 20 Nov 2026, 10:00');
  expect(await page.locator('#traffic').getAttribute('aria-busy')).toBe('false');
});

it('does not show the old period under a new one that cannot be loaded', async () => {
  const shown = scene();
  const listener: RequestListener = (req, res) =>
    req.url?.includes('by=day') && req.url.includes('since=365d') ? req.socket.destroy() : shown.listener(req, res);
  const { page } = await drawn({}, { ...shown, listener });
  await page.getByRole('radio', { name: '365 days' }).check();
  await page.locator('#traffic').getByText('The gateway does not answer.').waitFor();
  expect(await page.locator('#traffic canvas').count()).toBe(0);
});

it('polls while there is no event stream', async () => {
  const shown = scene();
  const listener: RequestListener = (req, res) => {
    if (req.url === '/api/events') res.writeHead(503).end();
    else shown.listener(req, res);
  };
  const { page } = await drawn({}, { ...shown, listener });
  await page.getByText('Updating by polling').waitFor();
  shown.target = { ...shown.target, inFlight: 77 };
  await page.locator('#backends td', { hasText: /^77$/ }).waitFor();
});

it('closes the event stream while the page is hidden', async () => {
  const { page } = await drawn();
  const show = (hidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'))`);
  const opened = page.waitForRequest('**/api/events');
  await show(true);
  await show(false);
  await opened;
  await page.getByText('Live', { exact: true }).waitFor();
});

it('keeps a version that was selected with the keyboard', async () => {
  const { page } = await drawn();
  await page.getByRole('radio', { name: 'v1' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.locator('#h-retire', { hasText: 'Retirement of v2' }).waitFor();
  await page.locator('#clients th', { hasText: 'web-shop' }).waitFor();
  await page.reload();
  await page.locator('#h-retire', { hasText: 'Retirement of v2' }).waitFor();
});

it('reports a lost connection, and reconnects', async () => {
  const shown = scene();
  let gone = false;
  const { page } = await drawn(
    {},
    { ...shown, listener: (req, res) => (gone ? req.socket.destroy() : shown.listener(req, res)) },
  );
  await page.getByText('Live', { exact: true }).waitFor();
  gone = true;
  shown.ready = false;
  await page.getByText('Connection lost, retrying…').waitFor();
  // The old data stays.
  expect(await page.locator('#clients tbody tr').count()).toBe(5);
  await page.screenshot({ path: join(screenshots, 'lost.png') });
  gone = false;
  shown.ready = true;
  await page.getByText('Live', { exact: true }).waitFor();
});

it('reports a gateway that stops before the page has data', async () => {
  const shown = scene();
  const listener: RequestListener = (req, res) =>
    req.url?.startsWith('/api') ? req.socket.destroy() : shown.listener(req, res);
  const { page } = await visit({}, { ...shown, listener });
  await page.locator('#lifecycle').getByText('The gateway does not answer.').waitFor();
  expect(await page.locator('main .waiting').count()).toBe(0);
  await page.screenshot({ path: join(screenshots, 'gone.png'), fullPage: true });
});

it('shows that it is loading', async () => {
  const shown = scene();
  const listener: RequestListener = (req, res) => {
    if (!req.url?.startsWith('/api')) shown.listener(req, res);
  };
  const { page } = await visit({}, { ...shown, listener });
  expect(await page.locator('main .waiting').count()).toBe(10);
  await page.screenshot({ path: join(screenshots, 'loading.png'), fullPage: true });
});

it('shows the current state of a real gateway', async () => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const { url: backend } = await serve(async (_req, res) => {
    await answered;
    res.end('ok');
  });
  const gateway = await startTestGateway({
    '/v1': { upstream: backend, deprecation: '2026-03-01', sunset: '2099-06-30' },
    '/v2': await refusedUrl(),
  });
  const page = await browser.newPage({ locale: 'en-GB' });
  onTestFinished(() => page.close());
  await open(page, `http://127.0.0.1:${gateway.adminPort}/`);
  const row = page.locator('#backends tr', { hasText: backend });
  await row.getByText('Not tried yet').waitFor();
  expect(await page.locator('#backends').innerText()).not.toContain('Healthy');
  const response = fetch(`${gateway.url}/v1/cocktails`);
  await row.locator('td.number', { hasText: /^1$/ }).first().waitFor();
  answer();
  expect(await (await response).text()).toBe('ok');
  await row.locator('td.number', { hasText: /^0$/ }).first().waitFor();
  expect((await fetch(`${gateway.url}/v2/cocktails`)).status).toBe(502);
  await page.locator('#backends').getByText('Failing since').waitFor();
  expect(await page.locator('.lifecycle li .badge').allTextContents()).toEqual(['Active', 'Deprecated']);
});

it('claims no counterpart and no health that nobody has observed', async () => {
  const { url: upstream } = await serve((_req, res) => res.end('ok'));
  const { url: next } = await serve((req, res) => {
    res.statusCode = req.url === '/profile' ? 404 : 200;
    res.end('ok');
  });
  const store = join(temporaryFolder(), 'usage.db');
  const snapshot = snapshotFrom({
    gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0' },
    usage: { store },
    routes: { '/v1': { upstream, deprecation: '2026-03-01', sunset: '2026-06-30' }, '/v2': next },
  });
  const ledger = await ThreadedLedger.open(snapshot.usage);
  const gateway = await startGateway(snapshot, { ledger });
  onTestFinished(async () => {
    await gateway.close();
    await ledger.close();
  });
  const call = (path: string): Promise<unknown> => fetch(`http://127.0.0.1:${gateway.port}${path}`);
  for (const path of ['/v1/profile', '/v1/drinks', '/v1/drinks']) await call(path);
  const page = await browser.newPage({ locale: 'en-GB', viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(timeoutMs);
  onTestFinished(() => page.close());
  const rowOf = (route: string) => page.locator('#routes tbody tr', { hasText: route }).locator('td').last();
  await open(page, `http://127.0.0.1:${gateway.adminPort}/`);
  await rowOf('GET /profile').getByText('Not known (no contract)').waitFor();
  await rowOf('GET /drinks').getByText('Not known (no contract)').waitFor();
  expect(await page.locator('#routes').innerText()).toContain('It is not known whether v2 has these routes');
  expect(await page.locator('main').innerText()).not.toContain('has a counterpart');
  expect(await page.locator('#verdict, #figures').allInnerTexts()).not.toContain('1 of 1 healthy');
  await call('/v2/profile');
  await expect
    .poll(() => fetch(`http://127.0.0.1:${gateway.adminPort}/api/versions/v1/retirement`).then((one) => one.text()))
    .toContain('"status":404');
  await page.reload();
  await rowOf('GET /profile').getByText('v2 answers 404, so responses do not link to it').waitFor();
  await rowOf('GET /drinks').getByText('Not known (no contract)').waitFor();
  await page.screenshot({ path: join(screenshots, 'observed.png'), fullPage: true });
});

it('names the new successor after a reload', async () => {
  const { url: upstream } = await serve((_req, res) => res.end('ok'));
  const snapshotWith = (v1: object) =>
    snapshotFrom({
      gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0' },
      usage: { store: join(folder, 'usage.db') },
      routes: { '/v1': { upstream, deprecation: '2026-03-01', ...v1 }, '/v2': upstream, '/v3': upstream },
    });
  const folder = temporaryFolder();
  const snapshot = snapshotWith({});
  const ledger = await ThreadedLedger.open(snapshot.usage);
  const gateway = await startGateway(snapshot, { ledger, load: () => snapshotWith({ successor: '/v3' }) });
  onTestFinished(async () => {
    await gateway.close();
    await ledger.close();
  });
  const page = await browser.newPage({ locale: 'en-GB' });
  onTestFinished(() => page.close());
  await open(page, `http://127.0.0.1:${gateway.adminPort}/`);
  await page.locator('#client-state option', { hasText: 'v1 and v2' }).waitFor({ state: 'attached' });
  expect(await gateway.reload('admin')).toMatchObject({ kind: 'reloaded' });
  await page.locator('#client-state option', { hasText: 'v1 and v3' }).waitFor({ state: 'attached' });
});

describe('with an admin token', () => {
  const token = 'correct-horse-battery-staple';

  /** A scene whose requests come from another machine. */
  function fromAnotherMachine(usage: Readonly<Record<string, unknown>> = {}): Scene {
    const shown = scene(token, undefined, usage);
    const listener: RequestListener = (req, res) => {
      Object.defineProperty(req.socket, 'remoteAddress', { value: '10.0.0.9', configurable: true });
      shown.listener(req, res);
    };
    return { ...shown, listener };
  }

  /** Takes a picture of the form without the empty space around it. */
  async function loginPicture(page: Page): Promise<void> {
    const clip = { x: 360, y: 60, width: 720, height: 440 };
    await page.screenshot({ path: join(pictures, 'login.png'), clip });
  }

  async function logIn(page: Page, given: string): Promise<void> {
    await page.getByLabel('Admin token').fill(given);
    await page.getByRole('button', { name: 'Log in' }).click();
  }

  it('logs in with the token, and out again', async () => {
    const { page, origin, complaints, requests } = await visit({}, fromAnotherMachine());
    expect(page.url()).toBe(`${origin}/login`);
    await logIn(page, 'not the token');
    expect(await page.getByRole('alert').textContent()).toBe('This is not the admin token.');
    expect(complaints.splice(0)).toEqual([expect.stringContaining('401')]);
    await logIn(page, token);
    await page.locator('#clients tbody tr').first().waitFor();
    await page.getByRole('button', { name: 'Reload routes.yaml' }).click();
    await page.getByText('Nothing changed.').waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByLabel('Admin token').waitFor();
    await open(page, origin);
    expect(page.url()).toBe(`${origin}/login`);
    expect(requests.every((url) => url.startsWith(origin))).toBe(true);
    expect(complaints).toEqual([]);
  });

  it('opens the login form when the session expires', async () => {
    const shown = fromAnotherMachine();
    let elapsed = 0;
    shown.clock.now = () => now + elapsed;
    const { page, origin } = await visit({}, shown);
    await logIn(page, token);
    await page.getByText('Live', { exact: true }).waitFor();
    elapsed = 8 * 3_600_000;
    await eventually(async () => {
      if (page.url().startsWith('chrome-error:')) await open(page, origin);
      expect(page.url()).toBe(`${origin}/login`);
    });
  });

  describe('a client is named', () => {
    async function naming(usage: Readonly<Record<string, unknown>>) {
      const { page } = await visit({ bypassCSP: true }, fromAnotherMachine(usage));
      await logIn(page, token);
      await page.getByRole('button', { name: 'Name x-client-id:kiosk-eu' }).click();
      return page;
    }

    function namesFile(text: string): string {
      const file = join(temporaryFolder(), 'names.yaml');
      writeFileSync(file, text);
      return file;
    }

    it('in the file of usage.names', async () => {
      const names = namesFile('# Partners\nuser-agent:curl: cron # nightly\n');
      const page = await naming({ names });
      await page.getByLabel('Name', { exact: true }).fill('Kiosk');
      await page.screenshot({ path: join(screenshots, 'naming.png') });
      expect(await violationsOn(page)).toEqual([]);
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor({ state: 'hidden' });
      const text = '# Partners\nuser-agent:curl: cron # nightly\n"x-client-id:kiosk-eu": "Kiosk"\n';
      expect(readFileSync(names, 'utf8')).toBe(text);
    });

    it('unless its name changed in the meantime', async () => {
      const names = namesFile('x-client-id:kiosk-eu: Till\n');
      const page = await naming({ names });
      await page.getByLabel('Name', { exact: true }).fill('Kiosk');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('alert').getByText('x-client-id:kiosk-eu is now called "Till"').waitFor();
      expect(readFileSync(names, 'utf8')).toBe('x-client-id:kiosk-eu: Till\n');
      await page.getByRole('button', { name: 'Cancel' }).click();
      await page.getByRole('dialog').waitFor({ state: 'hidden' });
    });

    it('with a line to copy if the gateway cannot write the file', async () => {
      const page = await naming({});
      await page.getByLabel('Name', { exact: true }).fill('Kiosk');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('"x-client-id:kiosk-eu": "Kiosk"').waitFor();
    });
  });

  it('has a form without an accessibility violation on every screen', async () => {
    const { page } = await visit({ bypassCSP: true }, fromAnotherMachine());
    await logIn(page, 'not the token');
    await page.getByRole('alert').waitFor();
    await onEachScreen(page, async (screen) => {
      await page.screenshot({ path: join(screenshots, `login-${screen}.png`) });
      if (screen === 'desktop-light') await loginPicture(page);
      expect(await violationsOn(page), screen).toEqual([]);
      expect(
        await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth'),
        screen,
      ).toBeLessThanOrEqual(0);
    });
  });
});

describe('the gateways of a fleet', () => {
  const rows = [
    gatewayRow('gw-1', now - 500, { config: '3f9a0b1c2d4e', versions: { v1: { ...activeLoad, in_flight: 12 } } }),
    gatewayRow('gw-2', now - 1_500, { config: 'ffff0b1c2d4e', skewMs: 7_000, spooled: 1_204 }),
    gatewayRow('gw-3-with-a-long-name-of-a-pod-7d9f8c6b5-x2x4z', now - 41_000, { config: '3f9a0b1c2d4e' }),
    gatewayRow('gw-4', now - 3_600_000, { config: '3f9a0b1c2d4e', leftAt: now - 3_600_000 }),
    gatewayRow('gw-5', now - 7_200_000, { config: '3f9a0b1c2d4e', goneAt: now, goneReason: hostile }),
    gatewayRow('gw-6', now - 100, {
      config: '3f9a0b1c2d4e',
      ready: false,
      problem: '/v3 is removed, and no sunset was ever announced.',
    }),
  ];
  const ofFleet = (...fleet: Parameters<typeof fleetOf>) => Object.assign(scene(), { fleet: fleetOf(...fleet) });

  it('are listed with their states, and follow the status', async () => {
    const { page, shown, complaints } = await drawn({}, ofFleet(rows));
    const cells = await page.evaluate<string[][]>(
      `[...document.querySelectorAll('#fleet tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))`,
    );
    expect(cells).toEqual([
      ['gw-1', 'Heard', '1.0.0', '3f9a0b1c2d4e', '12', '0'],
      ['gw-2', 'Heardits clock is 7 s ahead', '1.0.0', 'ffff0b1c2d4e differs from most', '0', '1,204'],
      ['gw-3-with-a-long-name-of-a-pod-7d9f8c6b5-x2x4z', 'Not heard for 41 s', '1.0.0', '3f9a0b1c2d4e', '–', '0'],
      ['gw-4', 'Left', '1.0.0', '3f9a0b1c2d4e', '–', '0'],
      ['gw-5', `Gone${hostile}`, '1.0.0', '3f9a0b1c2d4e', '–', '0'],
      ['gw-6', 'Not ready/v3 is removed, and no sunset was ever announced.', '1.0.0', '3f9a0b1c2d4e', '0', '0'],
    ]);
    shown.fleet = fleetOf(rows.slice(0, 1), { problem: 'connection refused' });
    await page.locator('#fleet .problem').waitFor();
    expect(await page.locator('#fleet .problem').textContent()).toBe(
      'The shared store does not answer, so this is the state at its last answer: connection refused',
    );
    expect(await page.locator('#fleet tbody tr').count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  it('explain why this gateway is not ready', async () => {
    const { page } = await drawn({}, ofFleet(rows, {}, ['/v3 is removed, and no sunset was ever announced.']));
    expect(await page.locator('#attention').textContent()).toContain(
      'This gateway is not ready: routes.yaml breaks what the fleet has announced./v3 is removed',
    );
  });

  it('fit every screen, without an accessibility violation', async () => {
    const { page } = await drawn({ bypassCSP: true }, ofFleet(rows));
    await onEachScreen(page, async (screen) => {
      await page.locator('#fleet-section').screenshot({ path: join(screenshots, `fleet-${screen}.png`) });
      await expectToFit(page, screen);
      expect(await violationsOn(page, '#fleet-section'), screen).toEqual([]);
    });
  });
});

describe('the brownout report', () => {
  const at = Date.parse('2026-11-10T14:00:00Z');
  const routes = {
    '/v1': {
      upstream: 'http://127.0.0.1:3001',
      deprecation: '2026-03-01',
      sunset: '2027-06-30',
      brownouts: [
        { at: '2026-11-03T14:00Z', for: '1h' },
        { at: '2026-11-10T14:00Z', for: '1h' },
      ],
    },
    '/v2': 'http://127.0.0.1:3002',
  };
  const one = {
    client: '',
    name: undefined,
    refused: 3,
    first: at,
    last: at,
    lastCall: at,
    lastCallInRetryPeriod: at,
    successorUse: 0,
  };
  const refused = [
    { ...one, client: `x-client-id:${hostile}`, refused: 1204, lastCall: now, lastCallInRetryPeriod: at + 7_200_000 },
    { ...one, client: 'x-api-key:#4f2a91c07be05d3a', name: 'Ann’s shop', successorUse: at + 86_400_000 },
    { ...one, client: 'user-agent:okhttp', lastCall: now, successorUse: at + 86_400_000 },
    { ...one, client: 'user-agent:curl', lastCall: now - 86_400_000 },
    { ...one, client: 'x-client-id:kiosk' },
  ];
  const brownouts: BrownoutQueries = {
    totals: async () => [
      { at: at - 7 * 86_400_000, refused: 1, clients: 1, last: at - 7 * 86_400_000 },
      { at, refused: 1216, clients: 5, last: at },
    ],
    decisions: async () => [],
    refused: async (period) => (period.at === at ? refused : refused.slice(4)),
    notRefused: async () => ({
      count: 1,
      clients: [{ client: 'user-agent:probe', name: undefined, requests: 9, spared: false }],
    }),
  };
  const withBrownouts = () =>
    Object.assign(scene(undefined, routes), { usage: { ...sampleUsage(now), brownouts } satisfies UsageQueries });
  const rowsOf = (page: Page) =>
    page.evaluate<string[][]>(
      `[...document.querySelectorAll('#brownout tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))`,
    );

  it('is shown on every screen, without an accessibility violation', async () => {
    const { page, complaints } = await drawn({ bypassCSP: true }, withBrownouts());
    const card = page.locator('#brownout-card');
    await card.locator('tbody tr').first().waitFor();
    expect(await rowsOf(page)).toEqual([
      [`x-client-id:${hostile}`, '1,204', 'Kept retrying', 'just now', '–'],
      ['Ann’s shopx-api-key:#4f2a91c07be05d3a', '3', 'Moved', '10 days ago', '9 days ago'],
      ['user-agent:okhttp', '3', 'Both', 'just now', '9 days ago'],
      ['user-agent:curl', '3', 'Came back', '1 day ago', '–'],
      ['x-client-id:kiosk', '3', 'Silent since', '10 days ago', '–'],
    ]);
    expect(await card.locator('.summary').textContent()).toBe(
      '10 Nov 2026, 14:00 to 10 Nov 2026, 15:00: 1,216 requests to v1 refused.',
    );
    await onEachScreen(page, async (screen) => {
      await card.screenshot({ path: join(screenshots, `brownout-${screen}.png`) });
      await expectToFit(page, screen);
      expect(await violationsOn(page, '#brownout-card'), screen).toEqual([]);
    });
    expect(complaints).toEqual([]);
  });

  it('shows an earlier brownout when it is selected', async () => {
    const { page } = await drawn({}, withBrownouts());
    await page.getByLabel('Brownout of').focus();
    await page.getByLabel('Brownout of').selectOption('3 Nov 2026, 14:00');
    const clients = async () => (await rowsOf(page)).map(([client]) => client);
    await expect.poll(clients, { timeout: timeoutMs }).toEqual(['x-client-id:kiosk']);
    expect(await page.evaluate<string>('document.activeElement.id')).toBe('brownout-window');
  });
});

describe('the notifications', () => {
  const entry = { type: 'sunset-30d', host: 'hooks.example.com', attempts: 1, result: '204', next_at: null };
  const iso = (ago: number): string => new Date(now - ago).toISOString();
  const problem =
    '/srv/usage-notifications.db cannot be used: the disk is full.  Events are kept in memory until it can be used again.';
  const notify = {
    problem,
    recent: [
      {
        ...entry,
        at: iso(0),
        title: hostile,
        state: 'waiting',
        result: 'timeout',
        attempts: 3,
        next_at: iso(-120_000),
      },
      { ...entry, at: iso(60_000), title: 'The sunset of /v1 is in 29 days: 2026-12-20', state: 'sent' },
      { ...entry, at: iso(86_400_000), title: '/v1 is deprecated since 2026-11-20', state: 'failed', result: '500' },
    ],
  };

  it('are listed on every screen, without an accessibility violation', async () => {
    const { page, complaints } = await drawn({ bypassCSP: true }, Object.assign(scene(), { notify }));
    const cells = await page.evaluate<string[][]>(
      `[...document.querySelectorAll('#notify tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))`,
    );
    expect(cells).toEqual([
      ['just now', `${hostile} sunset-30d`, 'hooks.example.com', 'Waiting (timeout) 3 attempts', 'in 2 minutes'],
      ['1 min ago', 'The sunset of /v1 is in 29 days: 2026-12-20 sunset-30d', 'hooks.example.com', 'Sent (204)', '–'],
      ['1 day ago', '/v1 is deprecated since 2026-11-20 sunset-30d', 'hooks.example.com', 'Given up (500)', '–'],
    ]);
    expect(await page.locator('#notify .problem').textContent()).toBe(problem);
    await onEachScreen(page, async (screen) => {
      await page.locator('#notify-section').screenshot({ path: join(screenshots, `notify-${screen}.png`) });
      await expectToFit(page, screen);
      expect(await violationsOn(page, '#notify-section'), screen).toEqual([]);
    });
    expect(complaints).toEqual([]);
  });
});

describe('the filter by gateway', () => {
  const names = ['gw-1', 'gw-2', 'gw-3'];
  const rows = names.map((name) => gatewayRow(name, now - 500));
  const inFleet = () =>
    Object.assign(scene(), { fleet: fleetOf(rows), usage: sampleUsage(now, true, names) }) satisfies Scene;
  const filter = (page: Page) => page.getByLabel('Gateway', { exact: true });
  /** The sum below the chart of the traffic, and the one of the requests per day. */
  const sums = (page: Page) =>
    eventually(async () => {
      const texts = await Promise.all([
        page.locator('#traffic .when').textContent(),
        page.locator('#trend .big').textContent(),
      ]);
      return texts.map((text) => Number(/^([\d,]+) requests/.exec(text ?? '')?.[1]?.replaceAll(',', '')));
    });
  const scopes = (page: Page) =>
    page.evaluate<string[][]>(
      `[...document.querySelectorAll('[data-scope]')].map((one) => [one.parentElement.textContent.trim()])`,
    );

  it('is not shown for a gateway on its own, and its parameter is ignored', async () => {
    const { page, origin, complaints } = await drawn();
    expect(await page.locator('#filter').isVisible()).toBe(false);
    await open(page, `${origin}/?instance=gw-2#v1`);
    await page.locator('#trend', { hasText: 'Falling: zero on' }).waitFor();
    await page.locator('#traffic canvas').waitFor();
    expect(await page.locator('#filter').isVisible()).toBe(false);
    await eventually(() => expect(new URL(page.url()).search).toBe(''));
    expect((await scopes(page)).flat().filter((text) => text.includes('gateway'))).toEqual([]);
    // The first request may have been sent before the status has arrived.
    expect(complaints.filter((text) => !text.includes('400'))).toEqual([]);
  });

  it('selects the requests of one gateway with the keyboard, and the URL remembers it', async () => {
    const { page, requests, complaints } = await drawn({}, inFleet());
    expect(await filter(page).locator('option').allTextContents()).toEqual(['All gateways', ...names]);
    await filter(page).focus();
    const each: number[][] = [];
    for (const name of names) {
      await page.keyboard.press('ArrowDown');
      await page.locator('#h-traffic', { hasText: name }).waitFor();
      await page.locator('#traffic[aria-busy=false]').waitFor();
      await page.locator(`#trend .chart[aria-label*="${name}"]`).waitFor();
      expect(new URL(page.url()).search).toBe(`?instance=${name}`);
      each.push(await sums(page));
    }
    const sumOf = (at: number) => each.reduce((all, one) => all + (one[at] ?? Number.NaN), 0);
    const [traffic] = each.map(([first]) => first);
    expect(traffic).toBeGreaterThan(0);
    expect(await scopes(page)).toEqual([
      ['Can it be retired? quiet period: last 7 days all gateways'],
      ['Requests per day last 30 complete days gw-3'],
      ['If it were retired now last 7 days all gateways'],
      ['After the brownout  all gateways'],
      ['Responses compared  this gateway'],
      ['Compared with its contract  this gateway'],
      ['Clients that call v1 last 7 days all gateways'],
      ['Routes in use last 7 days all gateways'],
      ['Rate and latency by version last 1 minute this gateway'],
      ['Traffic by version last 7 days gw-3'],
      ['Backends now this gateway'],
    ]);
    // Clients are never requested for one gateway.
    expect(requests.filter((url) => url.includes('instance=') && !url.includes('by=day'))).not.toContainEqual(
      expect.stringContaining('/api/'),
    );
    // It is kept when the page is loaded again, together with the version.
    await page.reload();
    await page.locator('#h-traffic', { hasText: 'gw-3' }).waitFor();
    expect(await filter(page).inputValue()).toBe('gw-3');
    expect(await sums(page)).toEqual(each[2]);
    await page.getByRole('radio', { name: 'v2' }).check();
    await page.locator('#trend .chart[aria-label*="v2 through gw-3"]').waitFor();
    expect(new URL(page.url()).search + new URL(page.url()).hash).toBe('?instance=gw-3#v2');
    await page.getByRole('radio', { name: 'v1' }).check();
    await filter(page).selectOption('All gateways');
    await page.locator('#trend', { hasText: 'Falling: zero on' }).waitFor();
    await page.locator('#h-traffic', { hasText: 'all gateways' }).waitFor();
    expect(new URL(page.url()).search).toBe('');
    const all = await page.locator('#trend .chart').getAttribute('aria-label');
    const ofDays = [...(all ?? '').matchAll(/\d+(?=,|$)/g)].reduce((sum, [text]) => sum + Number(text), 0);
    expect(sumOf(1)).toBe(ofDays);
    expect(complaints).toEqual([]);
  });

  it('offers whole days only, because the fleet counts each gateway by day', async () => {
    const { page, requests } = await drawn({}, inFleet());
    const ranges = () => page.locator('#period label').allTextContents();
    await page.getByRole('radio', { name: '1 day' }).check();
    await page.locator('#traffic[aria-busy=false]').waitFor();
    await filter(page).selectOption('gw-2');
    await eventually(async () => expect(await ranges()).toEqual(['7 days', '30 days', '365 days']));
    await eventually(() => expect(requests.at(-1)).not.toContain('24h'));
    expect(await page.getByRole('radio', { name: '7 days' }).isChecked()).toBe(true);
    expect(requests.filter((url) => url.includes('instance=') && url.includes('step=hour'))).toEqual([]);
    await filter(page).selectOption('All gateways');
    await eventually(async () => expect(await ranges()).toEqual(['1 day', '7 days', '30 days', '365 days']));
  });

  it('names the fleet as the scope of the verdict', async () => {
    const { page } = await drawn({}, inFleet());
    const notes = await page.locator('#verdict .notes').innerText();
    expect(notes).toContain('The ledger only has the requests to this fleet of 3 running gateways since 2026-10-17');
  });

  it('explains that the fleet has no gateway of this name', async () => {
    const { page, origin } = await drawn({}, inFleet());
    await open(page, `${origin}/?instance=gw-9#v1`);
    const fault = '`instance`: the fleet has no gateway of this name. It has gw-1, gw-2, gw-3.';
    await page.locator('#traffic').getByText(fault).waitFor();
    await page.locator('#trend').getByText(fault).waitFor();
    expect(await filter(page).inputValue()).toBe('gw-9');
    await page.locator('#clients tbody tr').first().waitFor();
    await filter(page).selectOption('gw-1');
    await page.locator('#traffic canvas').waitFor();
  });

  it('keeps an open list of gateways when the status is updated, and adds new ones', async () => {
    const { page, shown } = await drawn({}, inFleet());
    await filter(page).selectOption('gw-2');
    await page.evaluate(`globalThis.first = document.querySelector('#gateway-filter option')`);
    shown.config = { ...shown.config, generation: 8 };
    await page.locator('#gateway', { hasText: 'Generation 8' }).waitFor();
    expect(await page.evaluate(`globalThis.first.isConnected`)).toBe(true);
    shown.fleet = fleetOf([...rows, gatewayRow('gw-0', now)]);
    await filter(page).locator('option', { hasText: 'gw-0' }).waitFor({ state: 'attached' });
    expect(await filter(page).inputValue()).toBe('gw-2');
  });

  it('fits every screen, without an accessibility violation', async () => {
    const long = 'gateway-7d9f8c6b5-x2x4z-in-a-region-far-away';
    const shown = Object.assign(scene(), {
      fleet: fleetOf([...rows, gatewayRow(long, now)]),
      usage: sampleUsage(now, false, [...names, long]),
    });
    const { page } = await drawn({ bypassCSP: true }, shown);
    await filter(page).selectOption(long);
    await page.locator(`#trend .chart[aria-label*="${long}"]`).waitFor();
    await page.locator('#traffic[aria-busy=false]').waitFor();
    await onEachScreen(page, async (screen) => {
      await page.screenshot({ path: join(screenshots, `filter-${screen}.png`), fullPage: true });
      await expectToFit(page, screen);
      expect(await violationsOn(page), screen).toEqual([]);
    });
  });
});

describe('without data, the page', () => {
  it('reports that nothing was recorded yet', async () => {
    const { page, complaints } = await visit({}, Object.assign(scene(), { usage: noUsage }));
    await page.getByText('No requests in this period.').waitFor();
    await page.getByText('No client called v1 in the last 7 days.').waitFor();
    await page.getByText('No complete day has been recorded yet.').waitFor();
    await page.screenshot({ path: join(screenshots, 'empty.png'), fullPage: true });
    expect(complaints).toEqual([]);
  });

  it('reports that usage is not recorded', async () => {
    const { page } = await visit({}, Object.assign(scene(), { usage: undefined }));
    await page.locator('#verdict').getByText('Usage is not recorded.').waitFor();
    await page.locator('#traffic').getByText('Usage is not recorded.').waitFor();
    expect(await page.locator('#backends tbody tr').count()).toBe(4);
    await page.screenshot({ path: join(screenshots, 'no-ledger.png'), fullPage: true });
  });
});
