import { dateTime, instant, period } from '../../config/schema/units.ts';
import { type NamedRoute, parseRoute } from '../../usage/counting/routeNames.ts';
import { recentMs } from '../../usage/evidence/recentPeriod.ts';
import {
  defaultGrouping,
  type Grouping,
  groupings,
  sortableColumns,
  states,
  type UsagePage,
  whyRouteNotAllowed,
} from '../../usage/report/usagePage.ts';

/** The parameters of `GET /api/usage`, parsed. Plain data: it is sent to the thread that reads the ledger. */
export interface UsageQueryParams {
  readonly by: Grouping;
  /** The path segment, `v1`, not yet checked; undefined: every version. */
  readonly version: string | undefined;
  /** Only the requests to this route of `version`, not yet checked. */
  readonly route: NamedRoute | undefined;
  /** Epoch ms. */
  readonly since: number;
  readonly until: number;
  readonly step: 'hour' | 'day';
  /** The name of a gateway of the fleet, not yet checked; undefined: all of them. */
  readonly instance: string | undefined;
  /** Undefined: all rows. */
  readonly page: UsagePage | undefined;
}

/** An invalid query parameter. The message begins with its name. */
export class InvalidParameterError extends Error {
  override readonly name = 'InvalidParameterError';
}

const pageParameters = ['limit', 'offset', 'sort', 'filter', 'state'] as const;
const defaultUsagePeriodMs = 30 * 86_400_000;
const defaultDigestPeriodMs = 7 * 86_400_000;
const maxLimit = 100_000;

/** What a client has sent. */
type Query = Readonly<Record<string, unknown>>;

