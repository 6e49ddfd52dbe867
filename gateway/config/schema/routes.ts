import { z } from 'zod';
import { adapter } from './adapter.ts';
import { hostName, pageUrl, probePath, targetUrl } from './network.ts';
import { expandedValue, scalar, section, WrongValue } from './scalar.ts';
import { drift, shadow } from './shadow.ts';
import { dateTime, instant, period, rate, share, size, timer, timerOrOff } from './units.ts';
import { filePath, flag, integer, oneOf, successorName, text } from './words.ts';

// Each key is declared once. In `defaults` the key has a default value; in a route it is optional and overrides `defaults`.

const connect = timerOrOff.describe('The longest time to establish a connection to a target.');
const firstByte = timerOrOff.describe('The longest time until the first byte of the response.');
const idle = timerOrOff.describe('The longest pause between two parts of a response body.');
const streamIdle = timerOrOff.describe('The longest pause in a text/event-stream or an upgraded connection.');
const writeIdle = timerOrOff.describe('The longest time that a client may leave its response unread.');
const keepAlive = timerOrOff.describe('The longest idle time of a pooled connection to a target.');

export const timeouts = section({
  connect: connect.prefault('3s'),
  first_byte: firstByte.prefault('30s'),
  idle: idle.prefault('60s'),
  stream_idle: streamIdle.prefault('off'),
  write_idle: writeIdle.prefault('60s'),
  keep_alive: keepAlive.prefault('4s'),
});
const routeTimeouts = section({
  connect: connect.optional(),
  first_byte: firstByte.optional(),
  idle: idle.optional(),
  stream_idle: streamIdle.optional(),
  write_idle: writeIdle.optional(),
  keep_alive: keepAlive.optional(),
});

const count = integer(1, 1_000_000);
const body = size.describe('The largest request body. A body of exactly this size is allowed.');
const inFlight = count.describe(
  'The maximum of concurrent requests of one version. The last quarter is for connections that have none.',
);
const inFlightPerTarget = count.describe(
  'The maximum of concurrent requests to one target. The last quarter is for connections that have none there. If several versions share the target, each has a part of its own.',
);
const queue = timerOrOff.describe('How long a request may wait in the queue when a limit is reached.');

export const limits = section({
  body: body.prefault('10MiB'),
  in_flight: inFlight.prefault(10_000),
  in_flight_per_target: inFlightPerTarget.prefault(2000),
  queue: queue.prefault('1s'),
});
const routeLimits = section({
  body: body.optional(),
  in_flight: inFlight.optional(),
  in_flight_per_target: inFlightPerTarget.optional(),
  queue: queue.optional(),
});

const attempts = integer(1, 10).describe('The maximum of attempts, including the first one; 1 means no retry.');
const budget = share.describe('The share of requests that may be retried.');
const budgetMin = rate.describe('Retries that are allowed in addition to the budget.');

export const retries = section({
  attempts: attempts.prefault(2),
  budget: budget.prefault('20%'),
  budget_min: budgetMin.prefault('3/s'),
});
const routeRetries = section({
  attempts: attempts.optional(),
  budget: budget.optional(),
  budget_min: budgetMin.optional(),
});

const countInARow = integer(1, 1000);
const path = probePath.describe('The path of health probes, or off.');
const interval = timer.describe('The time between two probes.');
const timeout = timer.describe('The longest time until the response to a probe.');
const healthyAfter = countInARow.describe('Successful probes in a row that make a target healthy.');
const unhealthyAfter = countInARow.describe('Failed probes in a row that make a target unhealthy.');
const passiveFailures = countInARow.describe(
  'Failed requests in a row that eject a target. Two are enough if no connection could be made.',
);
const eject = timer.describe('How long a target is ejected. Repeated ejections last longer.');
const onNoneHealthy = oneOf(['try', 'refuse']).describe(
  'What to do if no target is healthy: try one anyway, or answer 503.',
);

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
const routeHealth = section({
  path: path.optional(),
  interval: interval.optional(),
  timeout: timeout.optional(),
  healthy_after: healthyAfter.optional(),
  unhealthy_after: unhealthyAfter.optional(),
  passive_failures: passiveFailures.optional(),
  eject: eject.optional(),
  on_none_healthy: onNoneHealthy.optional(),
});

