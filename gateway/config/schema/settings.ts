import { z } from 'zod';
import type { LogSettings } from '../snapshot.ts';
import { basePath, hostPort, network, publicOrigin } from './network.ts';
import { scalar, section, unlessEmpty, Wrong } from './scalar.ts';
import { instant, period, periodOrOff, share, size, timerOrOff } from './units.ts';
import { filePath, flag, identifier, integer, oneOf, text, token, workers } from './words.ts';

const timeouts = section({
  head: timerOrOff.prefault('10s').describe('How long the head of a request may take to arrive.'),
  body_idle: timerOrOff.prefault('30s').describe('How long a client may fall silent within a request body.'),
  keep_alive: timerOrOff.prefault('65s').describe('How long a connection of a client may idle.'),
});

const limits = section({
  head: size.prefault('16KiB').describe('The longest head of a request, its first line included.'),
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
  admin_token: unlessEmpty(token).describe(
    'What operators have to present, from this machine, too; needed where `admin` is not loopback. A variable without quotes that is empty counts as none.',
  ),
  admin_loopback: oneOf(['token', 'open'])
    .prefault('token')
    .describe(
      'Whether calls from this machine need the `admin_token`, where there is one. With open, a proxy on this machine may let in everybody.',
    ),
  base_path: basePath.prefault('/').describe('Where the API lives below a path: {base_path}/v1/…'),
  public_url: publicOrigin
    .optional()
    .describe(
      'The origin that clients use, in the index, the catalog, guides and problem bodies; without it their links are relative.',
    ),
  trusted_proxies: z
    .array(network)
    .transform((entries) => entries.flat())
    .prefault([])
    .describe('Networks whose X-Forwarded-* fields are believed: CIDRs, loopback, private.'),
  workers: workers.prefault(1).describe('Processes, or auto for one to each core.'),
  worker_timeout: timerOrOff
    .prefault('30s')
    .describe('How long a worker may give no sign of life before it is replaced.'),
  drain: timerOrOff.prefault('30s').describe('How long a stopping gateway waits for the requests in flight.'),
  timeouts: timeouts.prefault({}).describe('Towards clients.'),
  limits: limits.prefault({}).describe('Of requests, before any route is known.'),
  tls: tls.optional().describe('Serve clients over TLS.'),
});

const words = ['off', 'stdout', 'stderr'] as const;

// A file has a dot or a slash in its name, so that a word that is misspelt does not become one.
const destination = scalar({
  accepts: ['string'],
  expected: 'off, stdout, stderr, or a file such as ./access.log',
  json: { type: 'string', pattern: '^(off|stdout|stderr|[^\\u0000]*[./][^\\u0000]*)$' },
  parse: (input): LogSettings['access'] | Wrong => {
    const word = words.find((one) => one === input);
    if (word !== undefined) return word;
    return /^[^\0]*[./][^\0]*$/.test(input) ? { file: input } : new Wrong('is not known here');
  },
});

/** What is written down of every exchange. */
export const log = section({
  access: destination
    .prefault('stdout')
    .describe('Where a line goes for each exchange: off, stdout, stderr or a file.'),
  format: oneOf(['auto', 'json', 'pretty'])
    .prefault('auto')
    .describe('JSON, or lines for people; auto: for people on a terminal.'),
  sample: share.prefault('100%').describe('The share of exchanges that get a line; errors and refusals always do.'),
  address: oneOf(['full', 'network', 'none'])
    .prefault('network')
    .describe('How much of the client’s address a line holds: all of it, its network (/24 or /48), or nothing.'),
  query: flag.prefault(false).describe('Whether a line holds the query, too.'),
  redact: z
    .array(text('the name of a query parameter'))
    .prefault([])
    .describe(
      'More query and path parameters whose values are left out, besides token, key, secret, password, session, signature and their like.',
    ),
});

const orEmpty = (input: unknown): unknown => (input === null ? {} : input);

/** What a reload must not do to a version that is in use. */
export const guard = section({
  quiet: periodOrOff.prefault('24h').describe('A version may go once nobody has called it for this long.'),
  notice: periodOrOff.prefault('30d').describe('The least time between the announcement of a sunset and the sunset.'),
  force: z
    .preprocess(orEmpty, z.record(z.string(), text('the reason')))
    .prefault({})
    .describe('Versions that the guard lets go all the same, each with the reason.'),
});

/** Who still calls what. */
export const usage = section({
  identify: z
    .array(identifier)
    .prefault(['header:x-client-id', 'header:x-api-key', 'user-agent'])
    .describe('Where to look for the name of a client; the first that is there counts.'),
  store: filePath.prefault('.version-gateway/usage.db').describe('The ledger, relative to this file.'),
  retention: period.prefault('400d').describe('How long calls are remembered.'),
  max_clients: integer(1, 10_000_000).prefault(50_000).describe('Clients told apart; the rest are counted together.'),
  max_routes: integer(1, 1_000_000).prefault(500).describe('Routes told apart; the rest are counted together.'),
  names: filePath
    .optional()
    .describe('A YAML or JSON file of names for clients, as a map from what the ledger calls them.'),
});

/** When a version counts as no longer used. */
export const retire = section({
  quiet: period.prefault('7d').describe('The time without calls after which a version may be retired.'),
  max_share: share.prefault('0.1%').describe('The share of all calls below which a version may be retired.'),
  rhythm: oneOf(['on', 'off'])
    .prefault('on')
    .describe('Whether a client that usually pauses for longer than quiet keeps a version until it is overdue.'),
  ignore_clients: z
    .array(text('the name of a client'))
    .prefault([])
    .describe('Clients whose calls do not count, such as monitors.'),
});

/** What `compat.rules` may name: the ids of the rules of the contract check, which has the rules themselves. */
export const compatRuleIds = [
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

export type CompatRuleId = (typeof compatRuleIds)[number];

const ruleId = scalar({
  accepts: ['string'],
  expected: 'the id of a rule: version-gateway compat --rules lists them',
  json: { enum: compatRuleIds },
  parse: (input) => compatRuleIds.find((id) => id === input) ?? new Wrong('is no rule'),
});

const exemption = section({
  rule: ruleId.describe('The id of the rule.'),
  route: text('a route such as GET /cocktails').describe('The route as the report names it, such as GET /cocktails.'),
  pointer: text('a JSON pointer')
    .optional()
    .describe('The place within the contract, as the report names it; without it, the whole route.'),
  reason: text('the reason').describe('Why it is let through.'),
  until: instant.describe('The day on which it has to be looked at again.'),
});

const level = oneOf(['error', 'warn', 'info', 'off'])
  .optional()
  .describe('error, warn, info or off; docs/compat.md has the default.');
const levels = section(Object.fromEntries(compatRuleIds.map((id) => [id, level])));

/** What counts as a breaking change. */
export const compat = section({
  rules: levels.prefault({}).describe('Rule ids whose level differs from the built-in one: error, warn, info or off.'),
  exempt: z.array(exemption).prefault([]).describe('Findings that are let through, each with its reason and an end.'),
});
