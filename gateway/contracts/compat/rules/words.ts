import { isList, type Located } from '../../../contract/document/located.ts';
import type { RouteName } from '../../../contract/routes.ts';
import { isMap } from '../../../shared/json.ts';
import { firstOf, shortened } from '../../../shared/text.ts';
import type { AlternativeOutline, Change, PartStep, PathStep, Serialization } from '../diff/change.ts';

// In characters.
const longestValue = 80;
const maxTypes = 5;
const maxValues = 5;

/** `GET /drinks`, or `POST to the webhook order`. */
export function routeInWords({ kind, method, path }: RouteName): string {
  return kind === 'route' ? `${method} ${path}` : `${method} to the ${kind} ${path}`;
}

/** "response 200 field `drinks[].price`"; empty for a route as a whole. Without `change`, only the steps are described. */
export function subjectOf(steps: readonly PathStep[], change?: Change): string {
  const words: string[] = [];
  let field = '';
  const flush = (): void => {
    if (field !== '') words.push(field === '[]' ? 'item' : `field \`${field}\``);
    field = '';
  };
  const add = (step: PathStep): void => {
    if (isPart(step)) {
      flush();
      words.push(stepInWords(step));
    } else {
      field += step.kind === 'field' && field !== '' ? `.${step.name}` : stepInWords(step);
    }
  };
  for (const step of steps) add(step);
  const lastStep = change && missingLastStep(change);
  if (typeof lastStep === 'object') add(lastStep);
  flush();
  return typeof lastStep === 'string' ? [...words, lastStep].join(' ') : words.join(' ');
}

/** Whether a step leads to a part of an operation or a schema, and not to a field or an item. */
export function isPart(step: PathStep): step is PartStep {
  return step.kind !== 'field' && step.kind !== 'items';
}

