import { below, itemsOf, type Located, refOf } from '../document/located.ts';
import { isDocs, substance } from './canonical.ts';
import type { Schema } from './schema.ts';
import type { Schemas } from './schemas.ts';

/** One of several schemas, of which a value fulfils one. */
export interface Alternative {
  readonly schema: Schema;
  readonly at: Located;
  /** The `$ref` that it stands for. */
  readonly ref: string | undefined;
  readonly title: string | undefined;
}

/** A `oneOf` or an `anyOf`. */
export interface Group {
  readonly keyword: 'oneOf' | 'anyOf';
  readonly alternatives: readonly Alternative[];
  readonly at: Located;
}

export type Groups = readonly Group[];

/** The choices of a schema; one that leaves no choice is a part of the schema instead. */
export function groupsOf(schema: Schema, schemas: Schemas): Groups {
  return schema.parts.flatMap((part) =>
    (['oneOf', 'anyOf'] as const).flatMap((keyword) => {
      if (!Array.isArray(part.map[keyword])) return [];
      const alternatives = schemas.alternatives(part, keyword).map((at) => alternativeOf(at, schemas));
      return alternatives.length < 2 ? [] : [{ keyword, alternatives, at: below(part.located, keyword) }];
    }),
  );
}

/** The values of a choice between values, each of which may be described: an `enum` in other words. */
export function valuesOf({ alternatives }: Group): Located[] | undefined {
  const values: Located[] = [];
  for (const { schema } of alternatives) {
    const [part, ...others] = schema.parts;
    if (!part || others.length > 0 || !Object.keys(part.map).every(isAboutValues)) return undefined;
    const list =
      part.map['const'] === undefined ? itemsOf(below(part.located, 'enum')) : [below(part.located, 'const')];
    if (list.length === 0) return undefined;
    values.push(...list);
  }
  return values;
}

function isAboutValues(keyword: string): boolean {
  return keyword === 'const' || keyword === 'enum' || keyword === 'type' || isDocs(keyword);
}

/** The same for alternatives that demand the same, however they are described and wherever they stand. */
export function sameness({ schema }: Alternative): string {
  return substance(schema.located.value);
}

function alternativeOf(at: Located, schemas: Schemas): Alternative {
  const schema = schemas.of(at);
  const title = schema.parts[0]?.map['title'];
  const named = typeof title === 'string' && title !== '' ? title : undefined;
  return { schema, at, ref: refOf(at.value), title: named };
}

/** For what has neither a title nor a name. */
export function looksOf({ view }: Schema): string {
  const fields = [...view.properties.keys()].slice(0, 3).join(', ');
  if (view.values) return [...view.values.keys()].slice(0, 3).join(', ');
  return `${[...(view.types ?? ['any value'])].join(' or ')}${fields && ` with ${fields}`}`;
}
