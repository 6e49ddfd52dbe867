import type { Group } from './groups.ts';
import { isWithin, type JsonType } from './jsonTypes.ts';
import { isSentAsText, type Pair } from './pair.ts';
import type { Pairing } from './pairing.ts';
import { unionOfTypes } from './reach.ts';
import type { Schema } from './schema.ts';
import { breakages, isCompatible } from './severity.ts';

// Beyond so many, which of them overlap is no longer tried out.
const mostTrials = 400;
const scalars: ReadonlySet<JsonType> = new Set(['boolean', 'integer', 'number', 'string']);

/** Whether something that was taken before there was a `oneOf` fulfils two of its alternatives, and is refused for it. */
export function isTorn(pair: Pair, old: readonly Schema[], now: readonly Schema[]): boolean {
  const { new: after, old: before } = pair;
  if (!after.groups.some(({ keyword }) => keyword === 'oneOf') || after.at('discriminator')) return false;
  if (before.groups.some(({ keyword }) => keyword === 'oneOf')) return false;
  return old.some((one) => {
    const takers = now.filter((other) => takes(pair, other, one));
    const cutters = now.filter((other) => !takers.includes(other) && isPlainPartOf(pair, other, one));
    return takers.length > 1 || (takers.length === 1 && cutters.length > 0);
  });
}

/** The same of alternatives that come to a `oneOf`, as far as they are single values: of more, nobody can be sure. */
export function isTornByNew(pair: Pair, { kept, added }: Pairing, old: Group, now: Group): boolean {
  if (now.keyword !== 'oneOf' || pair.new.at('discriminator')) return false;
  const [plain, fresh] = [
    kept.filter(([before]) => isPlain(before.schema)),
    added.filter(({ schema }) => isPlain(schema)),
  ];
  if (plain.length * fresh.length > mostTrials) return false;
  return plain.some(([before, after]) =>
    fresh.some(({ schema }) => {
      const isPart = isPlainPartOf(pair, schema, before.schema);
      const part = isPart ? schema : before.schema;
      if (!isPart && !isPlainPartOf(pair, part, schema)) return false;
      if (breakages(pair.trial(before.schema, after.schema)) > 0) return false;
      // What fulfilled two of the old alternatives was refused already.
      return old.alternatives.filter((one) => isPlainPartOf(pair, part, one.schema)).length === 1;
    }),
  );
}

/** Whether one takes all of another; in a URL, what looks like its digits is no number for it. */
function takes(pair: Pair, whole: Schema, part: Schema): boolean {
  return isWithin(unionOfTypes(part), unionOfTypes(whole)) && isCompatible(pair.trial(part, whole));
}

function isPlainPartOf(pair: Pair, part: Schema, whole: Schema): boolean {
  if (pair.context.direction !== 'request' || isSentAsText(pair.context)) return false;
  return isPlain(part) && isPlain(whole) && takes(pair, whole, part);
}

function isPlain({ view: { types, groups, conditions } }: Schema): boolean {
  return types !== undefined && isWithin(types, scalars) && groups.length === 0 && conditions.size === 0;
}