/** "response 200", "query parameter `limit`"; the key of a field or item: `price`, `[]`, `[0]`. */
export function stepInWords(step: PathStep): string {
  switch (step.kind) {
    case 'field':
      return step.name;
    case 'items':
      return `[${step.index ?? ''}]`;
    case 'request_body':
      return 'request body';
    case 'response':
      return `response ${step.status}`;
    case 'header':
      return `header \`${step.name}\``;
    case 'parameter':
      return `${step.in} parameter \`${step.name}\``;
    case 'media_type':
      return step.type;
    case 'callback':
      return routeInWords(step);
    case 'alternative':
      return step.name;
    case 'condition':
      // The name `dependentSchemas/card` becomes "dependentSchemas card", and `then (IF)` becomes "then".
      return step.name.replace(/ \(.*$/s, '').replaceAll('/', ' ');
  }
}

/**
 * The steps to a change end at a part that both contracts have. Returns the step that follows, or words for it: for example, the
 * step to a field that only one contract has. Undefined: no step follows.
 */
function missingLastStep(change: Change): PathStep | string | undefined {
  const { kind, effect, name } = change;
  if (kind === 'body' && effect !== 'required' && effect !== 'optional') return { kind: 'request_body' };
  if (kind === 'type' && name === 'items') return { kind: 'items' };
  if (kind === 'type' && name === 'additionalProperties') return { kind: 'field', name: '*' };
  if (name === '') return undefined;
  if (kind === 'field' || kind === 'presence') return { kind: 'field', name: whatChanged(change) };
  if (kind === 'header') return { kind: 'header', name };
  if (kind === 'status' || kind === 'error_status') return { kind: 'response', status: name };
  if (kind === 'media_type') return `media type \`${name}\``;
  return kind === 'parameter' ? whatChanged(change) : undefined;
}

/** The name of the changed part, or the details of the change in words: "query parameter `limit`", "`a`, `b` and 3 more". */
export function whatChanged({ name, detail }: Change): string {
  switch (detail?.is) {
    case 'parameter':
      return `${detail.in} parameter \`${name}\``;
    case 'values':
      return valuesInWords(detail.values);
    case 'keywords':
      return detail.keywords.join(', ');
    case 'mapping':
      return `mapping of \`${detail.value}\``;
    case 'status':
      return `status ${detail.status}`;
    case 'names':
      return `${detail.old.join(', ')} → ${detail.new.join(', ')}`;
    case 'base paths':
      return `${pathsInWords(detail.old)} → ${pathsInWords(detail.new)}`;
    case 'serialization':
      return `${serializationInWords(detail.old)} → ${serializationInWords(detail.new)}`;
    case 'alternatives':
      // The caller adds the first and the last backtick.
      return detail.alternatives.map(outlineInWords).join('` or `');
    default:
      return name;
  }
}

function valuesInWords(values: readonly string[]): string {
  return firstOf(values, maxValues, (json) => `\`${withoutQuotes(json)}\``);
}

function withoutQuotes(json: string): string {
  return json.startsWith('"') ? (JSON.parse(json) as string) : json;
}

function pathsInWords(paths: readonly string[]): string {
  return paths.map((path) => `\`${path}\``).join(', ');
}

function serializationInWords(serialization: Serialization): string {
  if (serialization === 'none') return '';
  if (typeof serialization === 'string') return serialization;
  return `style ${serialization.style}${serialization.isExploded ? ', exploded' : ''}`;
}

function outlineInWords({ values, types, fields }: AlternativeOutline): string {
  if (values) return values.join(', ');
  const type = types ? types.join(' or ') : 'any value';
  return fields.length === 0 ? type : `${type} with ${fields.join(', ')}`;
}

/** "was a string and is now a number". */
export function typesInWords({ name, old, new: now }: Change): string {
  if (name === 'format') return `had ${formatInWords(old)} and now has ${formatInWords(now)}`;
  return `was ${typeInWords(old?.value)} and is now ${typeInWords(now?.value)}`;
}

// Words for keywords whose values do not explain the change.
const limitPhrases: Readonly<Record<string, readonly [narrower: string, wider: string]>> = {
  additionalProperties: ['restricts other fields further', 'restricts other fields less'],
  uniqueItems: ['may no longer contain duplicate items', 'may now contain duplicate items'],
  allowReserved: ['no longer accepts unencoded reserved characters', 'now accepts unencoded reserved characters'],
  allowEmptyValue: ['may no longer be empty', 'may now be empty'],
  // The schema itself: no value is valid any more, or values are valid again.
  schema: ['is no longer possible', 'is now possible'],
};
const limitVerbs: Readonly<Record<string, string>> = {
  narrower: 'is now limited more strictly',
  wider: 'is now limited less strictly',
  changed: 'is limited differently',
};

/** "has a maxLength of 20 instead of 50". */
export function limitInWords(change: Change): string {
  const { name, effect, old, new: now } = change;
  const phrase = limitPhrases[name]?.[effect === 'narrower' ? 0 : 1];
  if (phrase !== undefined && effect !== 'changed') return phrase;
  // The numbers are equal if an exclusive limit replaces an inclusive limit.
  const isSame = old !== undefined && now !== undefined && old.value === now.value;
  if (isSame || !isScalar(old) || !isScalar(now)) return `${limitVerbs[effect]} by ${whatChanged(change)}`;
  if (old?.value === undefined) return `now has a ${name} of ${valueInWords(now)}`;
  if (now?.value === undefined) return `no longer has a ${name} of ${valueInWords(old)}`;
  return `has a ${name} of ${valueInWords(now)} instead of ${valueInWords(old)}`;
}

export function structureInWords(name: string): string {
  return name === '' ? 'has another structure' : `has another structure (${name})`;
}

/** "has the default 2 instead of 1". */
export function defaultInWords({ old, new: now }: Change): string {
  return `has the default ${valueInWords(now)} instead of ${valueInWords(old)}`;
}

/** "requires bearer instead of (key and oauth)". */
export function securityInWords({ old, new: now }: Change): string {
  const [before, after] = [schemesInWords(old), schemesInWords(now)];
  return before === after ? `requires ${after} with other details` : `requires ${after} instead of ${before}`;
}

/** In backticks; empty for an empty text. */
export function quoted(text: string): string {
  return text === '' ? '' : `\`${text}\``;
}

/** The value as JSON, shortened if it is long. */
function valueInWords(located: Located | undefined): string {
  if (located?.value === undefined) return 'none';
  return quoted(shortened(JSON.stringify(located.value), longestValue));
}

/** "bearer or (key and oauth)". */
function schemesInWords(located: Located | undefined): string {
  const requirements = isList(located?.value) ? located.value.filter(isMap) : [];
  if (requirements.length === 0) return 'nothing';
  return requirements
    .map((schemes) => Object.keys(schemes).join(' and ') || 'nothing')
    .map((text) => (requirements.length > 1 && text.includes(' and ') ? `(${text})` : text))
    .join(' or ');
}

function isScalar(located: Located | undefined): boolean {
  return typeof located?.value !== 'object';
}

function formatInWords(located: Located | undefined): string {
  return located?.value === undefined ? 'no format' : `the format ${valueInWords(located)}`;
}

/** `value`: the name of a type, a list of names, or a schema. */
function typeInWords(value: unknown): string {
  if (typeof value === 'string') return withArticle(value);
  if (isList(value)) return unionInWords(value);
  if (!isMap(value)) return 'any value';
  const ref = value['$ref'];
  if (typeof ref === 'string') return quoted(ref.replace(/^.*\//s, ''));
  if (value['type'] !== undefined) return typeInWords(value['type']);
  if (value['oneOf'] !== undefined || value['anyOf'] !== undefined) return 'one of several';
  const values = isList(value['enum']) ? value['enum'] : value['const'] === undefined ? [] : [value['const']];
  if (values.length > 0) return unionInWords(values.map(typeNameOf));
  if (value['properties'] !== undefined) return 'an object';
  return value['items'] === undefined ? 'any value' : 'an array';
}

function unionInWords(types: readonly unknown[]): string {
  const words = [...new Set(types.filter((type) => type !== 'null').map(typeInWords))];
  const more = words.length > maxTypes ? [`${words.length - maxTypes} more`] : [];
  return [...words.slice(0, maxTypes), ...more].join(' or ') || 'null';
}

function typeNameOf(value: unknown): string {
  if (value === null) return 'null';
  if (isList(value)) return 'array';
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
}

function withArticle(type: string): string {
  if (type === 'null') return type;
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

/** "looks renamed to `total`". */
export function looksRenamedPhrase(name: string): string {
  return `looks renamed to ${name.includes('`') ? name : quoted(name)}`;
}

/** "/v3 only adds to /v2: stay in /v2". */
export function needlessMajorSentence(
  old: string,
  now: string,
  content: 'same' | 'additions' | 'nothing breaking',
): string {
  return `${now} ${majorPhrases[content]} ${old}: stay in ${old}`;
}

const majorPhrases = {
  same: 'does not differ from',
  additions: 'only adds to',
  'nothing breaking': 'has no breaking change from',
} as const;
