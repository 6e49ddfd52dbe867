import { z } from 'zod';
import { hostName, pageUrl, probePath, targetUrl } from './network.ts';
import { plain, scalar, section, Wrong } from './scalar.ts';
import { instant, rate, share, size, timer, timerOrOff } from './units.ts';
import { filePath, flag, integer, oneOf } from './words.ts';

// Each key once; `defaults` gives it a default value, and a route leaves it out to take that of `defaults`.

const connect = timerOrOff.describe('How long a connection to a target may take.');
const firstByte = timerOrOff.describe('How long a target may take to begin its response.');
const idle = timerOrOff.describe('How long a target may fall silent within a response body.');
const streamIdle = timerOrOff.describe('The same for text/event-stream and upgraded connections.');
const writeIdle = timerOrOff.describe('How long a client may stop reading.');
const keepAlive = timerOrOff.describe(
  'How long a pooled connection to a target may idle; a shorter Keep-Alive of the target wins.',
);

export const timeouts = section({
  connect: connect.prefault('3s'),
  first_byte: firstByte.prefault('30s'),
  idle: idle.prefault('60s'),
  stream_idle: streamIdle.prefault('off'),
  write_idle: writeIdle.prefault('60s'),
  keep_alive: keepAlive.prefault('4s'),
});
export const routeTimeouts = section({
  connect: connect.optional(),
  first_byte: firstByte.optional(),
  idle: idle.optional(),
  stream_idle: streamIdle.optional(),
  write_idle: writeIdle.optional(),
  keep_alive: keepAlive.optional(),
});

const count = integer(1, 1_000_000);
const body = size.describe('The longest request body; one of exactly this size is allowed.');
const inFlight = count.describe('Requests of one version at the same time.');
const inFlightPerTarget = count.describe('Requests on one target at the same time.');
const queue = timerOrOff.describe('How long a request may wait for its turn at these limits.');

export const limits = section({
  body: body.prefault('10MiB'),
  in_flight: inFlight.prefault(10_000),
  in_flight_per_target: inFlightPerTarget.prefault(2000),
  queue: queue.prefault('1s'),
});
export const routeLimits = section({
  body: body.optional(),
  in_flight: inFlight.optional(),
  in_flight_per_target: inFlightPerTarget.optional(),
  queue: queue.optional(),
});

const attempts = integer(1, 10).describe('Attempts in all, the first one included; 1 means no retry.');
const budget = share.describe('The share of requests that may be retried.');
const budgetMin = rate.describe('Retries that are always granted.');

export const retries = section({
  attempts: attempts.prefault(2),
  budget: budget.prefault('20%'),
  budget_min: budgetMin.prefault('3/s'),
});
export const routeRetries = section({
  attempts: attempts.optional(),
  budget: budget.optional(),
  budget_min: budgetMin.optional(),
});

const few = integer(1, 1000);
const path = probePath.describe('The path that probes ask each target for, or off.');
const interval = timer.describe('The time between two probes.');
const timeout = timer.describe('How long a probe may take.');
const healthyAfter = few.describe('Good probes in a row that bring a target back.');
const unhealthyAfter = few.describe('Bad probes in a row that take a target out.');
const passiveFailures = few.describe('Failed requests in a row that take a target out.');
const eject = timer.describe('For how long failed requests take a target out.');
const onNoneHealthy = oneOf(['try', 'refuse']).describe('With no healthy target: try one all the same, or answer 503.');

export const health = section({
  path: path.prefault('off'),
  interval: interval.prefault('5s'),
  timeout: timeout.prefault('2s'),
  healthy_after: healthyAfter.prefault(2),
  unhealthy_after: unhealthyAfter.prefault(3),
  passive_failures: passiveFailures.prefault(3),
  eject: eject.prefault('10s'),
  on_none_healthy: onNoneHealthy.prefault('try'),
});
export const routeHealth = section({
  path: path.optional(),
  interval: interval.optional(),
  timeout: timeout.optional(),
  healthy_after: healthyAfter.optional(),
  unhealthy_after: unhealthyAfter.optional(),
  passive_failures: passiveFailures.optional(),
  eject: eject.optional(),
  on_none_healthy: onNoneHealthy.optional(),
});

export const balance = oneOf(['round_robin', 'least_requests', 'random']).describe('How a target is chosen.');

const verify = flag.describe('Whether the certificate of a target has to be valid.');
const tlsNames = {
  ca: filePath.optional().describe('A PEM file of the authorities that targets are trusted by.'),
  servername: hostName.optional().describe('The name to ask for, and to look for in the certificate.'),
};
export const tls = section({ ...tlsNames, verify: verify.prefault(true) });
export const routeTls = section({ ...tlsNames, verify: verify.optional() });

export const defaults = section({
  timeouts: timeouts.prefault({}).describe('How long to wait for a target, or for a client that has stopped reading.'),
  limits: limits.prefault({}).describe('How much is let through at once.'),
  retries: retries.prefault({}).describe('When a request may be sent a second time.'),
  health: health.prefault({}).describe('How it is found out which targets can answer.'),
  balance: balance.prefault('round_robin'),
  tls: tls.prefault({}).describe('For targets with https:// URLs.'),
});

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

export type DraftRoute = z.output<typeof route>;

const empty: DraftRoute = route.parse({});
const shortRoute = oneTarget.transform((target): DraftRoute => ({ ...empty, upstream: [target] }));

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
