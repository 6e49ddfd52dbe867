import type { Path } from '../../../config/fault.ts';
import { valueAt } from '../../../config/source.ts';
import { keysTo } from '../../../contract/document/located.ts';
import { regExpOf } from '../../../contract/schema/patterns.ts';
import type { Change, PathStep } from '../../compat/diff/change.ts';
import type { Finding } from '../../compat/judge/findings.ts';
import { predicateOf, type RuleId } from '../../compat/rules/rules.ts';
import { subjectOf } from '../../compat/rules/words.ts';

/** A finding about an adapted route, in words for the author of the adapter. */
export interface JudgedFinding {
  readonly message: string;
  readonly remedy: string;
  readonly isWarning: boolean;
  /** Where the operations are: a path in `request` or `response` of the adapter's route. */
  readonly place: readonly string[];
}

/** Takes the faults and warnings of a check. `place`: in routes.yaml. */
export interface AdapterReport {
  add(place: Path, message: string, remedy: string, isWarning?: boolean): void;
}

// Within a major, the rules only warn about these changes. In an adapter they are faults: clients of the adapted version would get
// other results, or invalid ones.
const faultsInAdapters: ReadonlySet<RuleId> = new Set([
  'response-alternative-added',
  'param-removed',
  'request-field-removed',
  'default-changed',
]);

/** Response headers that the gateway rewrites for the clients of the adapted version. */
const translatedHeaders: ReadonlySet<string> = new Set(['location', 'link', 'content-location', 'set-cookie', 'etag']);

/** Headers of conditional and range requests. HTTP defines them, so a contract need not describe them. */
const conditionalHeaders: ReadonlySet<string> = new Set([
  'if-none-match',
  'if-match',
  'if-modified-since',
  'if-unmodified-since',
  'if-range',
  'range',
]);

/**
 * Judges a difference. For a response, the contract of the adapted version is compared with the adapted responses. For a request,
 * the adapted requests are compared with the contract of the other version. `own`, `other`: the adapted version and the other one,
 * as `/v1` and `/v2`. Undefined: the difference does not matter.
 */
export function judgeDifference(
  { collectedChange, level, rule }: Finding,
  direction: 'request' | 'response',
  { own, other }: { readonly own: string; readonly other: string },
): JudgedFinding | undefined {
  if (!collectedChange || level === 'info') return undefined;
  const { change, occurrences } = collectedChange;
  const { steps } = occurrences[0];
  // `value`: the values of an `enum` have changed. `values`: an `enum` was added or removed. The receiver may not know a value
  // that it gets.
  const isFault =
    level === 'error' || faultsInAdapters.has(rule) || change.kind === 'value' || change.kind === 'values';
  const hasInvalidPattern = direction === 'response' && isInvalidPattern(change);
  if (!hasInvalidPattern && isIrrelevant(change, steps)) return undefined;
  if (direction === 'request' && isUnusedDefault(change)) return undefined;
  const words = `${subjectOf(steps, change)} ${predicateOf(change)}`.trim();
  const message =
    direction === 'response'
      ? `Compared with the contract of ${own}, an adapted response differs: ${words}.`
      : `The contract of ${other} does not fit the adapted requests of ${own}: ${words}.`;
  if (isClosedToAnonymous(change)) {
    const remedy = `Declare the security in the contract of ${own} if its clients send credentials, or mark the route as gone, with the reason.`;
    return { message, remedy, isWarning: false, place: placeOf(change, steps) };
  }
  // Statuses from 400 on are irrelevant.
  const isOtherThanSuccess = change.kind === 'status' && /^[13]/.test(change.name);
  return {
    message,
    remedy: hasInvalidPattern
      ? `The pattern is not a regular expression of JavaScript, so no value can be checked with it: correct it in the contract of ${own}.`
      : remedyFor(change, steps, direction, { own, other }),
    isWarning: !hasInvalidPattern && (!isFault || isOtherThanSuccess),
    place: placeOf(change, steps),
  };
}

function isInvalidPattern({ kind, name, old }: Change): boolean {
  return kind === 'limit' && name === 'pattern' && old !== undefined && regExpOf(String(old.value)) === undefined;
}

/**
 * Whether a difference does not matter here. A contract need not declare every error that the other one declares. A limit that
 * is neither wider nor narrower, such as another pattern, is checked with generated values instead (`verify.ts`).
 */
