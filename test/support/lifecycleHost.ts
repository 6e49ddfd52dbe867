import { type IncomingMessage, get as request } from 'node:http';
import { text } from 'node:stream/consumers';
import express, { type Express } from 'express';
import { onTestFinished } from 'vitest';
import { type VersionLifecycle, type VersionLifecycleOptions, versionLifecycle } from '../../gateway/express.ts';
import { type Host, host } from './embeddedServer.ts';

// No upstream anywhere: the application answers.
export const routes = {
  '/v1': { deprecation: '2026-06-30', sunset: '2029-06-30', moved: { '/drinks/{id}': '/cocktails/{id}' } },
  '/v2': {},
  '/v0': { retired: true },
};
export const announced = {
  deprecation: '@1782777600',
  sunset: 'Sat, 30 Jun 2029 00:00:00 GMT',
  link: '</v2/cocktails/7>; rel="successor-version"',
};

export function lifecycleOf(config: string | object = { routes }, options?: VersionLifecycleOptions): VersionLifecycle {
  const lifecycle = versionLifecycle(config, options);
  onTestFinished(() => lifecycle.close());
  return lifecycle;
}

export async function expressHost(fill: (app: Express) => void, lifecycle = lifecycleOf()): Promise<Host> {
  const app = express();
  app.use(lifecycle);
  fill(app);
  return host(app);
}

/** Sends a GET. `lines` returns the values of a field, one for each line of the response. */
export async function rawAnswer(url: string, headers: Record<string, string> = {}) {
  const response = await new Promise<IncomingMessage>((resolve) => request(url, { headers }, resolve));
  const lines = (name: string): string[] =>
    response.rawHeaders.filter((_, at) => at % 2 === 1 && response.rawHeaders[at - 1]?.toLowerCase() === name);
  return { status: response.statusCode, lines, body: await text(response) };
}
