import { z } from 'zod';
import { routesFile } from './schema.ts';

/** As much of JSON Schema as ours is made of. */
export interface SchemaNode {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: boolean | SchemaNode;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly [keyword: string]: unknown;
}

let made: SchemaNode | undefined;

/** The JSON Schema of a routes.yaml whose variables are expanded. */
export function jsonSchema(): SchemaNode {
  made ??= z.toJSONSchema(routesFile, { io: 'input', target: 'draft-7' }) as SchemaNode;
  return made;
}

/** What gateway/routes.schema.json holds: the schema of the file as it is written, for editors. */
export function schemaText(): string {
  const { $schema, properties, ...rest } = forEditors(jsonSchema());
  const routes = { ...properties?.['routes'], propertyNames: { pattern: '^/v(0|[1-9][0-9]*)$' } };
  const schema = {
    $schema,
    title: 'routes.yaml of version-gateway',
    ...rest,
    required: ['routes'],
    properties: { ...properties, routes },
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

const variable = { type: 'string', pattern: '\\$' };

// A scalar may also be written as a variable, and a map whose keys are all commented out is empty.
function forEditors(node: SchemaNode): SchemaNode {
  const { description, default: byDefault, ...own } = node;
  if (node.properties || node.items || node.anyOf || node.additionalProperties) return withChildren(node);
  const words = { ...(description ? { description } : {}), ...(byDefault === undefined ? {} : { default: byDefault }) };
  if (node.type === 'null' || (node.type === 'string' && node['pattern'] === undefined)) return node;
  if (node.type === 'string') return { ...node, pattern: `${node['pattern']}|${variable.pattern}` };
  return { ...words, anyOf: [own, variable] };
}

function withChildren(node: SchemaNode): SchemaNode {
  const properties = Object.entries(node.properties ?? {}).map(([key, child]) => [key, forEditors(child)]);
  const extra = node.additionalProperties;
  return {
    ...node,
    ...(node.type === 'object' ? { type: ['object', 'null'] } : {}),
    ...(node.properties ? { properties: Object.fromEntries(properties) } : {}),
    ...(node.items ? { items: forEditors(node.items) } : {}),
    ...(node.anyOf ? { anyOf: node.anyOf.map(forEditors) } : {}),
    ...(typeof extra === 'object' ? { additionalProperties: forEditors(extra) } : {}),
  };
}
