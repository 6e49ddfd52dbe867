import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import chromium, { inflate } from '@sparticuz/chromium';
import { type Browser, type Page, chromium as playwright } from 'playwright-core';

/** A real Chromium that needs nothing from the system: browser, libraries and font come from the npm package. */
export async function launchChromium(env: NodeJS.ProcessEnv = {}): Promise<Browser> {
  const home = await unpacked();
  chromium.setGraphicsMode = false;
  return playwright.launch({
    executablePath: join(home, 'chromium'),
    args: [...chromium.args.filter((flag) => !unwanted.has(flag)), ...quiet],
    env: {
      ...process.env,
      ...env,
      // NSS and expat, which a slim Debian lacks; the rest of what Chromium needs is glibc.
      LD_LIBRARY_PATH: join(home, 'al2023', 'lib'),
      FONTCONFIG_PATH: home,
    },
  });
}

// The first two crash with a page or without a GPU. The others would hide what a user's browser blocks.
const unwanted = new Set([
  '--in-process-gpu',
  '--single-process',
  '--disable-web-security',
  '--allow-running-insecure-content',
  '--no-zygote',
]);

const quiet = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const packed = join(dirname(fileURLToPath(import.meta.resolve('@sparticuz/chromium'))), '..', 'bin');

/**
 * The folder with the unpacked browser. By default the package unpacks into the temporary folder of the system, where an
 * older version would be used instead of this one, and two test files at once could read a half-written binary. So it
 * unpacks into a folder inside the package that gets its final name only when it is complete.
 */
async function unpacked(): Promise<string> {
  const home = join(packed, '..', 'unpacked');
  if (existsSync(home)) return home;
  const partial = await mkdtemp(`${home}-`);
  await inflateInto(partial);
  await writeFile(join(partial, 'fonts.conf'), fontsConf(home));
  // If another process was faster, its folder is used.
  await rename(partial, home).catch(() => rm(partial, { recursive: true }));
  return home;
}

async function inflateInto(folder: string): Promise<void> {
  const { TMPDIR } = process.env;
  process.env['TMPDIR'] = folder;
  try {
    await Promise.all(['chromium.br', 'fonts.tar.br', 'al2023.tar.br'].map((name) => inflate(join(packed, name))));
  } finally {
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
  }
}

// Only the font of the package, so that every machine draws the same page.
function fontsConf(home: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${join(home, 'fonts')}</dir><cachedir>${join(home, 'cache')}</cachedir></fontconfig>
`;
}

/** Chromium's error when it aborts requests because a network interface of this machine has changed. */
export const networkChanged = /ERR_NETWORK_CHANGED/;

/** Opens a page, and retries once if the network changed, as when containers start during the tests. */
export async function open(page: Page, url: string): Promise<void> {
  await page.goto(url).catch(async (error: Error) => {
    if (!networkChanged.test(error.message)) throw error;
    await page.goto(url);
  });
}

/** The screens to test every page on: device, colour scheme and width in CSS pixels. */
const screens = [
  ['desktop', 'light', 1440],
  ['desktop', 'dark', 1440],
  ['phone', 'light', 390],
  ['phone', 'dark', 390],
] as const;

/** Shows an open page on each screen in turn: to load it for each takes most of the time of a check. */
export async function onEachScreen(
  page: Page,
  check: (screen: string, colorScheme: 'light' | 'dark', width: number) => Promise<void>,
): Promise<void> {
  for (const [device, colorScheme, width] of screens) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    await check(`${device}-${colorScheme}`, colorScheme, width);
  }
}

/** By how many CSS pixels the page is wider than the screen. Its charts follow the screen in their next frames. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
}

const axe = createRequire(import.meta.url).resolve('axe-core');

/**
 * The accessibility rules that a page breaks, each with the HTML of its elements. The page must be opened with `bypassCSP`.
 * `within`: a selector. Only the violations are read from the browser: the whole report takes longer than the check.
 */
export async function violationsOn(page: Page, within = 'html'): Promise<[rule: string, elements: string[]][]> {
  // The page keeps it until it is left.
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await page.addScriptTag({ path: axe });
  return page.evaluate(`axe.run(${JSON.stringify(within)}, { resultTypes: ['violations'] })
    .then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]))`);
}
