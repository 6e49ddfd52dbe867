import type { Located } from '../document/located.ts';
import { foreign } from './foreign.ts';
import type { Schema } from './schema.ts';

// `allOf` of several choices makes the product of them.
const mostCombinations = 64;
// A choice that leads back to itself never ends, and choices within choices soon come to millions of ways.
const deepest = 8;
const mostWays = 256;

/** Everything that a schema can come down to, one type each and without null; undefined: that would be too much. */
export function spread(schema: Schema): Schema[] | undefined {
  return spreadWithin(schema, [], { ways: mostWays });
}

/** `around`: the choices that it is made in; `left`: what may still be tried. */
function spreadWithin(schema: Schema, around: readonly Schema[], left: { ways: number }): Schema[] | undefined {
  left.ways -= 1;
  if (left.ways < 0) return undefined;
  const { groups } = schema.view;
  if (groups.length === 0 || around.length > deepest) return byTypes(schema);
  const inner = [...around, schema];
  const count = groups.reduce((product, { alternatives }) => product * alternatives.length, 1);
  if (count > mostCombinations) return undefined;
  const combinations = groups.reduce<Located[][]>(
    (lists, { alternatives }) =>
      lists.flatMap((list) =>
        // An alternative that is the whole choice again adds nothing.
        alternatives.filter((one) => !inner.includes(one.schema)).map(({ at }) => [...list, at]),
      ),
    [[]],
  );
  const all = new Set<Schema>();
  for (const combination of combinations) {
    const some = spreadWithin(schema.with(combination), inner, left);
    if (some === undefined || all.size + some.length > mostCombinations) return undefined;
    for (const one of some) all.add(one);
  }
  return [...all];
}

function byTypes(schema: Schema): Schema[] {
  const { types, nullable } = schema.view;
  if (types === undefined || (types.size === 1 && !nullable)) return [schema];
  const apart = [...types].filter((type) => type !== 'integer' || !types.has('number'));
  return apart.map((type) => schema.narrowed(type, foreign[type]));
}
