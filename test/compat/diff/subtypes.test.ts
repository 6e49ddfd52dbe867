import { expect, it } from 'vitest';
import { contractOf, findingsBetween, type Json, told } from '../support/comparing.ts';

const text = { type: 'string' };
const pet = { type: 'object', properties: { kind: text }, discriminator: { propertyName: 'kind' } };
const of = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
const heir = (parent: Json, fields: Json): Json => ({ allOf: [parent, { type: 'object', properties: fields }] });

function between(old: Json, now: Json, schema: unknown = of('Pet')): string[] {
  return told(findingsBetween(contractOf('response', schema, old), contractOf('response', schema, now)));
}

it('finds the heirs of heirs', () => {
  const cat = { Pet: pet, Cat: heir(of('Pet'), { claws: text }) };
  const told = between(
    { ...cat, Tiger: heir(of('Cat'), { stripes: text, roar: text }) },
    { ...cat, Tiger: heir(of('Cat'), { stripes: text }) },
  );
  expect(told).toEqual(['response-field-removed: GET /drinks: response 200 Cat Tiger field `roar` was removed']);
});

it('finds them behind a reference that is only described', () => {
  const [old, now] = [{ claws: text, fur: text }, { claws: text }].map((fields) => ({
    Pet: pet,
    Cat: heir(of('Pet'), fields),
  }));
  const schema = { type: 'object', properties: { pet: { allOf: [of('Pet')], description: 'Of the house.' } } };
  expect(between(old ?? {}, now ?? {}, schema)).toEqual([
    'response-field-removed: GET /drinks: response 200 field `pet` Cat field `fur` was removed',
  ]);
});

it('leaves alone what nobody is answered with: siblings, and heirs of what has no discriminator', () => {
  const { discriminator: _discriminator, ...plain } = pet;
  const dog = (fields: Json, parent: Json) => ({ Pet: parent, Cat: heir(of('Pet'), {}), Dog: heir(of('Pet'), fields) });
  expect(between(dog({ bark: text }, pet), dog({}, pet), of('Cat'))).toEqual([]);
  expect(between(dog({ bark: text }, plain), dog({}, plain))).toEqual([]);
});

it('comes to an end for heirs that hold each other, themselves, or what leads nowhere', () => {
  const schemas = (fields: Json) => ({
    Pet: pet,
    Cat: { allOf: [of('Pet'), of('Dog'), { properties: { ...fields, friend: of('Pet') } }] },
    Dog: { allOf: [of('Cat'), of('Dog')] },
    Lost: { allOf: [of('Nowhere')] },
  });
  const found = between(schemas({ claws: text }), schemas({}));
  expect(found).toEqual([expect.stringContaining('field `claws` was removed')]);
});

it('takes a name that the mapping repeats for the same', () => {
  const mapped = { ...pet, discriminator: { propertyName: 'kind', mapping: { Cat: '#/components/schemas/Cat' } } };
  expect(between({ Pet: pet, Cat: heir(of('Pet'), {}) }, { Pet: mapped, Cat: heir(of('Pet'), {}) })).toEqual([]);
});

it('comes to an end for a long line of them', () => {
  const line = (last: Json): Json => {
    const names = Array.from({ length: 120 }, (_unused, index) => `Heir${index}`);
    const heirs = names.map((name, index) => [name, heir(of(names[index - 1] ?? 'Pet'), { [`f${index}`]: text })]);
    return { Pet: pet, ...Object.fromEntries(heirs), Last: heir(of('Heir119'), last) };
  };
  expect(between(line({ end: text }), line({}))).toHaveLength(1);
});
