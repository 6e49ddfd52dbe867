import { z } from 'zod';
import { basePattern } from './api.ts';
import { apiSections } from './apiSource.ts';
import { fleet } from './schema/fleet.ts';
import { notify } from './schema/notify.ts';
import { defaults, routes } from './schema/routes.ts';
import { section } from './schema/scalar.ts';
import { brownout, compat, gateway, guard, log, retire, telemetry, usage } from './schema/settings.ts';
import { flag } from './schema/words.ts';

/** A whole routes.yaml: keys, types and defaults. The JSON Schema for editors is generated from it. */
export const routesFile = section({
  routes: routes.prefault({}).describe('The versions: one entry for each major, under its prefix /vN.'),
  defaults: defaults.prefault({}).describe('Values for every route that does not set its own.'),
  gateway: gateway.prefault({}).describe('The gateway itself.'),
  guard: guard.prefault({}).describe('Limits for a reload that changes or removes a version in use.'),
  usage: usage.prefault({}).describe('The usage ledger, which counts the calls of each client.'),
  retire: retire.prefault({}).describe('When a version counts as unused.'),
  brownout: brownout
    .prefault({})
    .describe('Rules for the brownouts of all versions: when they start, and how refused requests are answered.'),
  compat: compat.prefault({}).describe('Levels and exemptions of the contract check.'),
  fleet: fleet.prefault({}).describe('Several gateways that share one ledger.'),
  log: log.prefault({}).describe('The access log.'),
  notify: notify.prefault([]).describe('Webhooks that receive events about the end of versions.'),
  telemetry: telemetry.prefault({}).describe('Export to an OpenTelemetry collector. Off without `otlp`.'),
});

/** What an API below `apis` says about itself, beside its sections. */
export const apiHead = section({
  listed: flag.prefault(true).describe('Whether the API is listed where the APIs of the host are listed.'),
});

export type ApiHead = z.output<typeof apiHead>;

/** The file as typed values: durations in milliseconds, sizes in bytes, dates in epoch milliseconds. */
export type ConfigValues = z.output<typeof routesFile>;

/** The keywords of JSON Schema that this schema uses. */
export interface SchemaNode {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: boolean | SchemaNode;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly description?: string;
  readonly default?: unknown;
  readonly [keyword: string]: unknown;
}

let cachedSchema: SchemaNode | undefined;

/** The JSON Schema of a routes.yaml whose variables are expanded. */
export function jsonSchema(): SchemaNode {
  cachedSchema ??= withApis(
    z.toJSONSchema(routesFile, { io: 'input', target: 'draft-7' }) as SchemaNode,
    z.toJSONSchema(apiHead, { io: 'input', target: 'draft-7' }) as SchemaNode,
  );
  return cachedSchema;
}

function withApis(file: SchemaNode, head: SchemaNode): SchemaNode {
  const sections = Object.entries(file.properties ?? {}).filter(([key]) => apiSections.some((name) => name === key));
  const api = {
    type: 'object',
    properties: { ...Object.fromEntries(sections), ...head.properties },
    additionalProperties: false,
  };
  const apis: SchemaNode = {
    type: 'object',
    additionalProperties: api,
    default: {},
    description: 'Further APIs, each below its base, such as /orders. See docs/several-apis.md.',
  };
  return { ...file, properties: { ...file.properties, apis } };
}

