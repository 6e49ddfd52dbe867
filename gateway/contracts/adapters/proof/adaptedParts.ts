import type { AdaptedRoute, Operation } from '../../../config/adapterSettings.ts';
import type { Path } from '../../../config/fault.ts';
import { Documents } from '../../../contract/document/documents.ts';
import { below, isList } from '../../../contract/document/located.ts';
import { type Route, routesOf } from '../../../contract/routes.ts';
import { JsonSchemas, type NamedSchemas, refPrefix, type SubSchema } from '../../../contract/schema/jsonSchema.ts';
import { schemaPolicies } from '../../../contract/schema/policies.ts';
import { SchemaValidator } from '../../../contract/schema/validator.ts';
import { membersOf } from '../../../shared/json.ts';
import { type ParameterParts, parameterObject, parametersIn } from './parameters.ts';
import { fromEntries, mayBeJson, type PlainPart, parametersOf, requestBodyOf, responsesOf } from './plainParts.ts';

type Direction = 'request' | 'response';

/** One side of an adapter: a contract with its routes. */
export class AdapterSide {
  readonly schemas: Readonly<Record<Direction, JsonSchemas>>;
  readonly validators: Readonly<Record<Direction, SchemaValidator>>;
  readonly #documents: Documents;
  readonly #routes: readonly Route[];

  constructor(documents: Documents, segment: string) {
    const request = new JsonSchemas(documents, schemaPolicies.adaptedRequest);
    const response = new JsonSchemas(documents, schemaPolicies.adaptedResponse);
    this.schemas = { request, response };
    this.validators = { request: new SchemaValidator(request), response: new SchemaValidator(response) };
    this.#documents = documents;
    this.#routes = [...routesOf(documents, segment).values()].filter(({ kind }) => kind === 'route');
  }

  /** The route with this method and this template. The names of path parameters may differ. */
  find({ method, path }: { readonly method: string; readonly path: string }): Route | undefined {
    const shape = path.replace(/\{[^{}]*\}/g, '{}');
    return this.#routes.find((one) => one.method === method && one.path.replace(/\{[^{}]*\}/g, '{}') === shape);
  }

  /** A contract for a comparison. It has one OpenAPI operation and the schemas that this operation uses. */
  withOperation(direction: Direction, { name, method, path }: ComparedOperation, operation: PlainPart): Documents {
    const components = {
      schemas: schemasUsedBy(operation, this.schemas[direction].named),
      securitySchemes: this.#securitySchemesOf(operation),
    };
    const paths = { [path]: { [method.toLowerCase()]: operation } };
    const root = { openapi: '3.1.0', info: { title: name, version: '1' }, paths, components };
    return new Documents({ name, root }, () => {
      throw new TypeError('this contract refers to no other file');
    });
  }

