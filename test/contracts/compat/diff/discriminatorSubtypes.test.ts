import { expect, it } from 'vitest';
import { contractOf, findingsBetween, type Json, told } from '../support/comparing.ts';

const text = { type: 'string' };
const pet = { type: 'object', properties: { kind: text }, discriminator: { propertyName: 'kind' } };
const of = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
const subtype = (parent: Json, fields: Json): Json => ({ allOf: [parent, { type: 'object', properties: fields }] });

function between(old: Json, now: Json, schema: unknown = of('Pet')): string[] {
  return told(findingsBetween(contractOf('response', schema, old), contractOf('response', schema, now)));
}

it('finds subtypes of subtypes', () => {
  const cat = { Pet: pet, Cat: subtype(of('Pet'), { claws: text }) };
  const told = between(
    { ...cat, Tiger: subtype(of('Cat'), { stripes: text, roar: text }) },
    { ...cat, Tiger: subtype(of('Cat'), { stripes: text }) },
  );
  expect(told).toEqual(['response-field-removed: GET /drinks: response 200 Cat Tiger field `roar` was removed']);
});

it('finds subtypes behind a $ref with a description', () => {
  const [old, now] = [{ claws: text, fur: text }, { claws: text }].map((fields) => ({
    Pet: pet,
    Cat: subtype(of('Pet'), fields),
  }));
  const schema = { type: 'object', properties: { pet: { allOf: [of('Pet')], description: 'Of the house.' } } };
  expect(between(old ?? {}, now ?? {}, schema)).toEqual([
    'response-field-removed: GET /drinks: response 200 field `pet` Cat field `fur` was removed',
  ]);
});

it('ignores siblings, and subtypes of a schema without a discriminator', () => {
  const { discriminator: _discriminator, ...plain } = pet;
  const dog = (fields: Json, parent: Json) => ({
    Pet: parent,
    Cat: subtype(of('Pet'), {}),
    Dog: subtype(of('Pet'), fields),
  });
  expect(between(dog({ bark: text }, pet), dog({}, pet), of('Cat'))).toEqual([]);
  expect(between(dog({ bark: text }, plain), dog({}, plain))).toEqual([]);
});

it('ends for subtypes that extend each other, themselves, or a missing schema', () => {
  const schemas = (fields: Json) => ({
    Pet: pet,
    Cat: { allOf: [of('Pet'), of('Dog'), { properties: { ...fields, friend: of('Pet') } }] },
    Dog: { allOf: [of('Cat'), of('Dog')] },
    Lost: { allOf: [of('Nowhere')] },
  });
  const found = between(schemas({ claws: text }), schemas({}));
  expect(found).toEqual([expect.stringContaining('field `claws` was removed')]);
});

it('treats a name repeated in the mapping as the same value', () => {
  const mapped = { ...pet, discriminator: { propertyName: 'kind', mapping: { Cat: '#/components/schemas/Cat' } } };
  expect(between({ Pet: pet, Cat: subtype(of('Pet'), {}) }, { Pet: mapped, Cat: subtype(of('Pet'), {}) })).toEqual([]);
});

it('ends for a long chain of subtypes', () => {
  const line = (last: Json): Json => {
    const names = Array.from({ length: 120 }, (_unused, index) => `Sub${index}`);
    const subtypes = names.map((name, index) => [
      name,
      subtype(of(names[index - 1] ?? 'Pet'), { [`f${index}`]: text }),
    ]);
    return { Pet: pet, ...Object.fromEntries(subtypes), Last: subtype(of('Sub119'), last) };
  };
  expect(between(line({ end: text }), line({}))).toHaveLength(1);
});
