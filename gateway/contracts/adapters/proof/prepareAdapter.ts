import type {
  AdaptedRoute,
  AdapterSettings,
  OtherTypes,
  PreparedAdapter,
  PreparedRoute,
} from '../../../config/adapterSettings.ts';
import { fingerprintOf } from '../../../config/build.ts';
import { catchingStackOverflow } from '../../../contract/failure.ts';
import type { NamedSchemas, SubSchema } from '../../../contract/schema/jsonSchema.ts';
import { checkCodeOf } from '../../../contract/schema/validator.ts';
import { type AdapterSide, contentOf, entryFor, type Responses, requestPartsOf, responsesIn } from './adaptedParts.ts';
import { parameterFormsOf } from './parameters.ts';
import { mayBeJson } from './plainParts.ts';

interface AdapterSides {
  readonly own: AdapterSide;
  readonly other: AdapterSide;
}

/**
 * Prepares the data with which the gateway serves requests by an adapter. `digests`: those of both contracts.
 * @throws CompareError for schemas nested too deeply
 */
export function prepareAdapter(
  adapter: AdapterSettings,
  sides: AdapterSides,
  digests: readonly string[],
  otherTypes: OtherTypes,
): PreparedAdapter {
  const { routes, schemas } = checkedResponses(adapter, sides);
  const { from, body } = adapter;
  const hash = fingerprintOf(
    { from, body, rows: adapter.routes },
    digests.map((digest, index) => [String(index), digest]),
  ).slice(0, 12);
  const { named } = sides.own.schemas.response;
  const checks = catchingStackOverflow('the adapter', () => checkCodeOf(schemas, named));
  return { hash, checks, routes, otherTypes };
}

/** The schemas that adapted responses have to satisfy. */
interface CheckedResponses {
  readonly routes: PreparedAdapter['routes'];
  /** These schemas, by the names that `routes` has. */
  readonly schemas: NamedSchemas;
}

export function checkedResponses(adapter: AdapterSettings, { own, other }: AdapterSides): CheckedResponses {
  const schemas: Record<string, SubSchema> = {};
  const routes = adapter.routes.flatMap((route): [string, PreparedRoute][] => {
    if ('gone' in route) return [];
    const [ownRoute, otherRoute] = [own.find(route), other.find(route.to)];
    if (!ownRoute || !otherRoute) return [];
    const name = `${route.method} ${route.path}`;
    const declared = responsesIn(ownRoute, own);
    const { accept } = responseMediaTypesOf(route, { own: declared, others: responsesIn(otherRoute, other) });
    const responses = [...declared].map(([status, response]) => {
      const content = (response['content'] ?? {}) as Readonly<Record<string, { readonly schema?: SubSchema }>>;
      const names = Object.entries(content).flatMap(([type, { schema }]): [string, string][] => {
        if (!mayBeJson(type) || schema === undefined) return [];
        const name = String(Object.keys(schemas).length);
        schemas[name] = schema;
        return [[bareType(type), name]];
      });
      return [status, new Map(names)] as const;
    });
    const parameters = parameterFormsOf(route, requestPartsOf(ownRoute, own), requestPartsOf(otherRoute, other));
    return [[name, { responses: new Map(responses), parameters, accept }]];
  });
  return { routes: new Map(routes), schemas };
}

/** The media types of the responses of an adapted route. */
export interface ResponseMediaTypes {
  /** The media types for `Accept`. Undefined: the `Accept` of the client is used, because bodies may be passed on unchanged. */
  readonly accept: readonly string[] | undefined;
  /** The media types that operations would have to change and cannot. `hasNoOperations`: the adapter lists none for the status. */
  readonly unadaptable: readonly {
    readonly status: string;
    readonly type: string;
    readonly hasNoOperations: boolean;
  }[];
}

/** `others`: the responses of the other version. */
export function responseMediaTypesOf(
  { responses: operationsByStatus }: AdaptedRoute,
  { own, others }: { readonly own: Responses; readonly others: Responses },
): ResponseMediaTypes {
  const mediaTypesOf = (responses: Responses, status: string): string[] =>
    Object.keys(contentOf(entryFor(responses, status)));
  const statuses = [...new Set([...others.keys(), ...operationsByStatus.keys()])].filter(
    (status) => mediaTypesOf(others, status).length > 0,
  );
  // Undefined: the bodies of the status are passed on unchanged.
  const operationsFor = (status: string): readonly unknown[] | undefined => {
    // The operations for `default` are not used for redirects.
    const isPassedOn = status.startsWith('3') && !operationsByStatus.has(status) && !operationsByStatus.has('3XX');
    const operations = isPassedOn ? undefined : entryFor(operationsByStatus, status);
    // With an empty list of operations, the gateway only checks JSON bodies. Without JSON, there is nothing to check.
    return operations?.length === 0 && !mediaTypesOf(own, status).some(mayBeJson) ? undefined : operations;
  };
  const changedStatuses = statuses.filter((status) => operationsFor(status) !== undefined);
  const successes = statuses.filter((status) => status.startsWith('2'));
  const replacesAccept = changedStatuses.length > 0 && successes.every((status) => changedStatuses.includes(status));
  const jsonTypes = changedStatuses.flatMap((status) => {
    const types = mediaTypesOf(others, status).filter(mayBeJson);
    const sharedTypes = types.filter((type) => mediaTypesOf(own, status).includes(type));
    return (sharedTypes.length > 0 ? sharedTypes : types).map((type) =>
      type.includes('*') ? 'application/json' : bareType(type),
    );
  });
  const unadaptable = changedStatuses.flatMap((status) => {
    const types = mediaTypesOf(others, status);
    // If `Accept` is replaced and asks for JSON, the backend sends, besides JSON, only types that the adapted version declares.
    const asksForJson = replacesAccept && types.some(mayBeJson);
    const sentTypes = asksForJson ? types.filter((type) => mediaTypesOf(own, status).includes(type)) : types;
    const remaining = sentTypes.filter((type) => !mayBeJson(type));
    return remaining.map((type) => ({ status, type, hasNoOperations: operationsFor(status)?.length === 0 }));
  });
  return { accept: replacesAccept && jsonTypes.length > 0 ? [...new Set(jsonTypes)] : undefined, unadaptable };
}

/** A media type without parameters. */
function bareType(type: string): string {
  return (type.split(';', 1)[0] ?? type).trim();
}