  /** The requirements that apply to operations without their own. */
  get security(): unknown {
    return membersOf(this.#documents.root.value)['security'];
  }

  /** The security schemes that an operation requires. A scheme may be in another file, which the new contract does not have. */
  #securitySchemesOf({ security }: PlainPart): PlainPart {
    const declared = below(below(this.#documents.root, 'components'), 'securitySchemes');
    const names = new Set((isList(security) ? security : []).flatMap((one) => Object.keys(membersOf(one))));
    return fromEntries([...names].map((name) => [name, this.#documents.resolve(below(declared, name)).value]));
  }
}

/** An OpenAPI operation that is compared. */
interface ComparedOperation {
  /** `/v1` */
  readonly name: string;
  readonly method: string;
  readonly path: string;
}

/** A part of a request or response that the operations of an adapter change, such as the body of a 200. */
export interface AdaptedPart {
  readonly place: Path;
  /** `response 200`, `request body`, `query`. */
  readonly what: string;
  /** The schema before the operations. */
  readonly from: SubSchema;
  readonly operations: readonly Operation[];
  /** What the receiving contract allows. Undefined: that contract does not describe this part. */
  readonly to: SubSchema | undefined;
  readonly direction: Direction;
}

/** Applies the operations of a part to its schema. */
export type ApplyToSchema = (part: AdaptedPart) => SubSchema;

export type Responses = ReadonlyMap<string, PlainPart>;

/** The entry for a status: that of the status, of its class (`4XX`), or `default`. */
export function entryFor<Entry>(entries: ReadonlyMap<string, Entry>, status: string): Entry | undefined {
  return entries.get(status) ?? entries.get(`${status.slice(0, 1)}XX`) ?? entries.get('default');
}

/**
 * The responses of the other version after the operations. Key: a status that the adapter or the contract of the other version
 * lists. If only the adapter lists it, the `4XX` or `default` of that contract is used. `own`: the responses of the adapted version.
 */
export function adaptedResponses(
  route: AdaptedRoute,
  { own, others }: { readonly own: Responses; readonly others: Responses },
  placeOf: (status: string) => Path,
  apply: ApplyToSchema,
): Map<string, PlainPart> {
  const statuses = new Set([...others.keys(), ...route.responses.keys()]);
  return new Map(
    [...statuses].flatMap((status) => {
      const response = entryFor(others, status);
      if (!response) return [];
      const operations = entryFor(route.responses, status) ?? [];
      const expected = contentOf(entryFor(own, status));
      const content = Object.entries(contentOf(response)).map(([type, media]) => {
        if (!mayBeJson(type)) return [type, media] as const;
        const part: AdaptedPart = {
          place: placeOf(status),
          what: `response ${status}`,
          from: schemaOf(media) ?? {},
          operations,
          to: schemaOf(mediaFor(type, expected)),
          direction: 'response',
        };
        return [type, { ...media, schema: apply(part) }] as const;
      });
      return [[status, { ...response, content: fromEntries(content) }] as const];
    }),
  );
}

/** An OpenAPI operation that describes the requests of the adapted version after the operations of the adapter. */
export function adaptedRequest(
  route: AdaptedRoute,
  { own, other }: { readonly own: RequestParts; readonly other: RequestParts },
  placeOf: (part: string) => Path,
  apply: ApplyToSchema,
): PlainPart & { readonly parameters: readonly PlainPart[] } {
  const parameters = (['path', 'query'] as const).flatMap((where) => {
    const part: AdaptedPart = {
      place: placeOf(where),
      what: where,
      from: parameterObject(own, where, route.path),
      operations: route.request[where],
      // No other side: the parameters are compared later, with the rest of the operation.
      to: undefined,
      direction: 'request',
    };
    return parametersIn(apply(part), where, { own, other }, part.operations);
  });
  const headersAndCookies = [...own.parameters]
    .filter(([key]) => /^(?:header|cookie) /.test(key))
    .map(([, part]) => part);
  const { body } = own;
  const expected = contentOf(other.body);
  const content = Object.entries(contentOf(body)).map(([type, media]) => {
    if (!mayBeJson(type)) return [type, media] as const;
    const part: AdaptedPart = {
      place: placeOf('body'),
      what: 'request body',
      from: schemaOf(media) ?? {},
      operations: route.request.body,
      to: schemaOf(mediaFor(type, expected)),
      direction: 'request',
    };
    return [type, { ...media, schema: apply(part) }] as const;
  });
  const requestBody = body === undefined ? {} : { requestBody: { ...body, content: fromEntries(content) } };
  return { ...own.security, parameters: [...parameters, ...headersAndCookies], ...requestBody, responses: {} };
}

export interface RequestParts extends ParameterParts {
  readonly body: PlainPart | undefined;
  /** The security requirements, if there are any. */
  readonly security: PlainPart;
}

export function requestPartsOf(route: Route, side: AdapterSide): RequestParts {
  const { security = side.security } = route.operation.value as { readonly security?: unknown };
  const schemas = side.schemas.request;
  return {
    parameters: parametersOf(route, schemas),
    named: schemas.named,
    body: requestBodyOf(route, schemas),
    security: security === undefined ? {} : { security },
  };
}

export function responsesIn(route: Route, side: AdapterSide): Responses {
  return responsesOf(route, side.schemas.response);
}

export function contentOf(part: PlainPart | undefined): Readonly<Record<string, PlainPart>> {
  return membersOf(part?.['content']);
}

/** The entry of a media type in a `content`, or of the first JSON type if it does not list the media type. */
function mediaFor(type: string, content: Readonly<Record<string, PlainPart>>): PlainPart | undefined {
  return content[type] ?? Object.entries(content).find(([otherType]) => mayBeJson(otherType))?.[1];
}

function schemaOf(media: PlainPart | undefined): SubSchema | undefined {
  return media?.['schema'] as SubSchema | undefined;
}

/** The named schemas that a part of a contract refers to, directly or indirectly. A comparison of the part needs only these. */
function schemasUsedBy(part: unknown, named: NamedSchemas): NamedSchemas {
  const used: Record<string, SubSchema> = {};
  const waiting: unknown[] = [part];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next === 'object' && next !== null) waiting.push(...Object.values(next));
    // A `$ref`, or the target of a discriminator.
    if (typeof next !== 'string' || !next.startsWith(refPrefix)) continue;
    const name = next.slice(refPrefix.length);
    if (Object.hasOwn(used, name) || !Object.hasOwn(named, name)) continue;
    used[name] = named[name] ?? true;
    waiting.push(used[name]);
  }
  return used;
}