function isIrrelevant(change: Change, steps: readonly PathStep[]): boolean {
  const headerName = change.kind === 'header' ? change.name : steps.find((step) => step.kind === 'header')?.name;
  if (change.kind === 'parameter' && change.effect === 'removed' && isConditionalHeader(change)) return true;
  if (change.kind === 'limit' && headerName !== undefined && translatedHeaders.has(headerName.toLowerCase()))
    return true;
  return change.kind === 'error_status' || (change.kind === 'limit' && change.effect === 'changed');
}

/** Whether requests always have the field, so that the default of the receiver is not used. */
function isUnusedDefault({ kind, old }: Change): boolean {
  if (kind !== 'default' || !old) return false;
  // `old` is the keyword `default` or the schema of the field.
  const { parent, key } = old.place.key === 'default' && old.place.parent ? old.place.parent : old.place;
  if (parent?.key !== 'properties' || !parent.parent) return false;
  const object = valueAt(old.place.file.root, keysTo(parent.parent));
  const required = typeof object === 'object' && object !== null && 'required' in object ? object.required : undefined;
  return Array.isArray(required) && required.includes(key);
}

/** Whether requests without credentials are no longer accepted. An operation cannot add credentials. */
function isClosedToAnonymous({ kind, old, new: now }: Change): boolean {
  // An empty alternative, `{}`, requires no credentials.
  const allowsAnonymous = (value: unknown): boolean =>
    !Array.isArray(value) || value.length === 0 || value.some((schemes) => Object.keys(Object(schemes)).length === 0);
  return kind === 'security' && allowsAnonymous(old?.value) && !allowsAnonymous(now?.value);
}

function isConditionalHeader({ name, detail }: Change): boolean {
  return detail?.is === 'parameter' && detail.in === 'header' && conditionalHeaders.has(name.toLowerCase());
}

function placeOf(change: Change, steps: readonly PathStep[]): readonly string[] {
  if (change.kind === 'status') return [change.name];
  if (change.kind === 'parameter' && change.detail?.is === 'parameter') return [change.detail.in];
  for (const step of steps) {
    if (step.kind === 'response') return [step.status];
    if (step.kind === 'parameter') return [step.in];
    if (step.kind === 'request_body') return ['body'];
  }
  return change.kind === 'body' ? ['body'] : [];
}

function remedyFor(
  change: Change,
  steps: readonly PathStep[],
  direction: 'request' | 'response',
  { own, other }: { readonly own: string; readonly other: string },
): string {
  const orMarkGone = 'or mark the route as gone, with the reason';
  const isHeaderParameter = change.detail?.is === 'parameter' && /^(?:header|cookie)$/.test(change.detail.in);
  const concernsHeader =
    isHeaderParameter ||
    change.kind === 'header' ||
    steps.some((step) => step.kind === 'header' || (step.kind === 'parameter' && /^(?:header|cookie)$/.test(step.in)));
  if (concernsHeader) return `Headers are not adapted: change the contract of ${other}, ${orMarkGone}.`;
  const field = change.name || 'the field';
  switch (change.kind) {
    case 'field':
      if (direction === 'response')
        return `Use rename or move if ${other} has it under another name. Otherwise use default or const, ${orMarkGone}.`;
      return change.effect === 'removed' || change.effect === 'refused'
        ? `Use rename if ${other} has it under another name, or drop if it has no effect.`
        : 'Use rename or move if requests have it under another name. Otherwise use default or const.';
    case 'presence':
      return `Use default to add it, ${orMarkGone}.`;
    case 'type':
      return `Use convert, wrap or head, ${orMarkGone}.`;
    case 'null':
      return `Use map with the key null, as in { ${lastFieldName(steps)}: { "null": … } }, ${orMarkGone}.`;
    case 'value':
    case 'values':
      return `Use map to replace such values with a value that ${direction === 'response' ? own : other} accepts, ${orMarkGone}.`;
    case 'parameter':
      return change.effect === 'removed'
        ? `Use rename if ${other} has ${field} under another name, or drop if it has no effect.`
        : 'Use const or default in request.query, or rename a parameter to it.';
    case 'default':
      return `Write default: { ${lastFieldName(steps)}: … } in the request, so that the default of ${own} is sent.`;
    case 'security':
      return `Make sure that ${other} accepts the credentials of clients of ${own}.`;
    case 'status':
      return 'An adapter does not change statuses: mark the route as gone, with the reason.';
    default:
      return `Correct the operations, ${orMarkGone}.`;
  }
}

function lastFieldName(steps: readonly PathStep[]): string {
  const last = steps.findLast((step) => step.kind === 'field' || step.kind === 'parameter');
  return last?.name ?? 'field';
}
