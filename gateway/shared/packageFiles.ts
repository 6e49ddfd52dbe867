import { readFileSync } from 'node:fs';

// The build joins most modules into the files of dist/chunks/. Only this module looks for other files of the package. Its
// paths are right in both places: `..` leads from gateway/shared/ to gateway/, and from dist/chunks/ to dist/.

/** The entry points of threads: paths below gateway/ and dist/, without the extension. */
export const threads = [
  'contracts/adapters/serving/worker',
  'operate/admin/reading/worker',
  'operate/discovery/guideThread',
  'operate/fleet/worker',
  'operate/notify/worker',
  'operate/otlp/thread',
  'contracts/shadow/sampling/worker',
  'process/runtime/loadWorker',
  'usage/ledger/worker',
] as const;

/** TypeScript in the sources, JavaScript in the built package, like this file. */
const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

export function threadFile(thread: (typeof threads)[number]): URL {
  return new URL(`../${thread}${extension}`, import.meta.url);
}

/** A file of the dashboard. */
export function assetFile(name: string): URL {
  return new URL(`../operate/admin/dashboard/assets/${name}`, import.meta.url);
}

/** The OpenAPI document of the admin API. */
export function adminApiFile(): URL {
  return new URL('../operate/admin/adminApi.json', import.meta.url);
}

/** The version of this package. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