/** The content of gateway/routes.schema.json, for editors: the schema of a file whose variables are not yet expanded. */
export function schemaText(): string {
  const { $schema, properties, ...rest } = forEditors(jsonSchema());
  const routes = { ...properties?.['routes'], propertyNames: { pattern: '^/v(0|[1-9][0-9]*)$' } };
  const apis = properties?.['apis'];
  const api = isNode(apis?.additionalProperties) ? apis.additionalProperties : undefined;
  // The sections of an API are those of the file.
  const sections = apiSections.map((key) => [key, { $ref: `#/properties/${key}` }]);
  const schema = {
    $schema,
    title: 'routes.yaml of version-gateway',
    ...rest,
    anyOf: [{ required: ['routes'] }, { required: ['apis'] }],
    properties: {
      ...properties,
      routes,
      apis: {
        ...apis,
        propertyNames: { pattern: basePattern.source },
        additionalProperties: {
          ...api,
          required: ['routes'],
          properties: { ...api?.properties, ...Object.fromEntries(sections) },
        },
      },
    },
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

const variableForm = { type: 'string', pattern: '\\$' };

// A scalar may also be a variable, and a map may be empty because all its keys are commented out.
function forEditors(node: SchemaNode): SchemaNode {
  const { description, default: byDefault, ...own } = node;
  if (node.properties || node.items || node.anyOf || node.additionalProperties) return withChildren(node);
  const annotations = {
    ...(description ? { description } : {}),
    ...(byDefault === undefined ? {} : { default: byDefault }),
  };
  if (node.type === 'null' || (node.type === 'string' && node['pattern'] === undefined)) return node;
  if (node.type === 'string') return { ...node, pattern: `${node['pattern']}|${variableForm.pattern}` };
  return { ...annotations, anyOf: [own, variableForm] };
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

const introduction = `# routes.yaml, key by key

Generated from the schema that checks the file. \`gateway/routes.schema.json\` is the same schema for editors.

- Durations are \`500ms\`, \`3s\`, \`5m\`, \`24h\`, \`7d\`, or \`off\` for a limit that can be disabled. Sizes are \`16KiB\`,
  \`10MiB\` or a number of bytes.
- Dates are \`2026-06-30\`, which is midnight UTC, or RFC 3339 with a zone.
- \`\${NAME}\` and \`\${NAME:-default}\` are expanded in values; \`$$\` is a dollar sign. A variable that is not set and has no
  default is a fault. If the variable is empty and \`\${NAME}\` has no quotes around it, these keys are off:
  \`gateway.admin_token\`, \`usage.tag_key\`, \`fleet.store\`, \`notify.url\`, \`notify.secret\` and \`telemetry.otlp\`.
- Relative paths are resolved from the folder of the file. If \`routes.yaml\` is a symbolic link, they are
  resolved from the folder of its target.
- The keys of \`defaults\` may also be set below a version, such as \`/v1\`. They then apply to that version only.
`;

/** The content of docs/routes.md: every key with its default and its meaning. */
export function referencePage(): string {
  const root = jsonSchema();
  const { routes, apis, ...sections } = root.properties ?? {};
  const api = mapForm(isNode(apis?.additionalProperties) ? apis.additionalProperties : undefined);
  const route = mapForm(isNode(routes?.additionalProperties) ? routes.additionalProperties : undefined);
  const tables = [table('routes./vN', route?.properties ?? {}, ['timeouts', 'limits', 'retries', 'health', 'tls'])];
  for (const [name, section] of Object.entries(sections))
    tables.push(table(name, section.properties ?? section.items?.properties ?? {}, []));
  // The sections of an API are those of the file.
  tables.push(table('apis./BASE', api?.properties ?? {}, apiSections));
  return [introduction, ...tables].join('\n');
}

/** `folded`: maps that another table describes; they get one row here. */
function table(title: string, properties: Readonly<Record<string, SchemaNode>>, folded: readonly string[]): string {
  return `## ${title}\n\n| key | default | meaning |\n|---|---|---|\n${rows('', properties, folded).join('\n')}\n`;
}

function rows(path: string, properties: Readonly<Record<string, SchemaNode>>, folded: readonly string[]): string[] {
  return Object.entries(properties).flatMap(([name, node]) => {
    const members = folded.includes(name) ? undefined : mapForm(node)?.properties;
    const key = `${path}${name}`;
    // The rules of the contract check get one row; docs/compat.md lists them.
    if (key === 'rules')
      return [
        row('rules.RULE', {
          description:
            'The level of a rule: error, warn, info or off. [compat.md](compat.md#the-rules) lists the rules and their defaults.',
        }),
      ];
    // A key that can only be a map has no row of its own: its members have rows.
    const ownRows = members && node.anyOf === undefined ? [] : [row(key, node)];
    return members ? [...ownRows, ...rows(`${key}.`, members, folded)] : ownRows;
  });
}

function row(key: string, { default: value, description = '' }: SchemaNode): string {
  const shown = value === undefined || typeof value === 'object' ? JSON.stringify(value) : String(value);
  return `| \`${key}\` | ${shown === undefined || shown === '{}' ? '' : `\`${shown}\``} | ${description} |`;
}

/** The form of a value that is a map, if any. */
function mapForm(node: SchemaNode | undefined): SchemaNode | undefined {
  if (node?.properties) return node;
  return node?.anyOf?.find((form) => form.properties !== undefined);
}

function isNode(value: SchemaNode | boolean | undefined): value is SchemaNode {
  return typeof value === 'object';
}