export const balance = oneOf(['round_robin', 'least_requests', 'random']).describe(
  'How a target is chosen for a request: round_robin, least_requests or random.',
);

const verify = flag.describe('Whether the certificate of a target must be valid.');
const optionalTlsKeys = {
  ca: filePath.optional().describe('A PEM file with the certificate authorities for targets.'),
  servername: hostName.optional().describe('The host name for SNI, which the certificate must contain.'),
};
export const tls = section({ ...optionalTlsKeys, verify: verify.prefault(true) });
const routeTls = section({ ...optionalTlsKeys, verify: verify.optional() });

export const defaults = section({
  timeouts: timeouts
    .prefault({})
    .describe('How long the gateway waits for a target, or for a client that does not read.'),
  limits: limits.prefault({}).describe('Limits of the request size and of concurrent requests.'),
  retries: retries.prefault({}).describe('When a request may be sent again.'),
  health: health.prefault({}).describe('How the health of targets is determined.'),
  balance: balance.prefault('round_robin'),
  tls: tls.prefault({}).describe('For targets with https:// URLs.'),
});

const oneTarget = targetUrl.transform((url) => ({ url, weight: 1 }));
const weightedTarget = section({
  url: targetUrl,
  weight: integer(1, 1000)
    .prefault(1)
    .describe('The share of the requests that this target gets, relative to the weights of the other targets.'),
});
const targetList = z.array(z.union([oneTarget, weightedTarget], { error: 'a URL, or { url, weight }' })).min(1);
const upstream = z.union([oneTarget.transform((target) => [target]), targetList], {
  error: 'a URL, or a list of URLs or { url, weight }',
});

const contractPath = filePath.transform((file) => ({ file, publish: true }));
const contractFile = section({
  file: filePath.describe('The path of the OpenAPI document, relative to routes.yaml.'),
  publish: flag.prefault(true).describe('Whether the contract is served under /contracts/.'),
});
const contract = z.union([contractPath, contractFile], { error: 'the path of a file, or { file, publish }' });

// Null: the route has no counterpart.
const template = z.union(
  [
    z.null(),
    scalar({
      accepts: ['string'],
      expected: 'a path template such as /cocktails/{id}, or null',
      json: { type: 'string', pattern: '^/' },
      parse: (input) => (input === '' ? new WrongValue('is empty') : input),
    }),
  ],
  { error: 'a path template such as /cocktails/{id}, or null' },
);

// Required keys are optional in this schema: a rule reports a missing key, with a remedy.
const routeEnd = section({
  deprecation: instant.optional().describe('The date from which the route is deprecated. Required.'),
  sunset: instant
    .optional()
    .describe('When the route ends. The time is only announced: the gateway also serves the route afterwards.'),
});

const brownoutWindow = section({
  at: dateTime.describe('When the window begins: a time with its zone, such as 2027-03-02T14:00Z.'),
  for: period.describe('How long the window lasts, from 15m to 24h.'),
  clients: share
    .prefault('100%')
    .describe(
      'The share of clients that are refused. A client is refused for the whole window or not at all. A larger share includes all clients of a smaller share.',
    ),
  routes: z
    .array(text('a route such as "GET /drinks/{id}"'))
    .min(1)
    .optional()
    .describe('The routes that are refused, such as "GET /drinks/{id}". By default, all.'),
});

/** The windows in which some requests of a version are refused. */
const brownouts = z
  .array(brownoutWindow)
  .prefault([])
  .describe(
    'Announced periods in which requests of some clients are refused on purpose, so that these clients notice the end of the version. Each period lies between the deprecation and the sunset of the version.',
  );

const maxWaivers = 100;
const waiver = section({
  client: text('the name of a client').describe(
    'A name in `usage.names`, or a name in the ledger such as x-api-key:#4f2a91c07be05d3a.',
  ),
  until: instant.describe('When the waiver ends. A date without a time means the start of that day, midnight UTC.'),
  reason: text('the reason').describe('Why this client is still served.'),
});

