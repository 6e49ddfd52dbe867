import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'vitest';

interface ApiResponse {
  readonly $ref?: string;
  readonly content: Readonly<Record<string, { readonly schema: object }>>;
}

const document = JSON.parse(readFileSync('gateway/operate/admin/adminApi.json', 'utf8')) as {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, ApiResponse>> }>>>
  >;
  readonly components: { readonly responses: Readonly<Record<string, ApiResponse>> };
};
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv, ['date-time']);
const validators = new Map<object, ValidateFunction>();
const pathTemplates = Object.keys(document.paths).map((template) => {
  return { template, pattern: new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`) };
});

/** Expects that the OpenAPI document of the admin API describes an answer. @returns its body, parsed if it is JSON */
export async function describedBody(method: 'get' | 'post', response: Response) {
  const { pathname } = new URL(response.url);
  const [type = ''] = response.headers.get('content-type')?.split(';') ?? [];
  const text = await response.text();
  const body = type.includes('json') ? JSON.parse(text) : text;
  expect(undescribed(method, pathname, response.status, type, body), text).toEqual([]);
  return body;
}

function undescribed(method: 'get' | 'post', path: string, status: number, type: string, body: unknown): string[] {
  // `/api/brownouts/stop` has its own entry, and fits `/api/brownouts/{version}` as well.
  const template = document.paths[path] ? path : pathTemplates.find(({ pattern }) => pattern.test(path))?.template;
  const operation = template === undefined ? undefined : document.paths[template]?.[method];
  const schema = resolved(operation?.responses[status])?.content[type]?.schema;
  if (schema === undefined) return [`${method} ${path} has no answer ${status} ${type}`];
  const validate = validators.get(schema) ?? ajv.compile({ ...schema, components: document.components });
  validators.set(schema, validate);
  validate(body);
  return (validate.errors ?? []).map((error) => `${path} ${error.instancePath} ${error.message}`);
}

function resolved(response: ApiResponse | undefined): ApiResponse | undefined {
  const name = response?.$ref?.split('/').at(-1);
  return name === undefined ? response : document.components.responses[name];
}
