import { z } from 'zod';
import type { LogSettings } from '../snapshot.ts';
import { basePath, collectorUrl, hostPort, network, publicOrigin } from './network.ts';
import { optionalOrEmpty, scalar, section, WrongValue } from './scalar.ts';
import { instant, period, periodOrOff, share, size, timerOrOff, trialPeriod } from './units.ts';
import { filePath, flag, identifier, integer, oneOf, tagKey, text, token, workers } from './words.ts';

const timeouts = section({
  head: timerOrOff.prefault('10s').describe('The longest time until the head of a request is complete.'),
  body_idle: timerOrOff.prefault('30s').describe('The longest pause between two parts of a request body.'),
  keep_alive: timerOrOff
    .prefault('65s')
    .describe(
      'The longest time that a connection of a client stays idle. off: an idle HTTP/2 connection stays open, and an idle HTTP/1.1 connection is closed after the longest timeouts.write_idle of all versions.',
    ),
});

const limits = section({
  head: size.prefault('16KiB').describe('The largest head of a request, including the request line.'),
  url: size.prefault('8KiB').describe('The longest request target.'),
});

const tls = section({
  cert: filePath.describe('A PEM file: the certificate and its chain.'),
  key: filePath.describe('A PEM file: the private key.'),
  hsts: flag.prefault(false).describe('Whether responses carry Strict-Transport-Security.'),
});

/** The gateway itself. */
export const gateway = section({
  listen: hostPort.prefault('127.0.0.1:8080').describe('The address for clients.'),
  admin: hostPort.prefault('127.0.0.1:9901').describe('The address for operators.'),
  admin_token: optionalOrEmpty(token).describe(
    'The token for the admin listener. Calls from this machine need it too, unless `admin_loopback` is open. Required if `admin` is not a loopback address.',
  ),
  admin_loopback: oneOf(['token', 'open'])
    .prefault('token')
    .describe(
      'token: calls from this machine need the `admin_token`, if one is set. open: they do not need it, and a proxy on this machine may give access to everyone.',
    ),
  base_path: basePath.prefault('/').describe('The path below which the API is served: {base_path}/v1/…'),
  public_url: publicOrigin
    .optional()
    .describe(
      'The origin that clients use. Links in the index, the calendar, the feed, the catalog, guides and problem bodies begin with it. Without it, the links are relative.',
    ),
  trusted_proxies: z
    .array(network)
    .transform((entries) => entries.flat())
    .prefault([])
    .describe('The networks of proxies whose X-Forwarded-* fields are used: CIDRs, loopback or private.'),
  workers: workers.prefault(1).describe('The number of processes, or auto for one per core.'),
  worker_timeout: timerOrOff.prefault('30s').describe('A worker that does not respond for this long is replaced.'),
  drain: timerOrOff
    .prefault('30s')
    .describe(
      'How long requests in flight may take to finish when the gateway stops, or when their version or target is removed. off: they are cut off at once.',
    ),
  self_service: oneOf(['on', 'off'])
    .prefault('off')
    .describe(
      'on: {base_path}/versions/me shows a client its own calls to versions and routes that end. The client needs a key that a backend has accepted.',
    ),
  fast_lane: oneOf(['auto', 'off'])
    .prefault('auto')
    .describe(
      'auto: plain requests are read by a small parser of the gateway, all others by the parser of Node.js. off: all are read by the parser of Node.js.',
    ),
  http2: oneOf(['auto', 'off'])
    .prefault('auto')
    .describe('auto: clients with TLS can use HTTP/2, which ALPN selects. off: HTTP/1.1 only.'),
  h2c: oneOf(['on', 'off'])
    .prefault('off')
    .describe(
      'on: clients without TLS can use HTTP/2 with prior knowledge. The first bytes of a connection select the protocol. Use it if a proxy in front of the gateway speaks HTTP/2 without TLS, and list the proxy in `trusted_proxies`. It has no effect with `tls`.',
    ),
  timeouts: timeouts.prefault({}).describe('Timeouts of client connections.'),
  limits: limits.prefault({}).describe('Limits that apply before the version of a request is known.'),
  tls: tls.optional().describe('TLS for clients.'),
});

const destinationWords = ['off', 'stdout', 'stderr'] as const;

