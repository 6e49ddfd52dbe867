import { below, type Located } from '../../../contract/document/located.ts';
import { choiceTargets, discriminatorValuesOf, mappingOf, targetNameOf } from '../../../contract/schema/choices.ts';
import type { View } from '../../../contract/schema/schema.ts';
import { pairAlternatives, pairChoices } from './pairing.ts';
import { noName, type SchemaPair } from './schemaPair.ts';

/**
 * The new name of each schema that the discriminator chooses from, by its old name. A renamed schema is not a change by
 * itself: only the values of the discriminator are sent.
 */
type NewNames = ReadonlyMap<string, string>;

/** Compares how the alternatives of a choice, or the subtypes of a base schema, are distinguished. */
export function compareDiscriminators(pair: SchemaPair): void {
  const { old, new: now } = pair;
  const [before, after] = [old.at('discriminator'), now.at('discriminator')];
  if (!before && !after) return;
  if (!before || !after) {
    pair.addChange('structure', 'equivalent', 'discriminator', before, after);
    return;
  }
  const [oldProperty, newProperty] = [below(before, 'propertyName'), below(after, 'propertyName')];
  if (oldProperty.value !== newProperty.value)
    pair.addChange('structure', 'changed', 'discriminator', oldProperty, newProperty);
  const hasChoice = old.choices.length + now.choices.length > 0;
  const newNames = hasChoice ? newNamesOfAlternatives(pair) : newNamesOfSubtypes(pair);
  compareDefaultMapping(pair, below(before, 'defaultMapping'), below(after, 'defaultMapping'), newNames);
  compareMappings(pair, before, after, newNames);
  if (!hasChoice) compareSubtypes(pair, before, after, newNames);
}

/** `defaultMapping` is the schema of values without the discriminating property. */
function compareDefaultMapping(pair: SchemaPair, old: Located, now: Located, newNames: NewNames): void {
  const [before, after] = [old.value, now.value];
  if (before === undefined && after === undefined) return;
  if (before === undefined || after === undefined) {
    pair.addChange('limit', after === undefined ? 'narrower' : 'wider', 'defaultMapping', old, now);
  } else if (!haveSameTarget(pair, old, now, newNames)) {
    pair.addChange('structure', 'changed', 'defaultMapping', old, now);
  }
}

function compareMappings(pair: SchemaPair, old: Located, now: Located, newNames: NewNames): void {
  const { oldSchema, newSchema } = pair;
  const [oldValues, newValues] = [discriminatorValuesOf(oldSchema), discriminatorValuesOf(newSchema)];
  const [oldTargets, newTargets] = [choiceTargets(oldSchema), choiceTargets(newSchema)];
  const areSubtypes = oldSchema.isSubtype && newSchema.isSubtype;
  // A choice with one alternative is merged into the schema.
  const hasMergedChoice = newSchema.parts.some(({ map }) => map['oneOf'] !== undefined || map['anyOf'] !== undefined);
  const isChoiceMerged = hasMergedChoice && pair.old.choices.length > 0 && pair.new.choices.length === 0;
  const newPartNames = new Set(newSchema.parts.map(({ located }) => located.place.key));
  for (const [value, target] of oldValues) {
    // The name of a schema is a value of the discriminator even if the mapping omits it.
    const sameNamed = newTargets.get(value);
    const kept = newValues.get(value) ?? (sameNamed && { ...sameNamed, value });
    const isKeptTarget = newNames.has(targetNameOf(target.value));
    // The mapping of a subtype is that of its base schema. The comparison of the base schemas reports the values of other
    // subtypes.
    if (areSubtypes && !isKeptTarget && !losesOwnValue(pair, target, kept)) continue;
    if (kept && !haveSameTarget(pair, target, kept, newNames))
      pair.addChange('structure', 'changed', 'mapping', target, kept, { is: 'mapping', value });
    // A removed alternative has its own change, unless the only alternative that is left became a part of the schema.
    else if (!kept && (isKeptTarget || (isChoiceMerged && !newPartNames.has(targetNameOf(target.value)))))
      pair.addChange('value', 'removed', noName, target, now, { is: 'values', values: [JSON.stringify(value)] });
  }
  const keptNames = new Set(newNames.values());
  for (const [value, target] of newValues) {
    if (!oldValues.has(value) && !oldTargets.has(value) && keptNames.has(targetNameOf(target.value)))
      pair.addChange('value', 'added', noName, old, target, { is: 'values', values: [JSON.stringify(value)] });
  }
}

/**
 * Whether a discriminator value that selected the subtype itself no longer selects it. Values that select a sibling are left
 * out, because the comparison of the base schema includes them.
 */
