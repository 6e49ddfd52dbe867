import type { Change } from '../change.ts';
import { isList, isMap, type Located } from '../document/located.ts';

const longest = 80;
const most = 5;

/** "was a string and is now a number". */
export function typesInWords({ name, old, new: now }: Change): string {
  if (name === 'format') return `had ${formatInWords(old)} and has now ${formatInWords(now)}`;
  return `was ${typeInWords(old)} and is now ${typeInWords(now)}`;
}

// Where a value would tell nothing.
const phrases: Readonly<Record<string, readonly [narrower: string, wider: string]>> = {
  additionalProperties: ['limits its other fields further', 'limits its other fields less'],
  uniqueItems: ['may no longer hold an item twice', 'may now hold an item twice'],
  allowReserved: ['no longer takes reserved characters as they are', 'now takes reserved characters as they are'],
  allowEmptyValue: ['may no longer be empty', 'may now be empty'],
  schema: ['is no longer possible', 'is now possible'],
};

/** "has a maxLength of 20 instead of 50". */
export function limitInWords({ name, effect, old, new: now }: Change): string {
  const phrase = phrases[name]?.[effect === 'narrower' ? 0 : 1];
  if (phrase !== undefined && effect !== 'changed') return phrase;
  // The same number, but now it is excluded.
  const isSame = old !== undefined && now !== undefined && old.value === now.value;
  if (isSame || !isPlain(old) || !isPlain(now)) {
    const verb =
      effect === 'narrower'
        ? 'is now more narrowly limited'
        : effect === 'wider'
          ? 'is now less limited'
          : 'is limited differently';
    return `${verb} by ${name}`;
  }
  if (old?.value === undefined) return `now has a ${name} of ${valueInWords(now)}`;
  if (now?.value === undefined) return `no longer has a ${name} of ${valueInWords(old)}`;
  return `has a ${name} of ${valueInWords(now)} instead of ${valueInWords(old)}`;
}

export function structureInWords({ name }: Change): string {
  return name === '' ? 'is put together differently' : `is put together differently (${name})`;
}

/** As JSON, cut where it is long. */
export function valueInWords(located: Located | undefined): string {
  if (located?.value === undefined) return 'none';
  const text = JSON.stringify(located.value);
  return quoted(text.length > longest ? `${text.slice(0, longest - 1)}…` : text);
}

/** "bearer or (key and oauth)". */
export function securityInWords(located: Located | undefined): string {
  const requirements = isList(located?.value) ? located.value.filter(isMap) : [];
  if (requirements.length === 0) return 'nothing';
  return requirements
    .map((schemes) => Object.keys(schemes).join(' and ') || 'nothing')
    .map((text) => (requirements.length > 1 && text.includes(' and ') ? `(${text})` : text))
    .join(' or ');
}

export function quoted(text: string): string {
  return text === '' ? '' : `\`${text}\``;
}

function isPlain(located: Located | undefined): boolean {
  return typeof located?.value !== 'object';
}

function formatInWords(located: Located | undefined): string {
  return located?.value === undefined ? 'no format' : `the format ${valueInWords(located)}`;
}

function typeInWords(located: Located | undefined): string {
  const { value } = located ?? {};
  if (typeof value === 'string') return withArticle(value);
  if (isList(value) && located) return unionInWords(value, located);
  if (!isMap(value)) return 'any value';
  const ref = value['$ref'];
  if (typeof ref === 'string') return quoted(ref.replace(/^.*\//s, ''));
  const { type, properties, items, oneOf, anyOf } = value as Record<
    'type' | 'properties' | 'items' | 'oneOf' | 'anyOf',
    unknown
  >;
  if (type !== undefined) return typeInWords({ value: type, place: located?.place ?? never() });
  if (oneOf !== undefined || anyOf !== undefined) return 'one of several';
  return properties === undefined ? (items === undefined ? 'any value' : 'an array') : 'an object';
}

function unionInWords(list: readonly unknown[], { place }: Located): string {
  const all = list.filter((one) => one !== 'null').map((one) => typeInWords({ value: one, place }));
  const words = [...new Set(all)];
  const more = words.length > most ? [`${words.length - most} more`] : [];
  return [...words.slice(0, most), ...more].join(' or ') || 'null';
}

function withArticle(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function never(): never {
  throw new TypeError('a value without a place');
}