// The name of a file must contain a dot or a slash, so that a misspelt word is not used as a file name.
const destination = scalar({
  accepts: ['string'],
  expected: 'off, stdout, stderr, or a file such as ./access.log',
  json: { type: 'string', pattern: '^(off|stdout|stderr|[^\\u0000]*[./][^\\u0000]*)$' },
  parse: (input): LogSettings['access'] | WrongValue => {
    const word = destinationWords.find((one) => one === input);
    if (word !== undefined) return word;
    return /^[^\0]*[./][^\0]*$/.test(input) ? { file: input } : new WrongValue('is neither an allowed word nor a file');
  },
});

/** The access log. */
export const log = section({
  access: destination
    .prefault('stdout')
    .describe('Where the log is written, one line for each exchange: off, stdout, stderr or a file.'),
  format: oneOf(['auto', 'json', 'pretty'])
    .prefault('auto')
    .describe('json: JSON lines. pretty: plain text. auto: plain text on a terminal, otherwise JSON lines.'),
  sample: share
    .prefault('100%')
    .describe('The share of exchanges that are logged. Errors and refused requests are always logged.'),
  address: oneOf(['full', 'network', 'none'])
    .prefault('network')
    .describe('How much of the client’s address is logged. full: all of it. network: its /24 or /48. none: nothing.'),
  query: flag.prefault(false).describe('Whether the query is logged.'),
  redact: z
    .array(text('the name of a query parameter'))
    .prefault([])
    .describe(
      'Additional query and path parameters whose values are not logged. Values of token, key, secret, password, session, signature and similar names are never logged.',
    ),
});

/** Export over OTLP. */
export const telemetry = section({
  otlp: optionalOrEmpty(collectorUrl).describe(
    'The URL of a collector for OTLP over HTTP, such as http://collector:4318; /v1/traces and /v1/metrics are appended. Without it, nothing is exported.',
  ),
  sample: share
    .optional()
    .describe(
      'The share of new traces that are recorded. A trace that the client began is recorded if the client marked it as sampled. By default 1%, unless OTEL_TRACES_SAMPLER is set.',
    ),
  metrics: flag.prefault(false).describe('Whether the histogram http.server.request.duration is also exported.'),
});

const nullToMap = (input: unknown): unknown => (input === null ? {} : input);

/** Limits for a reload that changes or removes a version in use. */
export const guard = section({
  quiet: periodOrOff
    .prefault('24h')
    .describe('A version may be retired or removed if it was not called for this time.'),
  notice: periodOrOff
    .prefault('30d')
    .describe('The shortest time from the announcement of a sunset to the sunset itself.'),
  trial: trialPeriod
    .prefault('10s')
    .describe(
      'How long a new target may take until it can be reached and answers the routes that clients use. connect: only the connection and the health path are tried, for 10s. off: nothing is tried.',
    ),
  force: z
    .preprocess(nullToMap, z.record(z.string(), text('the reason')))
    .prefault({})
    .describe('Versions that the guard does not protect in the next reload, each with the reason.'),
});

/** The usage ledger. */
export const usage = section({
  identify: z
    .array(identifier)
    .prefault(['header:x-client-id', 'header:x-api-key', 'user-agent'])
    .describe('What identifies a client. The first of these that a request contains is used.'),
  store: filePath.prefault('.version-gateway/usage.db').describe('The file of the ledger, relative to routes.yaml.'),
  retention: period.prefault('400d').describe('How long usage counts are kept.'),
  max_clients: integer(1, 10_000_000)
    .prefault(50_000)
    .describe('How many clients of a version are counted separately. All others are counted together.'),
  max_routes: integer(1, 1_000_000)
    .prefault(500)
    .describe('How many routes of a version are counted separately. All others are counted together.'),
  names: filePath.optional().describe('A YAML or JSON file that maps identifiers of clients in the ledger to names.'),
  tag_key: optionalOrEmpty(tagKey).describe(
    'A secret of at least 16 characters. Tags of clients are hashed with it, so they stay the same with a new ledger and are equal in a fleet. Without it, the salt is random and kept in the ledger.',
  ),
});

