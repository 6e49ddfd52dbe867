import { Expanded } from '../expand.ts';
import type { Fault } from '../fault.ts';
import { jsonSchema, type SchemaNode } from '../jsonSchema.ts';
import type { Path } from '../mask.ts';
import { nearest } from '../nearest.ts';
import { faultAt, type Source } from '../source.ts';
import type { Rule } from './rule.ts';

/** A key that nobody reads is a misspelling, and its default would hold without a word. */
export const unknownKeys: Rule = ({ source }) => inspect(source, source.tree, [jsonSchema()], []);

function inspect(source: Source, value: unknown, schemas: readonly SchemaNode[], path: Path): Fault[] {
  if (typeof value !== 'object' || value === null || value instanceof Expanded) return [];
  const forms = schemas.flatMap((schema): readonly SchemaNode[] => [schema, ...(schema.anyOf ?? [])]);
  if (Array.isArray(value)) {
    const items = forms.flatMap((form): readonly SchemaNode[] => (form.items ? [form.items] : []));
    return value.flatMap((item, index) => inspect(source, item, items, [...path, index]));
  }
  const maps = forms.filter((form) => form.type === 'object');
  if (maps.length === 0) return [];
  const known = maps.flatMap((form) => Object.keys(form.properties ?? {}));
  return Object.entries(value).flatMap(([key, item]) => {
    const inner = maps.flatMap((form) => schemasOf(form, key));
    if (inner.length > 0) return inspect(source, item, inner, [...path, key]);
    return [faultAt(source, [...path, key], `There is no key ${key} here.`, remedy(key, known), 'key')];
  });
}

function schemasOf(map: SchemaNode, key: string): readonly SchemaNode[] {
  const named = Object.hasOwn(map.properties ?? {}, key) ? map.properties?.[key] : undefined;
  if (named) return [named];
  return typeof map.additionalProperties === 'object' ? [map.additionalProperties] : [];
}

function remedy(key: string, known: readonly string[]): string {
  if (key === '<<') return 'Merge keys are not read: write the keys out, or put them under `defaults`.';
  const best = nearest(key.toLowerCase().replaceAll('-', '_'), known);
  return best === undefined ? `Remove it. Known here: ${known.join(', ')}.` : `Did you mean ${best}?`;
}
