import { ExpandedText } from '../expand.ts';
import type { Path } from '../fault.ts';
import { nearest } from '../nearest.ts';
import type { SchemaNode } from '../schema.ts';
import { faultAtKey, formatPath, gatewaySections, type Source } from '../source.ts';
import type { ConfigRule } from './rule.ts';

/** An unknown key is most likely misspelt; without this rule its default would apply unnoticed. */
export const unknownKeys: ConfigRule = ({ source, schema }) =>
  unknownIn(source.tree, schema ? [schema] : [], [])
    .filter(isNoForeignSection)
    .map(({ path, key, knownKeys }) =>
      faultAtKey(source, [...path, key], `The key ${key} is unknown.`, remedy(key, knownKeys)),
    );

// The rule `api-section` reports a section of the gateway in an API.
function isNoForeignSection({ path, key }: UnknownKey): boolean {
  return path[0] !== 'apis' || path.length !== 2 || !gatewaySections.has(key);
}

/**
 * An unknown key is probably a misspelt known key. Returns the paths of these known keys, written as in faults. The known keys are
 * then not reported as missing.
 */
export function intendedKeys({ tree }: Source, schema: SchemaNode): Set<string> {
  return new Set(
    unknownIn(tree, [schema], []).flatMap(({ path, key, knownKeys }) => {
      const intended = intendedKey(key, knownKeys);
      return intended === undefined ? [] : [formatPath([...path, intended])];
    }),
  );
}

interface UnknownKey {
  readonly path: Path;
  readonly key: string;
  readonly knownKeys: readonly string[];
}

function unknownIn(value: unknown, schemas: readonly SchemaNode[], path: Path): UnknownKey[] {
  if (typeof value !== 'object' || value === null || value instanceof ExpandedText) return [];
  const forms = schemas.flatMap((schema): readonly SchemaNode[] => [schema, ...(schema.anyOf ?? [])]);
  if (Array.isArray(value)) {
    const items = forms.flatMap((form): readonly SchemaNode[] => (form.items ? [form.items] : []));
    return value.flatMap((item, index) => unknownIn(item, items, [...path, index]));
  }
  const maps = forms.filter((form) => form.type === 'object');
  if (maps.length === 0) return [];
  const knownKeys = maps.flatMap((form) => Object.keys(form.properties ?? {}));
  return Object.entries(value).flatMap(([key, item]) => {
    const memberSchemas = maps.flatMap((form) => schemasOf(form, key));
    return memberSchemas.length > 0 ? unknownIn(item, memberSchemas, [...path, key]) : [{ path, key, knownKeys }];
  });
}

function schemasOf(map: SchemaNode, key: string): readonly SchemaNode[] {
  const named = Object.hasOwn(map.properties ?? {}, key) ? map.properties?.[key] : undefined;
  if (named) return [named];
  return typeof map.additionalProperties === 'object' ? [map.additionalProperties] : [];
}

function remedy(key: string, knownKeys: readonly string[]): string {
  if (key === '<<') return 'Merge keys are not supported: write the keys out, or put them under `defaults`.';
  const best = intendedKey(key, knownKeys);
  return best === undefined ? `Remove it. Known here: ${knownKeys.join(', ')}.` : `Did you mean ${best}?`;
}

function intendedKey(key: string, knownKeys: readonly string[]): string | undefined {
  return nearest(key.toLowerCase().replaceAll('-', '_'), knownKeys);
}