/** When a version counts as unused. */
export const retire = section({
  quiet: period
    .prefault('7d')
    .describe('The period whose calls the verdict counts. A version without calls in this time may be retired.'),
  max_share: share
    .prefault('0.1%')
    .describe(
      'A version that clients still call may be retired if its share of all calls within `quiet` is at most this.',
    ),
  rhythm: oneOf(['on', 'off'])
    .prefault('on')
    .describe(
      'on: if a client usually pauses for about `quiet` or longer between calls, the verdict waits for its next call, for at most twice its usual pause.',
    ),
  ignore_clients: z
    .array(text('the name of a client'))
    .prefault([])
    .describe('Clients whose calls do not count, such as monitors.'),
});

/** 404 is not allowed, because some proxies turn it into an empty 200. 429 would tell clients to send the request again. */
const refusalStatus = scalar({
  accepts: ['number'],
  expected: '503 or 410',
  json: { enum: [503, 410] },
  parse: (input): 503 | 410 | WrongValue =>
    input === 503 || input === 410 ? input : new WrongValue('is not 503 or 410'),
});

/**
 * The settings of all brownouts. A brownout must be announced and small, and most of the clients that it refuses must have a
 * name, so that the operator can inform them.
 */
export const brownout = section({
  notice: periodOrOff
    .prefault('14d')
    .describe('The shortest time from the announcement of a brownout to its start. The reload guard enforces it.'),
  status: refusalStatus
    .prefault(503)
    .describe('The status of refused requests: 503, or 410. Caches and clients may treat 410 as final.'),
  spare: z
    .array(text('the name of a client'))
    .prefault([])
    .describe(
      'Clients that brownouts never refuse: names in `usage.names`, or names in the ledger. Clients in `retire.ignore_clients` are never refused either.',
    ),
  unnamed: share
    .prefault('5%')
    .describe(
      'A brownout is skipped if clients without a name in `usage.names` made a larger share of the requests to the version in the last week.',
    ),
  max_share: share
    .prefault('20%')
    .describe(
      'A brownout is skipped if it would refuse a larger share of the requests to all versions, estimated from the requests of the last week.',
    ),
});

/** The rule ids of the contract check, for `compat.rules`. gateway/contracts/compat/rules defines the rules. */
const compatRuleIds = [
  'route-removed',
  'response-field-removed',
  'response-type-changed',
  'request-type-changed',
  'param-required',
  'request-field-required',
  'filter-value-removed',
  'status-removed',
  'major-without-breaking-change',
  'response-field-weakened',
  'request-constraint-tightened',
  'media-type-removed',
  'response-header-removed',
  'structure-changed',
  'response-value-added',
  'response-alternative-added',
  'param-removed',
  'request-field-removed',
  'default-changed',
  'security-changed',
  'error-status-removed',
  'route-added',
  'response-field-added',
  'optional-param-added',
  'filter-value-added',
  'param-relaxed',
  'response-strengthened',
  'media-type-added',
  'header-added',
  'docs-only',
  'path-param-renamed',
  'structure-equivalent',
] as const;

const ruleId = scalar({
  accepts: ['string'],
  expected: 'the id of a rule: version-gateway compat --rules lists them',
  json: { enum: compatRuleIds },
  parse: (input) => compatRuleIds.find((id) => id === input) ?? new WrongValue('is not a rule'),
});

const exemption = section({
  rule: ruleId.describe('The id of the rule.'),
  route: text('a route such as GET /cocktails').describe('The route as the report prints it, such as GET /cocktails.'),
  pointer: text('a JSON pointer')
    .optional()
    .describe(
      'The place within the contract, as the report prints it. Without it, the exemption covers the whole route.',
    ),
  reason: text('the reason').describe('Why the finding is accepted.'),
  until: instant.describe('When the exemption ends. A date without a time means the start of that day, midnight UTC.'),
});

const level = oneOf(['error', 'warn', 'info', 'off'])
  .optional()
  .describe('error, warn, info or off; docs/compat.md has the default.');
const levels = section(Object.fromEntries(compatRuleIds.map((id) => [id, level])));

/** Levels and exemptions of the contract check. */
export const compat = section({
  rules: levels.prefault({}).describe('Levels that replace the default levels of rules: error, warn, info or off.'),
  exempt: z.array(exemption).prefault([]).describe('Findings that are accepted until a date, each with a reason.'),
});
