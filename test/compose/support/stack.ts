import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, inject } from 'vitest';
import { type Compose, composeWith } from './compose.ts';
import type { Site } from './setup.ts';

const given = inject('site');

/** Set where there is no engine: for `describe.skipIf`. */
export const skipped = typeof given === 'string';

export interface Stack {
  readonly site: Site;
  readonly compose: Compose;
  /** The gateway, and its admin listener, as this machine reaches them. */
  readonly url: string;
  readonly admin: string;
  readonly token: string;
  readonly routes: string;
  /** Milliseconds until both versions have answered, from the beginning of `up`; then from the start of the gateway. */
  readonly times: { up: number; started: number };
}

/** The whole stack, up for the tests of a file, with the routes.yaml as it is shipped. */
export function useStack(): Stack {
  const site: Site = typeof given === 'string' ? { folder: '', env: {} } : given;
  const stack: Stack = {
    site,
    compose: composeWith(site),
    url: `http://127.0.0.1:${site.env['GATEWAY_PORT']}`,
    admin: `http://127.0.0.1:${site.env['ADMIN_PORT']}`,
    token: skipped ? '' : (/=(\S+)/.exec(readFileSync(join(site.folder, '.env'), 'utf8'))?.[1] ?? ''),
    routes: join(site.folder, 'config', 'routes.yaml'),
    times: { up: 0, started: 0 },
  };
  if (skipped) return stack;
  beforeAll(async () => {
    copyFileSync('config/routes.yaml', stack.routes);
    const begun = Date.now();
    await stack.compose.up();
    await answered(`${stack.url}/v1/drinks/7`);
    await answered(`${stack.url}/v2/cocktails/7`);
    const now = Date.now();
    Object.assign(stack.times, { up: now - begun, started: now - (await stack.compose.startedAt('gateway')) });
  });
  afterAll(async () => {
    await stack.compose.down();
  });
  return stack;
}

/** Asks until the answer is 200; how long that took, in ms. */
export async function answered(url: string, withinMs = 30_000): Promise<number> {
  return until(async () => (await fetch(url)).status === 200, `${url} to answer`, withinMs);
}

/** Waits for something that another process brings about; how long it took, in ms. */
export async function until(holds: () => Promise<boolean>, what: string, withinMs: number): Promise<number> {
  const begun = Date.now();
  for (;;) {
    if (await holds().catch(() => false)) return Date.now() - begun;
    if (Date.now() - begun > withinMs) throw new Error(`waited ${withinMs} ms in vain for ${what}`);
    await new Promise((done) => setTimeout(done, 25));
  }
}
