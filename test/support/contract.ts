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

/** A response that was received. */
export interface Answer {
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
    // Allows the top-level keys of the document in its role as a schema. A misspelt keyword in a schema still throws.
    this.#ajv.addVocabulary(Object.keys(this.#document));
    this.#ajv.addSchema(this.#document, 'contract');
  }

  /** Every operation with each of its statuses: `GET /cocktails 200`. */
  statuses(): string[] {
    return [...this.operations].flatMap(([name, { responses }]) =>
      Object.keys(responses).map((status) => `${name} ${status}`),
    );
  }

  /** What the contract does not allow in `answer`; empty if it is valid. */
  faults(operation: string, answer: Answer): string[] {
    const declared = this.operations.get(operation)?.responses[answer.status];
    if (declared === undefined) return [`${operation} ${answer.status} is not declared`];
    const { headers = {}, content } = this.resolve(declared);
    return [...this.#headerFaults(headers, answer.headers), ...this.#bodyFaults(content, answer)];
  }

  /** Whether `body` is a valid JSON request body of the operation. */
  accepts(operation: string, body: unknown): boolean {
    const schema = this.operations.get(operation)?.requestBody?.content['application/json']?.schema;
    if (schema === undefined) throw new Error(`${operation} takes no JSON`);
    return this.#compile(schema)(body) === true;
  }

  /** The examples of bodies that do not fit their own schema. */
  wrongExamples(): string[] {
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

  #bodyFaults(content: Record<string, Media> | undefined, answer: Answer): string[] {
    if (content === undefined) return answer.text === '' ? [] : ['there is a body where none is declared'];
    const type = answer.headers.get('content-type')?.split(';')[0] ?? 'none';
    const media = content[type];
    return media ? this.#schemaFaults(media.schema, JSON.parse(answer.text)) : [`content type ${type} is not declared`];
  }

  #schemaFaults(schema: Schema, value: unknown): string[] {
    const validate = this.#compile(schema);
    validate(value);
    return (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
  }

  #compile(schema: Schema): ValidateFunction {
    // Refers to the document by name: a schema that is compiled alone would resolve `#/components` within itself.
    return this.#ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"contract#/')));
  }
}