/** @throws InvalidParameterError */
export function parseUsageQuery(query: Query, now: number): UsageQueryParams {
  rejectUnknown(query, ['since', 'by', 'version', 'route', 'step', 'instance', ...pageParameters]);
  const version = textOf(query, 'version')?.replace(/^\//, '');
  const instance = textOf(query, 'instance');
  const route = routeIn(query);
  const by = oneOf(query, 'by', groupings) ?? defaultGrouping(version, instance);
  const step = oneOf(query, 'step', ['day', 'hour'] as const);
  const routeFault = route && whyRouteNotAllowed({ by, version, step, instance });
  if (routeFault !== undefined) throw new InvalidParameterError(`\`route\` ${routeFault}`);
  const page = pageOf(query, by);
  if (route !== undefined && page?.state !== undefined)
    throw new InvalidParameterError('`state` compares whole versions, and cannot be combined with `route`.');
  if (step !== undefined && by !== 'day') throw new InvalidParameterError('`step` requires by=day.');
  const since = Math.max(0, now - (durationOf(query, 'since') ?? defaultUsagePeriodMs));
  return { by, version, route, since, until: now, step: step ?? 'day', instance, page };
}

/** The parameters of `GET /api/versions/{version}/retirement`. `quiet` in ms; undefined: not given. @throws InvalidParameterError */
export function parseRetirementQuery(query: Query): { quiet: number | undefined; route: NamedRoute | undefined } {
  rejectUnknown(query, ['quiet', 'route']);
  return { quiet: durationOf(query, 'quiet'), route: routeIn(query) };
}

function routeIn(query: Query): NamedRoute | undefined {
  const text = textOf(query, 'route');
  if (text === undefined) return undefined;
  const route = parseRoute(text);
  if (route !== undefined) return route;
  throw new InvalidParameterError('`route` must be a method and a path below the version, such as GET /legacy-search.');
}

/** The period of `GET /api/digest`, epoch ms. @throws InvalidParameterError */
export function parseDigestQuery(query: Query, now: number): { since: number; now: number } {
  rejectUnknown(query, ['since']);
  const ms = durationOf(query, 'since') ?? defaultDigestPeriodMs;
  if (ms < 3_600_000) throw new InvalidParameterError('`since` must be 1h or more: the ledger counts by the hour.');
  return { since: Math.max(0, now - ms), now };
}

/**
 * The brownout of `GET /api/brownouts/{version}`: its number from 1, or its start in epoch ms. Undefined: not given.
 * @throws InvalidParameterError
 */
export function parseBrownoutQuery(query: Query): number | undefined {
  rejectUnknown(query, ['window']);
  const text = textOf(query, 'window');
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  const at = dateTime.safeParse(text).data;
  if (at !== undefined) return at;
  throw new InvalidParameterError('`window` must be the number of a brownout, or its start such as 2028-06-30T14:00Z.');
}

/**
 * The body of `POST /api/plan`, parsed: instants in epoch ms. `at`: when the edit would be applied. `routesYaml`: undefined for
 * the file of the gateway.
 */
export type PlanQueryParams = { readonly since: number; readonly at: number; readonly now: number } & (
  | { readonly retire: string }
  | { readonly routesYaml: string | undefined }
);

/** @throws InvalidParameterError */
export function parsePlanQuery(members: Query, now: number): PlanQueryParams {
  rejectUnknown(members, ['routes_yaml', 'retire', 'since', 'at']);
  const [routesYaml, retire] = [textOf(members, 'routes_yaml'), textOf(members, 'retire')?.replace(/^\//, '')];
  if (routesYaml !== undefined && retire !== undefined)
    throw new InvalidParameterError('`retire` cannot be combined with `routes_yaml`.');
  const at = textOf(members, 'at');
  const appliedAt = at === undefined ? now : instant.safeParse(at).data;
  if (appliedAt === undefined)
    throw new InvalidParameterError('`at` must be a date such as 2028-06-30, or a time with its zone.');
  const instants = {
    since: Math.max(0, now - (durationOf(members, 'since') ?? recentMs)),
    at: appliedAt,
    now,
  };
  return retire === undefined ? { ...instants, routesYaml } : { ...instants, retire };
}

/** A misspelt parameter would otherwise count as absent. */
function rejectUnknown(query: Query, allowedNames: readonly string[]): void {
  const unknown = Object.keys(query).find((name) => !allowedNames.includes(name));
  if (unknown === undefined) return;
  const parameterList = allowedNames.map((name) => `\`${name}\``).join(', ');
  throw new InvalidParameterError(
    `\`${unknown.slice(0, 40)}\` is not a parameter of this resource. Its parameters: ${parameterList}.`,
  );
}

function textOf(query: Query, name: string): string | undefined {
  const value = query[name];
  if (value === undefined || typeof value === 'string') return value;
  throw new InvalidParameterError(`\`${name}\` must be given once, as text.`);
}

function oneOf<Word extends string>(query: Query, name: string, words: readonly Word[]): Word | undefined {
  const text = textOf(query, name);
  const word = words.find((one) => one === text);
  if (text !== undefined && word === undefined)
    throw new InvalidParameterError(`\`${name}\` must be one of ${words.join(', ')}.`);
  return word;
}

/** ms */
function durationOf(query: Query, name: string): number | undefined {
  const text = textOf(query, name);
  if (text === undefined) return undefined;
  const { success, data } = period.safeParse(text);
  if (!success)
    throw new InvalidParameterError(`\`${name}\` must be a duration from 1ms to 36500d, such as 7d or 36h.`);
  return data;
}

function pageOf(query: Query, by: Grouping): UsagePage | undefined {
  const [firstGiven] = pageParameters.filter((name) => textOf(query, name) !== undefined);
  if (firstGiven === undefined) return undefined;
  const columns = sortableColumns[by];
  if (!columns) {
    const groupingsWithPages = Object.keys(sortableColumns).map((one) => `by=${one}`);
    throw new InvalidParameterError(`\`${firstGiven}\` requires ${groupingsWithPages.join(', ')}.`);
  }
  return {
    limit: integerOf(query, 'limit', 1, maxLimit),
    offset: integerOf(query, 'offset', 0, Number.POSITIVE_INFINITY),
    sort: sortOf(query, columns),
    filter: textOf(query, 'filter'),
    state: stateOf(query, by),
  };
}

function integerOf(query: Query, name: string, min: number, max: number): number | undefined {
  const text = textOf(query, name);
  if (text === undefined) return undefined;
  const number = Number(text);
  if (/^\d{1,9}$/.test(text) && number >= min && number <= max) return number;
  const range = max === Number.POSITIVE_INFINITY ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new InvalidParameterError(`\`${name}\` must be a whole number ${range}.`);
}

/** `requests`: ascending, `-requests`: descending. */
function sortOf(query: Query, columns: readonly string[]): UsagePage['sort'] {
  const text = textOf(query, 'sort');
  if (text === undefined) return undefined;
  const column = text.replace(/^-/, '');
  if (columns.includes(column)) return { column, descending: text.startsWith('-') };
  throw new InvalidParameterError(
    `\`sort\` must be one of ${columns.join(', ')}. A leading \`-\` sorts in descending order.`,
  );
}

function stateOf(query: Query, by: Grouping): UsagePage['state'] {
  if (by === 'route' && textOf(query, 'state') !== undefined)
    throw new InvalidParameterError('`state` requires by=client or by=migration.');
  return oneOf(query, 'state', states);
}
