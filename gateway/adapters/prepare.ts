import type { AdapterSettings, PreparedAdapter, PreparedRoute } from '../config/adapterSettings.ts';
import { fingerprintOf } from '../config/build.ts';
import type { SubSchema } from './branches.ts';
import { isJsonType, refPrefix } from './bundle.ts';
import { formsOf } from './parameters.ts';
import { type AdapterSide, requestPartsOf, responsesIn } from './passages.ts';

/** What requests need of an adapter. `digests`: of both contracts. */
export function prepare(
  adapter: AdapterSettings,
  { own, other }: { readonly own: AdapterSide; readonly other: AdapterSide },
  digests: readonly string[],
): PreparedAdapter {
  const defs: Record<string, unknown> = {};
  const routes = adapter.routes.flatMap((route): [string, PreparedRoute][] => {
    if ('gone' in route) return [];
    const [found, theirs] = [own.find(route), other.find(route.to)];
    if (!found || !theirs) return [];
    const name = `${route.method} ${route.path}`;
    const responses = [...responsesIn(found, own)].map(([status, response]) => {
      const content = (response['content'] ?? {}) as Readonly<Record<string, { readonly schema?: SubSchema }>>;
      const schemas = Object.entries(content).flatMap(([type, { schema }]): [string, string][] => {
        if (!isJsonType(type) || schema === undefined) return [];
        // No name of a component begins so.
        const key = `-${Object.keys(defs).length}`;
        defs[key] = withDefs(schema);
        return [[(type.split(';', 1)[0] ?? type).trim(), key]];
      });
      return [status, new Map(schemas)] as const;
    });
    const parameters = formsOf(route, requestPartsOf(found, own), requestPartsOf(theirs, other));
    return [[name, { responses: new Map(responses), parameters }]];
  });
  for (const [name, schema] of Object.entries(own.bundle.named)) defs[name] = withDefs(schema);
  const { from, body, routes: rows } = adapter;
  const hash = fingerprintOf(
    { from, body, rows },
    digests.map((digest, index) => [String(index), digest]),
  ).slice(0, 12);
  return { hash, schemas: { $defs: defs }, routes: new Map(routes) };
}

/** `$ref`s to `$defs` instead of the components of a contract. */
function withDefs(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withDefs);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === '$ref' && typeof value === 'string' ? value.replace(refPrefix, '#/$defs/') : withDefs(value),
    ]),
  );
}
