import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, inject } from 'vitest';
import { type Compose, composeWith } from './compose.ts';
import type { ComposeProject } from './setup.ts';

const provided = inject('composeProject');

/** True if there is no engine; for `describe.skipIf`. */
export const skipped = typeof provided === 'string';

export interface Stack {
  readonly project: ComposeProject;
  readonly compose: Compose;
  /** The URLs of the gateway and of its admin listener on this machine. */
  readonly url: string;
  readonly admin: string;
  readonly token: string;
  readonly routes: string;
  /** The time until both versions answer, in ms: since `compose up`, and since the start of the gateway's container. */
  readonly times: { up: number; started: number };
}

/** Starts all containers for the tests of a file, with the shipped routes.yaml. */
export function useStack(): Stack {
  const project: ComposeProject =
    typeof provided === 'string' ? { folder: '', env: {}, hasOwnEngine: false } : provided;
  const stack: Stack = {
    project,
    compose: composeWith(project),
    url: `http://127.0.0.1:${project.env['GATEWAY_PORT']}`,
    admin: `http://127.0.0.1:${project.env['ADMIN_PORT']}`,
    token: skipped ? '' : (/=(\S+)/.exec(readFileSync(join(project.folder, '.env'), 'utf8'))?.[1] ?? ''),
    routes: join(project.folder, 'config', 'routes.yaml'),
    times: { up: 0, started: 0 },
  };
  if (skipped) return stack;
  beforeAll(async () => {
    copyFileSync('config/routes.yaml', stack.routes);
    const startedAt = Date.now();
    await stack.compose.up();
    await waitForOk(`${stack.url}/v1/drinks/7`);
    await waitForOk(`${stack.url}/v2/cocktails/7`);
    const now = Date.now();
    Object.assign(stack.times, { up: now - startedAt, started: now - (await stack.compose.startedAt('gateway')) });
  });
  afterAll(async () => {
    await stack.compose.down();
  });
  return stack;
}

/**
 * In ms. What takes seconds on an idle machine takes at most this long on a busy one. The tests print the measured times.
 */
export const generousMs = 300_000;

/** Repeats the request until its status is 200. Returns the elapsed time in ms. */
export async function waitForOk(url: string): Promise<number> {
  return waitUntil(async () => (await fetch(url)).status === 200, `${url} to answer`);
}

/** Repeats `condition` until it is true and does not throw. Returns the elapsed time in ms. */
export async function waitUntil(condition: () => Promise<boolean>, what: string): Promise<number> {
  const startedAt = Date.now();
  for (;;) {
    if (await condition().catch(() => false)) return Date.now() - startedAt;
    if (Date.now() - startedAt > generousMs) throw new Error(`waited ${generousMs} ms for ${what}`);
    await new Promise((done) => setTimeout(done, 25));
  }
}
