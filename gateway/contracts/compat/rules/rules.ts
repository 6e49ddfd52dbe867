import type { Direction, Route } from '../../../contract/routes.ts';
import type { Change, Effects, Kind, PathStep, Severity } from '../diff/change.ts';
import {
  defaultInWords,
  limitInWords,
  quoted,
  routeInWords,
  securityInWords,
  structureInWords,
  subjectOf,
  typesInWords,
  whatChanged,
} from './words.ts';

export const ruleLevels = ['error', 'warn', 'info', 'off'] as const;
/** `error`: not allowed within a major. `warn`: the versioning rules of docs/compat.md do not cover it. `info`: compatible. */
export type RuleLevel = (typeof ruleLevels)[number];

/** For example `response field removed`. A key without a direction is for requests and responses. */
type ChangeKey = { [K in Kind]: `${K} ${Effects[K]}` | `${Direction} ${K} ${Effects[K]}` }[Kind];

/** The end of a sentence whose subject is the place of the change: "response 200 field `price`" + "was removed". */
type Predicate = string | ((change: Change) => string);

export interface Rule<Id extends string = string> {
  readonly id: Id;
  /** The default; `compat.rules` of routes.yaml and `--rule` override it. */
  readonly level: Severity;
  /**
   * `core`: the versioning rules forbid the change. `extended`: the versioning rules imply that the change is forbidden.
   * `silent`: they do not cover the change. `compatible`: they allow the change.
   */
  readonly basis: 'core' | 'extended' | 'silent' | 'compatible';
  readonly direction: 'request' | 'response' | 'either';
  /** The policy within a major, in a sentence. */
  readonly policy: string;
  /** The changes that the rule applies to, and the words for each. Each change belongs to exactly one rule. */
  readonly changes: Readonly<Partial<Record<ChangeKey, Predicate>>>;
}

const [core, extended] = [ruleFactory('error', 'core'), ruleFactory('error', 'extended')];
const [silent, compatible] = [ruleFactory('warn', 'silent'), ruleFactory('info', 'compatible')];

export const rules = [
  core('route-removed', 'either', 'A route is not removed or renamed.', {
    'route removed': 'was removed',
    'base_path changed': (change) => `has another base path (${whatChanged(change)})`,
  }),
  core('response-field-removed', 'response', 'A field is not removed or renamed.', {
    'response field removed': 'was removed',
  }),
  core(
    'response-type-changed',
    'response',
    'The type of a field does not change or widen. One of several types may be removed.',
    { 'response type wider': typesInWords, 'response type changed': typesInWords },
  ),
  core('request-type-changed', 'request', 'The type of a parameter or request field may only widen.', {
    'request type narrower': typesInWords,
    'request type changed': typesInWords,
  }),
  core('param-required', 'request', 'A parameter does not become required, and no required parameter is added.', {
    'parameter added_required': 'is new and required',
    'parameter required': 'is now required',
  }),
  core(
    'request-field-required',
    'request',
    'No request field becomes required or is added as required, even with a default.',
    {
      'request field added_required': 'is new and required',
      'request presence required': 'is now required',
      'body added_required': 'is new and required',
      'body required': 'is now required',
    },
  ),
  core('filter-value-removed', 'request', 'An allowed value of a parameter or request field is not removed.', {
    'request value removed': (change) => `no longer accepts ${whatChanged(change)}`,
  }),
  core('status-removed', 'response', 'A status below 400 is not removed.', {
    'status removed': 'is no longer declared',
  }),
  // No change has this rule: `judge.ts` applies it to two majors as a whole.
  core('major-without-breaking-change', 'either', 'A new major is created only for a breaking change.', {}),
  extended('response-field-weakened', 'response', 'A value that is always present does not become optional or null.', {
    'response presence optional': 'may now be missing',
    'response null added': 'may now be null',
    'header optional': 'may now be missing',
  }),
  extended('request-constraint-tightened', 'request', 'Requests are not restricted further.', {
    'request limit narrower': limitInWords,
    'request limit changed': limitInWords,
    'request field refused': 'is no longer accepted',
    'request null removed': 'may no longer be null',
    'request values listed': (change) => `now accepts only ${whatChanged(change)}`,
  }),
  extended('media-type-removed', 'either', 'A media type is not removed.', {
    'media_type removed': 'was removed',
  }),
  extended('response-header-removed', 'response', 'A declared response header is not removed.', {
    'header removed': 'was removed',
  }),
  extended('structure-changed', 'either', 'Data keeps its structure and its serialization.', {
    'structure changed': (change) => structureInWords(whatChangedInStructure(change)),
    'serialization changed': (change) => `is serialized differently (${whatChanged(change)})`,
    'request alternative removed': (change) => `no longer accepts the alternative ${quoted(whatChanged(change))}`,
  }),
  silent('response-value-added', 'response', 'Some clients cannot handle a new value.', {
    'response value added': (change) => `may now be ${whatChanged(change)}`,
    'response values unlisted': (change) => `may now be any value, and was one of ${whatChanged(change)}`,
    'response limit wider': limitInWords,
    'response limit changed': limitInWords,
  }),
  silent('response-alternative-added', 'response', 'Some clients cannot handle a new alternative or status.', {
    'response alternative added': (change) => `may now be the alternative ${quoted(whatChanged(change))}`,
    'status added': 'is new',
    'error_status added': 'is new',
  }),
  silent('param-removed', 'request', 'Clients may still send a removed parameter, without effect.', {
    'parameter removed': 'was removed',
  }),
  silent('request-field-removed', 'request', 'Clients may still send a removed field, without effect.', {
    'request field removed': 'was removed',
    'body removed': 'was removed',
  }),
  silent('default-changed', 'request', 'Clients that omit the value get another result.', {
    'default changed': defaultInWords,
  }),
  silent('security-changed', 'request', 'Clients may need other credentials.', {
    'security changed': securityInWords,
  }),
  silent('error-status-removed', 'response', 'Clients may rely on the declared error.', {
    'error_status removed': 'is no longer declared',
  }),
  compatible('route-added', 'either', 'A route may be added.', {
    'route added': 'is new',
  }),
  compatible('response-field-added', 'response', 'A field may be added to a response.', {
    'response field added': 'is new',
    'response field added_required': 'is new',
  }),
  compatible('optional-param-added', 'request', 'An optional parameter or field may be added.', {
    'parameter added': 'is new and optional',
    'request field added': 'is new and optional',
    'body added': 'is new and optional',
  }),
  compatible('filter-value-added', 'request', 'An allowed value may be added.', {
    'request value added': (change) => `now also accepts ${whatChanged(change)}`,
  }),
  compatible('param-relaxed', 'request', 'Requests may be restricted less.', {
    'parameter optional': 'is no longer required',
    'request presence optional': 'is no longer required',
    'body optional': 'is no longer required',
    'request type wider': typesInWords,
    'request null added': 'may now be null',
    'request values unlisted': (change) => `is no longer limited to ${whatChanged(change)}`,
    'request limit wider': limitInWords,
    'request alternative added': (change) => `now also accepts the alternative ${quoted(whatChanged(change))}`,
  }),
  compatible('response-strengthened', 'response', 'A response may guarantee more.', {
    'response presence required': 'is now always present',
    'header required': 'is now always present',
    'response type narrower': typesInWords,
    'response null removed': 'is no longer null',
    'response value removed': (change) => `is no longer ${whatChanged(change)}`,
    'response values listed': (change) => `is now one of ${whatChanged(change)}`,
    'response limit narrower': limitInWords,
    'response alternative removed': (change) => `is no longer the alternative ${quoted(whatChanged(change))}`,
  }),
  compatible('media-type-added', 'either', 'A media type may be added.', {
    'media_type added': 'is new',
  }),
  compatible('header-added', 'response', 'A response header may be added.', {
    'header added': 'is new',
  }),
  compatible('docs-only', 'either', 'Descriptions may change.', {
    'docs changed': (change) => `is described differently: ${whatChanged(change)}`,
  }),
  compatible('path-param-renamed', 'request', 'A path parameter may be renamed: its name is never sent.', {
    'path_name changed': (change) => `has other names for its path parameters: ${whatChanged(change)}`,
  }),
  compatible('structure-equivalent', 'either', 'A schema may be written differently, with the same meaning.', {
    'structure equivalent': (change) => `${structureInWords(whatChangedInStructure(change))}, with the same meaning`,
  }),
] as const;