const freeze = section({
  from: instant
    .optional()
    .describe('A client is new if its first call to the version is at this time or later. Required.'),
  mode: oneOf(['report', 'refuse'])
    .prefault('report')
    .describe('report: new clients are served, and reported to the operator. refuse: new clients are answered 403.'),
  allow: z
    .array(text('the name of a client'))
    .prefault([])
    .describe('Clients that are never new: names in `usage.names`, or names in the ledger.'),
}).describe(
  'Keeps new clients out of a version that will end. The usage ledger shows which clients are new. A client that is identified only by its user agent or address is never new. See docs/restrictions.md.',
);

/** One route in its long form. */
export const route = section({
  upstream: upstream
    .optional()
    .describe(
      'The targets of this version: a URL, or a list of URLs or { url, weight }. Required unless the version is retired or served by an adapter.',
    ),
  prefix: oneOf(['strip', 'forward'])
    .prefault('strip')
    .describe(
      'strip: targets receive the path without /vN. forward: they receive it with /vN. With strip, a path such as /v1//host is answered 400, because //host would name a host.',
    ),
  deprecation: instant
    .optional()
    .describe('The date from which the version is deprecated. Responses announce it in headers.'),
  sunset: instant.optional().describe('When this version ends. Requires a `deprecation` at or before this time.'),
  after_sunset: oneOf(['serve', 'gone'])
    .prefault('serve')
    .describe(
      'What happens after the sunset. serve: requests are still served. gone: they are answered 410. If the key is not written, `check` warns of a version that is still served after its sunset.',
    ),
  successor: successorName
    .optional()
    .describe(
      'The version that clients should move to; a version of another API is written with its base, such as /orders/v2. By default, the next higher major that is not retired.',
    ),
  info: pageUrl.optional().describe('The URL of a page that describes the end of this version.'),
  moved: z
    .preprocess((input) => (input === null ? {} : input), z.record(z.string(), template))
    .optional()
    .describe(
      'Routes with another path in the successor. Maps the old template to the new template, or to null if there is no counterpart.',
    ),
  ends: z
    .preprocess((input) => (input === null ? {} : input), z.record(z.string(), routeEnd))
    .optional()
    .describe(
      'Single routes that the next major will not have, such as "GET /legacy-search". Their responses announce the end in headers. An entry takes precedence over `deprecated: true`, `x-deprecated-since` and `x-sunset` of that operation in the contract.',
    ),
  contract: contract.optional().describe('The OpenAPI document of this version.'),
  guide: flag
    .prefault(false)
    .describe(
      'Whether a guide for the migration to the successor is served at /guides/vN-to-vM. It is generated from both contracts.',
    ),
  retired: flag
    .prefault(false)
    .describe('Makes the version a tombstone: its requests are answered 410, and it needs no upstream.'),
  brownouts,
  freeze: freeze.optional(),
  waivers: z
    .array(waiver)
    .max(maxWaivers)
    .prefault([])
    .describe(
      `Clients that are still served after the version is retired, each until a date and with a reason; at most ${maxWaivers}. A retired version with waivers keeps its upstream. A waiver is a policy, not access control.`,
    ),
  grease: oneOf(['off', 'request'])
    .prefault('off')
    .describe(
      'request: responses to requests with `Prefer: grease` contain unknown members, so that clients can test that they ignore such members. Requires a contract. See docs/grease.md.',
    ),
  adapter: adapter.optional(),
  shadow: shadow.optional(),
  drift: drift.optional(),
  timeouts: routeTimeouts.optional().describe('Overrides `defaults`.'),
  limits: routeLimits.optional().describe('Overrides `defaults`.'),
  retries: routeRetries.optional().describe('Overrides `defaults`.'),
  health: routeHealth.optional().describe('Overrides `defaults`.'),
  balance: balance.optional(),
  tls: routeTls.optional().describe('Overrides `defaults`.'),
});

export type RouteValues = z.output<typeof route>;

const emptyRoute: RouteValues = route.parse({});
const shortRoute = oneTarget.transform((target): RouteValues => ({ ...emptyRoute, upstream: [target] }));

// Not `route` itself, which accepts `/v1:` without a value, as if it were an empty map.
const longRoute = z.preprocess(expandedValue, z.strictObject(route.out.shape));

/** The key of a route as written → the route. */
export const routes = z.preprocess(
  (input) => (input === null ? {} : input),
  z.record(z.string(), z.union([shortRoute, longRoute], { error: 'a URL, or a map with an upstream' })),
);
