import type { Json } from './comparing.ts';

const text = { type: 'string' };
const media = { schema: text };

/** An operation, and all that can stand in one. */
const operation: Json = {
  tags: ['drinks'],
  summary: 'A list.',
  description: 'All drinks.',
  externalDocs: { url: 'https://example.com' },
  operationId: 'listDrinks',
  parameters: [
    { name: 'q', in: 'query', schema: { type: 'array', items: text }, example: 'gin', examples: { gin: { value: 1 } } },
    { name: 'f', in: 'query', content: { 'application/json': media } },
  ],
  requestBody: {
    description: 'A drink.',
    required: false,
    content: {
      'multipart/form-data': {
        schema: { type: 'object', properties: { photo: text } },
        encoding: { photo: { contentType: 'image/png', headers: { 'X-Size': media }, style: 'form', explode: true } },
      },
      'multipart/mixed': {
        schema: { type: 'array', prefixItems: [text], items: text },
        prefixEncoding: [{ contentType: 'image/png' }],
        itemEncoding: { contentType: 'image/png' },
      },
    },
  },
  responses: {
    200: {
      summary: 'Fine.',
      description: 'The drinks.',
      headers: { 'X-Total': { schema: text, required: true, deprecated: false, explode: false, style: 'simple' } },
      content: {
        'application/jsonl': { itemSchema: text, example: 'a', examples: { a: { value: 'a' } } },
        'application/json': media,
      },
      links: { next: { operationId: 'listDrinks', parameters: { q: 'x' }, requestBody: 'x', server: { url: '/x' } } },
    },
    default: { description: 'Wrong.' },
  },
  callbacks: { done: { '{$request.body#/url}': { post: { responses: { 200: { description: 'heard' } } } } } },
  deprecated: false,
  security: [{ key: ['read'] }],
  servers: [{ url: '/api' }],
};

/** A contract of OpenAPI 3.2 that uses every keyword of every object, but for those of schemas. */
export const contract: Json = {
  openapi: '3.2.0',
  $self: 'https://example.com/drinks.json',
  jsonSchemaDialect: 'https://spec.openapis.org/oas/3.1/dialect/base',
  info: { title: 'drinks', version: '1.0.0', summary: 'Drinks.', contact: { name: 'Ann' }, license: { name: 'MIT' } },
  servers: [{ url: '/api', description: 'Here.', name: 'here', variables: { x: { default: 'a', enum: ['a'] } } }],
  security: [{ key: [] }],
  tags: [{ name: 'drinks' }],
  externalDocs: { url: 'https://example.com' },
  paths: {
    '/drinks': {
      summary: 'Drinks.',
      description: 'All of them.',
      parameters: [{ name: 'X-Trace', in: 'header', schema: text }],
      get: operation,
      additionalOperations: { COPY: { responses: { 200: { description: 'copied' } } } },
    },
    '/bars': {
      servers: [{ url: '/api' }],
      get: { responses: { 200: { description: 'fine' } } },
      post: { responses: { 200: { description: 'fine' } } },
    },
  },
  webhooks: { made: { post: { responses: { 200: { description: 'heard' } } } } },
  components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
};

const get = '/paths/~1drinks/get';
const body = `${get}/requestBody/content/multipart~1form-data`;
const mixed = `${get}/requestBody/content/multipart~1mixed`;
const answer = `${get}/responses/200`;

/** What becomes of one keyword, by its place; undefined: it goes. */
export const changes: readonly (readonly [pointer: string, value: unknown])[] = [
  ['/jsonSchemaDialect', 'https://example.com/other'],
  ...['title', 'version', 'summary', 'contact', 'license'].map((key) => [`/info/${key}`, 'x'] as const),
  ['/servers/0/url', '/v2'],
  ...['description', 'name', 'variables'].map((key) => [`/servers/0/${key}`, undefined] as const),
  ...['security', 'tags', 'externalDocs', 'webhooks'].map((key) => [`/${key}`, undefined] as const),
  ...['summary', 'description', 'parameters', 'get', 'additionalOperations'].map(
    (key) => [`/paths/~1drinks/${key}`, undefined] as const,
  ),
  ['/paths/~1drinks/servers', [{ url: '/x' }]],
  ['/paths/~1bars/servers', undefined],
  ['/paths/~1bars/servers/0/url', '/v2'],
  ...Object.keys(operation).map((key) => [`${get}/${key}`, undefined] as const),
  [`${get}/servers/0/url`, '/v2'],
  ...[
    ...[['in', 'cookie'] as const, ['name', 'r'] as const, ['required', true] as const, ['deprecated', true] as const],
    ...[['style', 'pipeDelimited'] as const, ['explode', false] as const, ['schema', text] as const],
    ...[['allowReserved', true] as const, ['allowEmptyValue', true] as const, ['description', 'x'] as const],
    ...[['example', 'rum'] as const, ['examples', undefined] as const],
  ].map(([key, value]) => [`${get}/parameters/0/${key}`, value] as const),
  [`${get}/parameters/1/content/application~1json/schema`, { type: 'integer' }],
  [`${get}/requestBody/required`, true],
  ...['description', 'content'].map((key) => [`${get}/requestBody/${key}`, undefined] as const),
  [`${body}/schema`, { type: 'integer' }],
  ...['contentType', 'headers', 'style', 'explode'].map((key) => [`${body}/encoding/photo/${key}`, 'x'] as const),
  [`${body}/encoding/photo/allowReserved`, true],
  ...['prefixEncoding', 'itemEncoding'].map((key) => [`${mixed}/${key}`, undefined] as const),
  ...['summary', 'description', 'headers', 'content', 'links'].map((key) => [`${answer}/${key}`, undefined] as const),
  ...['operationId', 'operationRef', 'parameters', 'requestBody', 'description', 'server'].map(
    (key) => [`${answer}/links/next/${key}`, 'y'] as const,
  ),
  [`${answer}/headers/X-Total/required`, false],
  [`${answer}/headers/X-Total/deprecated`, true],
  [`${answer}/headers/X-Total/schema`, { type: 'array', items: text }],
  [`${answer}/content/application~1jsonl/itemSchema`, { type: 'integer' }],
  [`${answer}/content/application~1json/schema`, { type: 'integer' }],
  ...['example', 'examples'].map((key) => [`${answer}/content/application~1jsonl/${key}`, undefined] as const),
  [`${get}/callbacks/done/{$request.body#~1url}/post/responses/200`, undefined],
  [`${get}/security/0/key`, ['write']],
  ...['type', 'in', 'name'].map((key) => [`/components/securitySchemes/key/${key}`, 'x'] as const),
];
