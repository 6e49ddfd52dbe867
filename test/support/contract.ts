import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';

export interface Reference {
  $ref: string;
}
export interface Schema {
  $ref?: string;
  type?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  enum?: unknown[];
}
export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: Schema;
}
interface Media {
  schema: Schema;
  example: unknown;
}
interface Header {
  required?: boolean;
  schema: Schema;
}
interface Response {
  headers?: Record<string, Header | Reference>;
  content?: Record<string, Media>;
}
export interface Operation {
  parameters?: (Parameter | Reference)[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, Response | Reference>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
}

/** A response to check. */
export interface ReceivedResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** An OpenAPI 3.1 document that responses are checked against. Operations are named as in `GET /cocktails/{id}`. */
export class Contract {
  readonly text: string;
  readonly operations: ReadonlyMap<string, Operation>;
  readonly #document: Document;
  readonly #ajv = new Ajv2020({ allErrors: true });

  static read(file: string): Contract {
    return new Contract(readFileSync(file, 'utf8'));
  }

  constructor(text: string) {
    this.text = text;
    this.#document = parse(text);
    this.operations = new Map(
      Object.entries(this.#document.paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation]),
      ),
    );
    addFormats.default(this.#ajv);
    // Ajv reads the document as a schema and rejects unknown keywords, so its top-level keys must be allowed.
    this.#ajv.addVocabulary(Object.keys(this.#document));
    this.#ajv.addSchema(this.#document, 'contract');
  }

  /** All operations with their statuses, such as `GET /cocktails 200`. */
  statuses(): string[] {
    return [...this.operations].flatMap(([name, { responses }]) =>
      Object.keys(responses).map((status) => `${name} ${status}`),
    );
  }

  /** Why the contract does not allow the response; empty if it does. */
  faults(operation: string, response: ReceivedResponse): string[] {
    const declared = this.operations.get(operation)?.responses[response.status];
    if (declared === undefined) return [`${operation} ${response.status} is not declared`];
    const { headers = {}, content } = this.resolve(declared);
    return [...this.#headerFaults(headers, response.headers), ...this.#bodyFaults(content, response)];
  }

  /** Whether `body` is a valid JSON request body of the operation. */
  accepts(operation: string, body: unknown): boolean {
    const schema = this.operations.get(operation)?.requestBody?.content['application/json']?.schema;
    if (schema === undefined) throw new Error(`${operation} has no JSON body`);
    return this.#compile(schema)(body) === true;
  }

  /** The examples of bodies that do not match their schema. */
  invalidExamples(): string[] {
    return [...this.operations].flatMap(([name, { requestBody, responses }]) => {
      const bodies = [requestBody, ...Object.values(responses).map((response) => this.resolve(response))];
      const media = bodies.flatMap((body) => Object.values(body?.content ?? {}));
      return media.flatMap(({ schema, example }) =>
        this.#schemaFaults(schema, example).map((fault) => `${name}: ${fault}`),
      );
    });
  }

  /** `node` itself, or the target of its `$ref`. Throws if there is no target. */
  resolve<Node extends object>(node: Node | Reference): Node {
    if (!('$ref' in node) || typeof node.$ref !== 'string') return node as Node;
    let found: unknown = this.#document;
    for (const key of node.$ref.replace(/^#\//, '').split('/')) found = (found as Record<string, unknown>)[key];
    if (found === undefined) throw new Error(`${node.$ref} has no target`);
    return found as Node;
  }

  #headerFaults(declared: Record<string, Header | Reference>, actual: Headers): string[] {
    return Object.entries(declared).flatMap(([name, header]) => {
      const { required = false, schema } = this.resolve(header);
      const value = actual.get(name);
      if (value === null) return required ? [`${name} is missing`] : [];
      return this.#schemaFaults(schema, value).map((fault) => `${name}: ${fault}`);
    });
  }

  #bodyFaults(content: Record<string, Media> | undefined, response: ReceivedResponse): string[] {
    if (content === undefined) return response.text === '' ? [] : ['the body is not declared'];
    const type = response.headers.get('content-type')?.split(';')[0] ?? 'none';
    const media = content[type];
    return media
      ? this.#schemaFaults(media.schema, JSON.parse(response.text))
      : [`content type ${type} is not declared`];
  }

  #schemaFaults(schema: Schema, value: unknown): string[] {
    const validate = this.#compile(schema);
    validate(value);
    return (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
  }

  #compile(schema: Schema): ValidateFunction {
    // References get the name of the document: Ajv would look up `#/components` in the compiled schema itself.
    return this.#ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"contract#/')));
  }
}