function losesOwnValue({ oldSchema, newSchema }: SchemaPair, old: Located, now: Located | undefined): boolean {
  // `place.key` is the name of a component.
  return targetNameOf(old.value) === oldSchema.place.key && targetNameOf(now?.value) !== newSchema.place.key;
}

/** Whether a value refers to the same schema as before, or to a compatible one. */
function haveSameTarget(pair: SchemaPair, old: Located, now: Located, newNames: NewNames): boolean {
  const [oldName, newName] = [targetNameOf(old.value), targetNameOf(now.value)];
  const isSameName = oldName === newName || newNames.get(oldName) === newName;
  const isAmbiguous = (): boolean => sharesName(pair.old, oldName) || sharesName(pair.new, newName);
  const mayBeAmbiguous = old.value !== now.value && [old, now].some(({ value }) => fileOf(value) !== '');
  if (isSameName && !(mayBeAmbiguous && isAmbiguous())) return true;
  const [before, after] = [pair.oldSchema.discriminatedSchema(old), pair.newSchema.discriminatedSchema(now)];
  return before !== undefined && after !== undefined && pair.isReplaceable(before, after);
}

/** Whether the mapping refers to several schemas with this name, in different files. */
function sharesName(view: View, name: string): boolean {
  const targets = [...mappingOf(view).values()].filter(({ value }) => targetNameOf(value) === name);
  return new Set(targets.map(({ value }) => fileOf(value))).size > 1;
}

/** `cat.yaml#/components/schemas/Pet` → `cat.yaml`. Empty: `Pet` and `#/components/schemas/Pet` are the same schema. */
function fileOf(target: unknown): string {
  return /^([^#]*)#/.exec(String(target))?.[1] ?? '';
}

function newNamesOfAlternatives(pair: SchemaPair): NewNames {
  const kept = pairChoices(pair.old.choices, pair.new.choices).flatMap(
    ([before, after]) => pairAlternatives(before.alternatives, after.alternatives, pair).kept,
  );
  const renamed = kept.flatMap(([{ ref: before }, { ref: after }]) =>
    before === undefined || after === undefined ? [] : [[targetNameOf(before), targetNameOf(after)] as const],
  );
  return new Map([...renamed, ...unchangedNames(pair)]);
}

function unchangedNames({ oldSchema, newSchema }: SchemaPair): [old: string, now: string][] {
  const targets = choiceTargets(newSchema);
  return [...choiceTargets(oldSchema).keys()].filter((name) => targets.has(name)).map((name) => [name, name]);
}

/** A subtype counts as renamed if its old name was removed and a value that referred to it now refers to a new name. */
function newNamesOfSubtypes(pair: SchemaPair): NewNames {
  const [oldTargets, newTargets] = [choiceTargets(pair.oldSchema), choiceTargets(pair.newSchema)];
  const newNames = new Map(unchangedNames(pair));
  const [oldMapping, newMapping] = [mappingOf(pair.old), mappingOf(pair.new)];
  const taken = new Set<string>();
  for (const [value, target] of oldMapping) {
    const [before, after] = [targetNameOf(target.value), targetNameOf(newMapping.get(value)?.value)];
    const isGone = oldTargets.has(before) && !newTargets.has(before);
    const isNew = newTargets.has(after) && !oldTargets.has(after) && !taken.has(after);
    if (!isGone || !isNew) continue;
    newNames.set(before, after);
    taken.add(after);
  }
  return newNames;
}

/** Without a `oneOf` or `anyOf`, the alternatives are the subtypes of the schema and the targets of its mapping. */
function compareSubtypes(
  pair: SchemaPair,
  oldDiscriminator: Located,
  newDiscriminator: Located,
  newNames: NewNames,
): void {
  const [oldTargets, newTargets] = [choiceTargets(pair.oldSchema), choiceTargets(pair.newSchema)];
  const valueByName = new Map([...mappingOf(pair.old)].map(([value, target]) => [targetNameOf(target.value), value]));
  for (const [name, target] of oldTargets) {
    const kept = newTargets.get(newNames.get(name) ?? '');
    if (!kept) {
      pair.addChange('alternative', 'removed', name, target, newDiscriminator);
      continue;
    }
    const [oldSubtype, newSubtype] = [
      pair.oldSchema.discriminatedSchema(target),
      pair.newSchema.discriminatedSchema(kept),
    ];
    if (!oldSubtype || !newSubtype) continue;
    pair.comparePart({ kind: 'alternative', name: valueByName.get(name) ?? name }, oldSubtype, newSubtype);
  }
  const keptNames = new Set(newNames.values());
  for (const [name, target] of newTargets) {
    if (!keptNames.has(name)) pair.addChange('alternative', 'added', name, oldDiscriminator, target);
  }
}
