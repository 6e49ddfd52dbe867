import { z } from 'zod';
import { compatRuleIds } from '../compatRules.ts';
import { instant } from './dates.ts';
import { scalar, Wrong } from './scalar.ts';
import { section } from './section.ts';
import { period, periodOrOff, share } from './units.ts';
import { filePath, identifier, integer, oneOf, text } from './words.ts';

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
