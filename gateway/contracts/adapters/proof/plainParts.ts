import { below, entriesOf, itemsOf, type Located } from '../../../contract/document/located.ts';
import type { Route } from '../../../contract/routes.ts';
import type { JsonSchemas, PlainSchema } from '../../../contract/schema/jsonSchema.ts';
import { isMap } from '../../../shared/json.ts';

/** A response, a request body or a parameter as plain data. */
export type PlainPart = Readonly<Record<string, unknown>>;

/** The responses of an operation by status: `200`, `4XX`, `default`. */
export function responsesOf({ operation }: Route, schemas: JsonSchemas): Map<string, PlainPart> {
  return new Map(
    entriesOf(below(operation, 'responses'))
      .filter(([status]) => !status.startsWith('x-'))
      .map(([status, written]) => {
        const response = schemas.resolved(written);
        const headers = entriesOf(below(response, 'headers')).map(([name, writtenHeader]) => {
          const header = schemas.resolved(writtenHeader);
          return [name, { ...plain(header), ...schemaIn(header, schemas) }] as const;
        });
        const part = { description: '', headers: fromEntries(headers), content: contentOf(response, schemas) };
        return [status === 'default' ? status : status.toUpperCase(), part] as const;
      }),
  );
}

export function requestBodyOf({ operation }: Route, schemas: JsonSchemas): PlainPart | undefined {
  const written = below(operation, 'requestBody');
  if (!isMap(written.value)) return undefined;
  const body = schemas.resolved(written);
  return { required: below(body, 'required').value === true, content: contentOf(body, schemas) };
}

/** The parameters of an operation and of its path item. Key: place and name, such as `query limit`. */
export function parametersOf({ item, operation }: Route, schemas: JsonSchemas): Map<string, PlainPart> {
  const lists = [schemas.resolved(item), operation].map((holder) => itemsOf(below(holder, 'parameters')));
  return new Map(
    lists.flat().map((written) => {
      const parameter = schemas.resolved(written);
      const part = { ...plain(parameter), ...schemaIn(parameter, schemas) };
      return [`${part['in']} ${part['name']}`, part] as const;
    }),
  );
}

/** The members of a header or parameter as in the contract, without examples and description. `schemaIn` converts the schema. */
function plain({ value }: Located): PlainPart {
  if (!isMap(value)) return {};
  const { example: _example, examples: _examples, description: _description, ...otherMembers } = value;
  return otherMembers;
}

/** The member `content` or `schema` of a header, a parameter or a media type. Empty if it has none. */
function schemaIn(located: Located, schemas: JsonSchemas): PlainPart {
  const content = below(located, 'content');
  if (isMap(content.value)) return { content: contentOf(located, schemas) };
  const schema = below(located, 'schema');
  return schema.value === undefined ? {} : { schema: schemas.schema(schema) };
}

function contentOf(holder: Located, schemas: JsonSchemas): PlainPart {
  return fromEntries(
    entriesOf(below(holder, 'content')).map(([type, media]) => [type.toLowerCase(), schemaIn(media, schemas)]),
  );
}

/** `Object.fromEntries` with the type `PlainSchema`. Even an entry `__proto__` becomes an own member. */
export function fromEntries(entries: Iterable<readonly [name: string, value: unknown]>): PlainSchema {
  return Object.fromEntries(entries);
}

/** Whether bodies of a media type, or of a range such as all types, may be JSON. */
export function mayBeJson(type: string): boolean {
  return isJsonType(type) || /^(?:\*\/\*|application\/\*|text\/json)\s*(?:;|$)/i.test(type);
}

/** Whether bodies of a media type are JSON. */
export function isJsonType(type: string): boolean {
  return /^application\/(?:json|[\w.+-]+\+json)\s*(?:;|$)/i.test(type);
}
