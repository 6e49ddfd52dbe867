import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import tjs from 'typescript-json-schema';
import { bodyProblems, commonProblems } from '../gateway/operate/admin/adminApi.ts';
import { catalogue, type ProblemCode } from '../gateway/problems/catalogue.ts';

// Writes gateway/operate/admin/adminApi.json, the OpenAPI document of the admin API, from the types in adminApi.ts beside it. With
// `--check`, it fails if the document is not that of the types.

/** The part of a JSON Schema that is read here. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string | undefined;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly required?: readonly string[];
}

const problemSchema = {
  description: 'RFC 9457. docs/problems.md lists the codes.',
  type: 'object',
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string' },
  },
  required: ['type', 'title', 'status', 'detail', 'code'],
};

const problemResponses = new Map<string, object>();

/** The document as JSON text. */
function adminApiText(): string {
  const { AdminApi: api, ...types } = typeSchemas();
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [name, operation] of Object.entries(api?.properties ?? {})) {
    const [method = '', path = ''] = name.split(' ');
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(path, operation, types) };
  }
  const document = {
    openapi: '3.1.1',
    info: {
      title: 'Admin API of version-gateway',
      version: '1',
      description: 'A later release may add members.',
    },
    security: [{ token: [] }, {}],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'gateway.admin_token' } },
      schemas: { Problem: problemSchema, ...types },
      responses: Object.fromEntries(problemResponses),
    },
  };
  return `${JSON.stringify(document, null, 2).replaceAll('#/definitions/', '#/components/schemas/')}\n`;
}

/** The schema of every type of the API. The generator reads declarations, which state the types that the sources leave to inference. */
function typeSchemas(): Record<string, Schema> {
  const folder = mkdtempSync(join(tmpdir(), 'admin-api-'));
  try {
    const tsc = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--outDir', folder];
    execFileSync(process.execPath, tsc);
    const files = [join(folder, 'operate/admin/adminApi.d.ts')];
    const program = tjs.getProgramFromFiles(
      files,
      { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: true, types: [] },
      folder,
    );
    const settings = { required: true, aliasRef: true, ignoreErrors: true, strictNullChecks: true };
    const { definitions, ...api } = tjs.generateSchema(program, 'AdminApi', settings, files) as Schema & {
      definitions: Record<string, Schema>;
    };
    return withoutUnnamed({ ...definitions, AdminApi: api });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Puts types without a name of their own, such as `Record<string,number>`, in the places of their references. The generator knows instants
 * by their pattern only.
 */
function withoutUnnamed({ Instant: instant, ...definitions }: Record<string, Schema>): Record<string, Schema> {
  const isNamed = (name: string): boolean => /^[A-Z]\w*$/.test(name) && !/^(?:Readonly|Extract|Omit)/.test(name);
  const inline = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inline);
    if (typeof value !== 'object' || value === null) return value;
    const { $ref, ...others } = value as Schema;
    const { pattern, description } = others;
    if (pattern !== undefined && pattern === instant?.pattern) return { $ref: '#/definitions/Instant', description };
    const name = decodeURIComponent($ref?.replace('#/definitions/', '') ?? '');
    if ($ref !== undefined && !isNamed(name)) return inline({ ...definitions[name], ...others });
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, inline(member)]));
  };
  // The order of the generator depends on the folders of the types.
  const named = Object.entries(definitions)
    .filter(([name]) => isNamed(name))
    .map(([name, schema]) => [name, inline(schema) as Schema] as const);
  const instants = ['Instant', { ...instant, pattern: undefined, format: 'date-time' }] as const;
  return Object.fromEntries([...named, instants].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function operationOf(
  path: string,
  { description, properties = {}, required = [] }: Schema,
  types: Record<string, Schema>,
): object {
  const { query, body, answer, mediaType, statuses, problems } = properties;
  const content = { [String(mediaType?.const ?? 'application/json')]: { schema: answer } };
  const answers = valuesOf(statuses ?? { const: 200 }).map((status) => [
    status,
    { description: 'The answer.', content },
  ]);
  const codes = [...commonProblems, ...(body ? bodyProblems : []), ...valuesOf(problems)] as ProblemCode[];
  const errors = [...Map.groupBy(codes, (code) => catalogue[code].status)]
    .filter(([status]) => !answers.some(([answered]) => answered === status))
    .map(([status, ofStatus]) => [status, problemResponse(ofStatus)]);
  return {
    summary: description,
    parameters: [...pathParametersOf(path), ...queryParametersOf(types[query?.$ref?.split('/').at(-1) ?? ''] ?? query)],
    ...(body && { requestBody: requestBodyOf(body, required.includes('body')) }),
    responses: Object.fromEntries([...answers, ...errors]),
  };
}

function requestBodyOf(schema: Schema, required: boolean): object {
  const description = 'May be absent. The request needs `Content-Type: application/json` also without it.';
  return { ...(!required && { description }), required, content: { 'application/json': { schema } } };
}

/** The values of a type that is one literal, or several. */
function valuesOf(schema: Schema | undefined): unknown[] {
  if (schema === undefined) return [];
  const { anyOf, enum: values = [schema.const] } = schema;
  return anyOf ? anyOf.flatMap(valuesOf) : [...values];
}

/** Refers to the response with one of these problems: `UnknownVersionOrUnknownRoute`. */
function problemResponse(codes: readonly ProblemCode[]): object {
  const words = codes.join('_OR_').toLowerCase().split('_');
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  const schema = { $ref: '#/components/schemas/Problem', properties: { code: { enum: codes } } };
  problemResponses.set(name, { description: codes.join(', '), content: { 'application/problem+json': { schema } } });
  return { $ref: `#/components/responses/${name}` };
}

function pathParametersOf(path: string): object[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } };
  });
}

function queryParametersOf(query: Schema | undefined): object[] {
  return Object.entries(query?.properties ?? {}).map(([name, schema]) => ({ name, in: 'query', schema }));
}

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const file = 'gateway/operate/admin/adminApi.json';
const text = adminApiText();
if (!process.argv.includes('--check')) writeFileSync(file, text);
else if (readFileSync(file, 'utf8') !== text) {
  process.stderr.write(`${file} does not fit the types of the admin API. Run: npm run docs\n`);
  process.exitCode = 1;
}
