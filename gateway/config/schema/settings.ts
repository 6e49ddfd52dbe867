import { z } from 'zod';
import type { LogSettings } from '../snapshot.ts';
import { basePath, hostPort, network, publicOrigin } from './network.ts';
import { optionalUnlessEmpty, scalar, section, Wrong } from './scalar.ts';
import { instant, period, periodOrOff, share, size, timerOrOff } from './units.ts';
import { filePath, flag, identifier, integer, oneOf, text, token, workers } from './words.ts';

const timeouts = section({
  head: timerOrOff.prefault('10s').describe('The longest time until the head of a request is complete.'),
  body_idle: timerOrOff.prefault('30s').describe('The longest pause of a client within a request body.'),
  keep_alive: timerOrOff.prefault('65s').describe('The longest time that a connection of a client stays idle.'),
});

const limits = section({
  head: size.prefault('16KiB').describe('The largest head of a request, the request line included.'),
  url: size.prefault('8KiB').describe('The longest request target.'),
});

const tls = section({
  cert: filePath.describe('A PEM file: the certificate and its chain.'),
  key: filePath.describe('A PEM file: the private key.'),
  hsts: flag.prefault(false).describe('Whether Strict-Transport-Security is sent.'),
});

/** The gateway itself. */
export const gateway = section({
  listen: hostPort.prefault('127.0.0.1:8080').describe('The address for clients.'),
  admin: hostPort.prefault('127.0.0.1:9901').describe('The address for operators.'),
  admin_token: optionalUnlessEmpty(token).describe(
    'The token for the admin listener, also for calls from this machine. Required if `admin` is not loopback. An unquoted variable that is empty counts as no token.',
  ),
  admin_loopback: oneOf(['token', 'open'])
    .prefault('token')
    .describe(
      'Whether calls from this machine need the `admin_token`, if there is one. With open, a proxy on this machine may give access to everyone.',
    ),
  base_path: basePath.prefault('/').describe('The path that the API is below: {base_path}/v1/…'),
  public_url: publicOrigin
    .optional()
    .describe(
      'The origin that clients use. It is written into the index, the catalog, guides and problem bodies; without it their links are relative.',
    ),
  trusted_proxies: z
    .array(network)
    .transform((entries) => entries.flat())
    .prefault([])
    .describe('Networks whose X-Forwarded-* fields are used: CIDRs, loopback, private.'),
  workers: workers.prefault(1).describe('The number of processes, or auto for one per core.'),
  worker_timeout: timerOrOff.prefault('30s').describe('A worker that does not respond for this long is replaced.'),
  drain: timerOrOff.prefault('30s').describe('How long a stopping gateway waits for requests in flight.'),
  timeouts: timeouts.prefault({}).describe('Time-outs of client connections.'),
  limits: limits.prefault({}).describe('Limits of requests before a route is chosen.'),
  tls: tls.optional().describe('TLS for clients.'),
});

const words = ['off', 'stdout', 'stderr'] as const;

// The name of a file must contain a dot or a slash, so that a misspelt word is not taken for one.
const destination = scalar({
  accepts: ['string'],
  expected: 'off, stdout, stderr, or a file such as ./access.log',
  json: { type: 'string', pattern: '^(off|stdout|stderr|[^\\u0000]*[./][^\\u0000]*)$' },
  parse: (input): LogSettings['access'] | Wrong => {
    const word = words.find((one) => one === input);
    if (word !== undefined) return word;
    return /^[^\0]*[./][^\0]*$/.test(input)
      ? { file: input }
      : new Wrong('is not one of the allowed words, and no file');
  },
});

/** The access log. */
export const log = section({
  access: destination
    .prefault('stdout')
    .describe('Where the log is written, one line for each exchange: off, stdout, stderr or a file.'),
  format: oneOf(['auto', 'json', 'pretty'])
    .prefault('auto')
    .describe('JSON, or lines for people; auto: lines for people on a terminal, else JSON.'),
  sample: share
    .prefault('100%')
    .describe('The share of exchanges that are logged. Errors and refused requests are always logged.'),
  address: oneOf(['full', 'network', 'none'])
    .prefault('network')
    .describe('How much of the client’s address is logged: all of it, its network (/24 or /48), or nothing.'),
  query: flag.prefault(false).describe('Whether the query is logged.'),
  redact: z
    .array(text('the name of a query parameter'))
    .prefault([])
    .describe(
      'More query and path parameters whose values are left out, in addition to token, key, secret, password, session, signature and similar names.',
    ),
});

const orEmpty = (input: unknown): unknown => (input === null ? {} : input);

/** Limits for a reload that changes or removes a version in use. */
export const guard = section({
  quiet: periodOrOff.prefault('24h').describe('A version may be retired or removed if it had no calls for this long.'),
  notice: periodOrOff
    .prefault('30d')
    .describe('The shortest time between the announcement of a sunset and the sunset.'),
  force: z
    .preprocess(orEmpty, z.record(z.string(), text('the reason')))
    .prefault({})
    .describe('Exceptions from the guard: versions, each with the reason.'),
});

/** The usage ledger. */
export const usage = section({
  identify: z
    .array(identifier)
    .prefault(['header:x-client-id', 'header:x-api-key', 'user-agent'])
    .describe('Where a request names its client; the first one that the request has is used.'),
  store: filePath.prefault('.version-gateway/usage.db').describe('The file of the ledger, relative to this file.'),
  retention: period.prefault('400d').describe('How long calls are kept.'),
  max_clients: integer(1, 10_000_000)
    .prefault(50_000)
    .describe('How many clients are counted separately; the rest are counted together.'),
  max_routes: integer(1, 1_000_000)
    .prefault(500)
    .describe('How many routes are counted separately; the rest are counted together.'),
  names: filePath
    .optional()
    .describe('A YAML or JSON file with names for clients: a map from their identifiers in the ledger.'),
});

/** When a version counts as unused. */
export const retire = section({
  quiet: period.prefault('7d').describe('The time without calls after which a version may be retired.'),
  max_share: share.prefault('0.1%').describe('The share of all calls below which a version may be retired.'),
  rhythm: oneOf(['on', 'off'])
    .prefault('on')
    .describe(
      'Whether a client whose usual pause is longer than `quiet` counts as active until its next call is overdue.',
    ),
  ignore_clients: z
    .array(text('the name of a client'))
    .prefault([])
    .describe('Clients whose calls do not count, such as monitors.'),
});

/** The ids of the rules of the contract check, for `compat.rules`. The rules themselves are in gateway/compat. */
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
  parse: (input) => compatRuleIds.find((id) => id === input) ?? new Wrong('is not a rule'),
});

const exemption = section({
  rule: ruleId.describe('The id of the rule.'),
  route: text('a route such as GET /cocktails').describe(
    'The route in the form of the report, such as GET /cocktails.',
  ),
  pointer: text('a JSON pointer')
    .optional()
    .describe('The place within the contract, in the form of the report; without it, the whole route.'),
  reason: text('the reason').describe('Why the finding is accepted.'),
  until: instant.describe('The day until which the finding is accepted.'),
});

const level = oneOf(['error', 'warn', 'info', 'off'])
  .optional()
  .describe('error, warn, info or off; docs/compat.md has the default.');
const levels = section(Object.fromEntries(compatRuleIds.map((id) => [id, level])));

/** Levels and exemptions of the contract check. */
export const compat = section({
  rules: levels.prefault({}).describe('Rules with another level than the built-in one: error, warn, info or off.'),
  exempt: z.array(exemption).prefault([]).describe('Findings that are accepted, each with a reason and an end.'),
});
