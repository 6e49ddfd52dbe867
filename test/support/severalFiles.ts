import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '../config/temporary.ts';

/** A contract whose path items, parameters, responses and schemas are in other files, which refer to each other and back. */
export const severalFiles: Readonly<Record<string, string>> = {
  'api.yaml': `openapi: 3.1.0
info: { title: Drinks, version: 1.0.0 }
paths:
  /drinks: { $ref: 'paths/drinks.yaml' }
  /v1/bars:
    $ref: 'paths/others.yaml#/bars~1all'
    put: { responses: { '204': { description: fine } } }
components:
  schemas:
    Price: { type: number, minimum: 1 }
    Tree: { type: object, properties: { next: { $ref: '#/components/schemas/Tree' } } }
`,
  'paths/drinks.yaml': `parameters:
  - $ref: '../shared/parameters.json#/tenant'
get:
  deprecated: true
  x-sunset: 2029-01-01
  responses:
    '200':
      description: fine
      content:
        application/json:
          schema: { type: array, items: { $ref: '../schemas/my%20drink.yaml#/Drink' } }
`,
  'paths/others.yaml': `bars/all:
  get:
    responses:
      '200': { $ref: '#/answers/ok' }
answers:
  ok:
    description: fine
    content:
      application/json:
        schema:
          oneOf: [{ $ref: '../schemas/my drink.yaml#/Drink' }, { $ref: '../schemas/my drink.yaml#/Bar' }]
          discriminator:
            propertyName: kind
            mapping: { drink: '../schemas/my drink.yaml#/Drink', bar: '../schemas/my drink.yaml#/Bar' }
`,
  'schemas/my drink.yaml': `Drink:
  type: object
  required: [kind]
  properties:
    kind: { type: string }
    price: { $ref: '../api.yaml#/components/schemas/Price' }
    bar: { $ref: '#/Bar' }
    notes: { $ref: 'missing.yaml' }
    picture: { $ref: 'https://schemas.example/picture.json' }
Bar:
  type: object
  required: [kind]
  properties: { kind: { type: string }, drinks: { type: array, items: { $ref: '#/Drink' } } }
`,
  'shared/parameters.json': '{"tenant":{"name":"X-Tenant","in":"header","required":true,"schema":{"type":"string"}}}',
};

/** Writes the files below a new folder. @returns the folder */
export function folderOfSeveralFiles(files: Readonly<Record<string, string>> = severalFiles): string {
  const folder = temporaryFolder();
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}
