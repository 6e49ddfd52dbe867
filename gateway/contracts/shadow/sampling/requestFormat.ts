import { idPattern } from '../../../config/api.ts';
import type { Instant } from '../../../shared/instant.ts';
import { printableExcerpt } from '../../../shared/text.ts';

/** The format that this release writes, and the only one that it reads. */
export const requestFormat = 1;
// The file may contain values that clients sent. They may be personal data, which must not be kept for long.
export const requestLifetimeMs = 7 * 86_400_000;

const parameterTypes = ['string', 'integer', 'number', 'boolean', 'array'] as const;
export type ParameterType = (typeof parameterTypes)[number];

export type WrittenScalar = string | number | boolean;

/** A value, or an object with a type, a value or both. */
export type WrittenParameter =
  | WrittenScalar
  | readonly WrittenScalar[]
  | { readonly type?: ParameterType; readonly value?: WrittenScalar | readonly WrittenScalar[] };

/** One request of a file. docs/replay.md describes its fields. */
export interface WrittenRequest {
  readonly route: string;
  readonly to?: string | null;
  readonly path?: Readonly<Record<string, WrittenParameter>>;
  readonly query?: Readonly<Record<string, WrittenParameter>>;
  readonly headers?: Readonly<Record<string, WrittenParameter>>;
  readonly count?: number;
}

/** The file that `shadow export` writes and `replay` reads. */
export interface RequestFile {
  readonly format: typeof requestFormat;
  readonly created?: Instant;
  /** Undefined: it does not expire. */
  readonly expires?: Instant;
  /** `v1` */
  readonly version?: string;
  readonly to?: string;
  /** The digests of the contract files, by version; null: the version has none. */
  readonly contracts?: Readonly<Record<string, string | null>>;
  readonly requests: readonly WrittenRequest[];
}

const scalar = { type: ['string', 'number', 'boolean'], maxLength: 2000 };
const typedValue = {
  properties: {
    type: { enum: parameterTypes },
    value: { type: [...scalar.type, 'array'], maxLength: 2000, items: scalar, minItems: 1, maxItems: 100 },
  },
  additionalProperties: false,
};
const writtenParameter = {
  ...typedValue,
  type: [...scalar.type, 'object', 'array'],
  maxLength: 2000,
  items: scalar,
  minItems: 1,
  maxItems: 100,
};
const instant = { type: 'string', format: 'date-time' };
const version = { type: 'string', pattern: idPattern };

/** The JSON Schema of the file. `npm run docs` writes it to docs/replay-requests.schema.json. */
export const requestFileSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Requests for version-gateway replay',
  type: 'object',
  required: ['format', 'requests'],
  additionalProperties: false,
  properties: {
    $schema: { type: 'string' },
    format: { const: requestFormat, description: 'The number of the format.' },
    created: { ...instant, description: 'When the requests were exported.' },
    expires: {
      ...instant,
      description: 'When the file expires: replay refuses it from then on. Default: it never expires.',
    },
    version: { ...version, description: 'The version whose clients sent the requests.' },
    to: { ...version, description: 'The version that it is compared with.' },
    contracts: {
      type: 'object',
      additionalProperties: { type: ['string', 'null'] },
      description: 'SHA-256 of the contract file of each version, in hexadecimal digits.',
    },
    requests: {
      type: 'array',
      maxItems: 10_000,
      items: {
        type: 'object',
        required: ['route'],
        additionalProperties: false,
        properties: {
          route: {
            type: 'string',
            maxLength: 8000,
            description:
              'GET or HEAD and the path below the version: "GET /drinks/{id}", or with values "GET /drinks/7?lang=de".',
          },
          to: {
            type: ['string', 'null'],
            maxLength: 8000,
            description:
              'The path in the new version, with the parameters of `route`. null: it has no counterpart. Default: the path of `route`, changed by `moved` of routes.yaml.',
          },
          path: {
            type: 'object',
            additionalProperties: writtenParameter,
            description: 'The path parameters, by name.',
          },
          query: {
            type: 'object',
            additionalProperties: writtenParameter,
            description: 'The query parameters, by name.',
          },
          headers: {
            type: 'object',
            additionalProperties: writtenParameter,
            description: 'The header fields, by name.',
          },
          count: {
            type: 'integer',
            minimum: 0,
            description: 'How often the request was sampled. replay does not use it.',
          },
        },
      },
    },
  },
};

// Fields that concern the connection, fields that request a part of a response or no body, and fields that replay sets.
const refusedFields =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|content-length|expect|host|if-.*|range|accept-encoding|x-shadow)$/i;

/** Why a field cannot be sent. The text does not contain its value. */
export function fieldFault(name: string, value: string): string | undefined {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name))
    return `${JSON.stringify(printableExcerpt(name))} is not the name of a field`;
  if (refusedFields.test(name)) return `${name} cannot be given, because replay controls this field`;
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
    ? undefined
    : `the value of ${name} has characters that a field cannot have`;
}

/** Whether a path or a template can be sent below the base path of a version. */
export function isUsablePath(path: string): boolean {
  if (!path.startsWith('/') || /[\s#\p{Cc}]/u.test(path)) return false;
  // A path must not lead out of the base path of a version.
  return !path.split(/[/\\]|%2f|%5c/i).some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));
}