export type RuleId = (typeof rules)[number]['id'];

/** A function that makes rules with the given default level and basis. */
function ruleFactory(level: Rule['level'], basis: Rule['basis']) {
  return <Id extends string>(
    id: Id,
    direction: Rule['direction'],
    policy: string,
    changes: Rule['changes'],
  ): Rule<Id> => ({ id, level, basis, direction, policy, changes });
}

/** A rule, and its words for one of its changes. */
interface Row {
  readonly rule: Rule<RuleId>;
  readonly predicate: Predicate;
}

const allRules: readonly Rule<RuleId>[] = rules;
// `response field removed` → its row. A key that a rule states without a direction is also stored with each direction.
const rowByChange: ReadonlyMap<string, Row> = new Map(
  allRules.flatMap((rule) =>
    Object.entries(rule.changes).flatMap(([key, predicate]) => {
      const keys = /^(?:request|response) /.test(key) ? [key] : [key, `request ${key}`, `response ${key}`];
      return keys.map((directedKey) => [directedKey, { rule, predicate }] as const);
    }),
  ),
);

function rowFor({ kind, effect, direction }: Change): Row {
  const key = direction === undefined ? `${kind} ${effect}` : `${direction} ${kind} ${effect}`;
  const row = rowByChange.get(key);
  if (row === undefined) throw new TypeError(`no rule covers ${key}`);
  return row;
}

/** The rule that covers a change. */
export function ruleFor(change: Change): Rule<RuleId> {
  return rowFor(change).rule;
}

/** The default level of a change. */
export function defaultLevelOf(change: Change): Rule['level'] {
  return rowFor(change).rule.level;
}

/** "was removed": the end of a sentence whose subject is the place of the change. */
export function predicateOf(change: Change): string {
  const { predicate } = rowFor(change);
  return typeof predicate === 'string' ? predicate : predicate(change);
}

/** Where a change takes effect. */
export interface Occurrence {
  /** Undefined: outside all routes. */
  readonly route: Route | undefined;
  /** From the route to the change. */
  readonly steps: readonly PathStep[];
}

/** "GET /drinks: response 200 field `price` was a string and is now a number". */
export function sentenceOf(change: Change, { route, steps }: Occurrence): string {
  const subject = subjectOf(steps, change);
  const predicate = predicateOf(change);
  if (route === undefined) return `${subject || 'the document'} ${predicate}`;
  return subject === '' ? `${routeInWords(route)} ${predicate}` : `${routeInWords(route)}: ${subject} ${predicate}`;
}

/** The breaking change within a structure, or what else changed if no breaking change is known. */
function whatChangedInStructure(change: Change): string {
  const { detail } = change;
  if (detail?.is !== 'cause') return whatChanged(change);
  return `${subjectOf(detail.steps, detail.change)} ${predicateOf(detail.change)}`.trim();
}

export function basisOf(id: RuleId): Rule['basis'] {
  return allRules.find((rule) => rule.id === id)?.basis ?? 'silent';
}
