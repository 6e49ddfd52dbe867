import type { Check } from './checks/check.ts';
import { defaultChanged } from './checks/defaultChanged.ts';
import { docsOnly } from './checks/docsOnly.ts';
import { errorStatusRemoved } from './checks/errorStatusRemoved.ts';
import { filterValueAdded } from './checks/filterValueAdded.ts';
import { filterValueRemoved } from './checks/filterValueRemoved.ts';
import { headerAdded } from './checks/headerAdded.ts';
import { majorWithoutBreakingChange } from './checks/majorWithoutBreakingChange.ts';
import { mediaTypeAdded } from './checks/mediaTypeAdded.ts';
import { mediaTypeRemoved } from './checks/mediaTypeRemoved.ts';
import { optionalParamAdded } from './checks/optionalParamAdded.ts';
import { paramRelaxed } from './checks/paramRelaxed.ts';
import { paramRemoved } from './checks/paramRemoved.ts';
import { paramRequired } from './checks/paramRequired.ts';
import { pathParamRenamed } from './checks/pathParamRenamed.ts';
import { requestConstraintTightened } from './checks/requestConstraintTightened.ts';
import { requestFieldRemoved } from './checks/requestFieldRemoved.ts';
import { requestFieldRequired } from './checks/requestFieldRequired.ts';
import { requestTypeChanged } from './checks/requestTypeChanged.ts';
import { responseAlternativeAdded } from './checks/responseAlternativeAdded.ts';
import { responseFieldAdded } from './checks/responseFieldAdded.ts';
import { responseFieldRemoved } from './checks/responseFieldRemoved.ts';
import { responseFieldWeakened } from './checks/responseFieldWeakened.ts';
import { responseHeaderRemoved } from './checks/responseHeaderRemoved.ts';
import { responseStrengthened } from './checks/responseStrengthened.ts';
import { responseTypeChanged } from './checks/responseTypeChanged.ts';
import { responseValueAdded } from './checks/responseValueAdded.ts';
import { routeAdded } from './checks/routeAdded.ts';
import { routeRemoved } from './checks/routeRemoved.ts';
import { securityChanged } from './checks/securityChanged.ts';
import { statusRemoved } from './checks/statusRemoved.ts';
import { structureChanged } from './checks/structureChanged.ts';
import { structureEquivalent } from './checks/structureEquivalent.ts';

export const levels = ['error', 'warn', 'info', 'off'] as const;
/** `error`: not within a major. `warn`: the rules do not say. `info`: compatible. */
export type Level = (typeof levels)[number];

export interface Rule<Id extends string = string> {
  readonly id: Id;
  /** Unless `compat.rules` says otherwise. */
  readonly level: Exclude<Level, 'off'>;
  /** `core`: the versioning rules say so word for word. `extended`: it follows from them. */
  readonly basis: 'core' | 'extended' | 'silent' | 'compatible';
  readonly direction: 'request' | 'response' | 'either';
  /** What holds within a major. */
  readonly policy: string;
  readonly check: Check;
}

const [core, extended] = [rowsOf('error', 'core'), rowsOf('error', 'extended')];
const [silent, compatible] = [rowsOf('warn', 'silent'), rowsOf('info', 'compatible')];

/** Every change is the business of exactly one of them. */
export const rules = [
  core('route-removed', 'either', routeRemoved, 'A route is not removed or renamed.'),
  core('response-field-removed', 'response', responseFieldRemoved, 'A field is not removed or renamed.'),
  core(
    'response-type-changed',
    'response',
    responseTypeChanged,
    'The type of a field does not change, nor widen. Of several types, one may go.',
  ),
  core(
    'request-type-changed',
    'request',
    requestTypeChanged,
    'The type of what is sent does not change, unless it only widens.',
  ),
  core('param-required', 'request', paramRequired, 'A parameter is not made required.'),
  core('request-field-required', 'request', requestFieldRequired, 'Nothing is made required, not even with a default.'),
  core('filter-value-removed', 'request', filterValueRemoved, 'An allowed value is not taken away.'),
  core('status-removed', 'response', statusRemoved, 'The meaning of a status is fixed.'),
  core(
    'major-without-breaking-change',
    'either',
    majorWithoutBreakingChange,
    'A new major is made only for a breaking change.',
  ),
  extended(
    'response-field-weakened',
    'response',
    responseFieldWeakened,
    'What is always there does not become missing or null.',
  ),
  extended('request-constraint-tightened', 'request', requestConstraintTightened, 'Requests are not limited further.'),
  extended('media-type-removed', 'either', mediaTypeRemoved, 'A media type stays.'),
  extended('response-header-removed', 'response', responseHeaderRemoved, 'A declared header stays, as a field does.'),
  extended('structure-changed', 'either', structureChanged, 'What is sent keeps its structure and its notation.'),
  silent('response-value-added', 'response', responseValueAdded, 'Silent: clients may not expect the value.'),
  silent('response-alternative-added', 'response', responseAlternativeAdded, 'Silent: clients may not expect it.'),
  silent('param-removed', 'request', paramRemoved, 'Silent: it may still be sent, to no effect.'),
  silent('request-field-removed', 'request', requestFieldRemoved, 'Silent: it may still be sent, to no effect.'),
  silent('default-changed', 'request', defaultChanged, 'Silent: who leaves it out gets something else.'),
  silent('security-changed', 'request', securityChanged, 'Silent: clients may have to prove who they are anew.'),
  silent('error-status-removed', 'response', errorStatusRemoved, 'Silent: the error may look different.'),
  compatible('route-added', 'either', routeAdded, 'A route may be added.'),
  compatible('response-field-added', 'response', responseFieldAdded, 'A field may be added to a response.'),
  compatible('optional-param-added', 'request', optionalParamAdded, 'An optional parameter or field may be added.'),
  compatible('filter-value-added', 'request', filterValueAdded, 'An allowed value may be added.'),
  compatible('param-relaxed', 'request', paramRelaxed, 'A request may become less demanding.'),
  compatible('response-strengthened', 'response', responseStrengthened, 'A response may promise more.'),
  compatible('media-type-added', 'either', mediaTypeAdded, 'A media type may be added.'),
  compatible('header-added', 'response', headerAdded, 'A header may be added, as a field may.'),
  compatible('docs-only', 'either', docsOnly, 'Descriptions may change.'),
  compatible('path-param-renamed', 'request', pathParamRenamed, 'The name of a path parameter is never sent.'),
  compatible('structure-equivalent', 'either', structureEquivalent, 'The same may be said in another way.'),
] as const;

export type RuleId = (typeof rules)[number]['id'];

function rowsOf(level: Rule['level'], basis: Rule['basis']) {
  return <Id extends string>(id: Id, direction: Rule['direction'], check: Check, policy: string): Rule<Id> => ({
    ...{ id, level, basis, direction, policy, check },
  });
}
