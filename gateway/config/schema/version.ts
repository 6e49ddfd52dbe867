import { z } from 'zod';
import { instant } from './dates.ts';
import { pageUrl, targetUrl } from './network.ts';
import { scalar, Wrong } from './scalar.ts';
import { plain, section } from './section.ts';
import { balance, routeHealth, routeLimits, routeRetries, routeTimeouts, routeTls } from './upstream.ts';
import { filePath, flag, integer, oneOf } from './words.ts';

const oneTarget = targetUrl.transform((url) => ({ url, weight: 1 }));
const weightedTarget = section({
  url: targetUrl,
  weight: integer(1, 1000).prefault(1).describe('Its share of the requests, compared with the other targets.'),
});
const targetList = z.array(z.union([oneTarget, weightedTarget], { error: 'a URL, or { url, weight }' })).min(1);
const upstream = z.union([oneTarget.transform((target) => [target]), targetList], {
  error: 'a URL, or a list of URLs or { url, weight }',
});

const openFile = filePath.transform((file) => ({ file, publish: true }));
const contractFile = section({
  file: filePath.describe('The OpenAPI document, relative to this file.'),
  publish: flag.prefault(true).describe('False keeps it from being served under /contracts/.'),
});
const contract = z.union([openFile, contractFile], { error: 'the path of a file, or { file, publish }' });

// Null is a row of its own here: the route has no counterpart.
const template = z.union(
  [
    z.null(),
    scalar({
      accepts: ['string'],
      expected: 'a path template such as /cocktails/{id}, or null',
      json: { type: 'string', pattern: '^/' },
      parse: (input) => (input === '' ? new Wrong('is empty') : input),
    }),
  ],
  { error: 'a path template such as /cocktails/{id}, or null' },
);

const versionName = scalar({
  accepts: ['string'],
  expected: 'a version of this file, such as /v2',
  json: { type: 'string', pattern: '^/v(0|[1-9][0-9]*)$' },
  parse: (input) => (/^\/v(?:0|[1-9]\d*)$/.test(input) ? input : new Wrong('is not a version')),
});

/** One route, written out. */
export const route = section({
  upstream: upstream.optional().describe('The targets that serve this version; needed unless it is retired.'),
  prefix: oneOf(['strip', 'forward'])
    .prefault('strip')
    .describe(
      'Whether a target sees the path without its /vN, or with it. Stripped, a path such as /v1//host is answered 400, because //host names a host.',
    ),
  deprecation: instant.optional().describe('Since when, or from when, clients are told to move.'),
  sunset: instant.optional().describe('When this version ends; it needs a deprecation that is not later.'),
  after_sunset: oneOf(['serve', 'gone']).prefault('serve').describe('After its sunset: serve on, or answer 410.'),
  successor: versionName
    .optional()
    .describe('Where clients go; without it, the next higher major that is not retired.'),
  info: pageUrl.optional().describe('A page for people about the end of this version.'),
  moved: z
    .preprocess((input) => (input === null ? {} : input), z.record(z.string(), template))
    .optional()
    .describe('Routes that the successor renamed: old template to new one, or null where there is no counterpart.'),
  contract: contract.optional().describe('The OpenAPI document of this version.'),
  guide: flag
    .prefault(false)
    .describe('Serves a migration guide to the successor, made from both contracts, at /guides/vN-to-vM.'),
  retired: flag.prefault(false).describe('A tombstone: answered 410, no upstream needed.'),
  timeouts: routeTimeouts.optional().describe('In place of those of `defaults`.'),
  limits: routeLimits.optional().describe('In place of those of `defaults`.'),
  retries: routeRetries.optional().describe('In place of those of `defaults`.'),
  health: routeHealth.optional().describe('In place of those of `defaults`.'),
  balance: balance.optional(),
  tls: routeTls.optional().describe('In place of those of `defaults`.'),
});

export type Route = z.output<typeof route>;

const empty: Route = route.parse({});
const shortRoute = oneTarget.transform((target): Route => ({ ...empty, upstream: [target] }));

/** All routes, by their keys as written. */
export const routes = z.preprocess(
  (input) => (input === null ? {} : input),
  z.record(
    z.string(),
    z.union([shortRoute, z.preprocess(plain, z.strictObject(route.out.shape))], {
      error: 'a URL, or a map with an upstream',
    }),
  ),
);
