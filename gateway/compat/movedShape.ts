import { parameterNames, type Route } from './diff/routes.ts';
import type { Documents } from './document/documents.ts';
import { below, entriesOf, isMap, itemsOf, type Located } from './document/located.ts';
import { Schemas } from './schema/schemas.ts';

/** What a path takes and gives, by names. */
export interface Shape {
  readonly methods: readonly string[];
  readonly operationIds: readonly string[];
  /** "query q", "path"; a path parameter has no name on the wire. */
  readonly parameters: ReadonlySet<string>;
  /** "GET 200 title", of the fields at the top. */
  readonly fields: ReadonlySet<string>;
}

export function shapeOf(routes: readonly Route[], documents: Documents): Shape {
  const schemas = new Schemas(documents);
  return {
    methods: routes.map(({ method }) => method),
    operationIds: routes.flatMap(({ operation }) => {
      const id = below(operation, 'operationId').value;
      return typeof id === 'string' ? [id] : [];
    }),
    parameters: new Set(routes.flatMap((route) => parametersOf(route, documents))),
    fields: new Set(routes.flatMap((route) => fieldsOf(route, documents, schemas))),
  };
}

export interface Alikeness {
  /** 0 to 1. */
  readonly score: number;
  readonly why: readonly string[];
}

export function shapeAlikeness(old: Shape, now: Shape): Alikeness {
  const [parameters, fields] = [shared(old.parameters, now.parameters), shared(old.fields, now.fields)];
  const why: string[] = [];
  if (parameters.all > 0 && parameters.both === parameters.all) why.push('the same parameters');
  if (fields.both > 0) why.push(`${fields.both} of ${old.fields.size} fields`);
  // Fields say more than parameters, of which most routes have the same few.
  return { score: 0.35 * shareOf(parameters) + 0.65 * shareOf(fields), why };
}

interface Shared {
  readonly both: number;
  readonly all: number;
}

function shared(a: ReadonlySet<string>, b: ReadonlySet<string>): Shared {
  return { both: a.intersection(b).size, all: a.union(b).size };
}

/** Of what there is in neither, nothing is to be learned. */
function shareOf({ both, all }: Shared): number {
  return all === 0 ? 0.5 : both / all;
}

function parametersOf({ path, operation, item }: Route, documents: Documents): string[] {
  const written = [operation, item].flatMap((holder) => itemsOf(below(holder, 'parameters')));
  const named = written.map((one) => documents.resolve(one).value).filter(isMap);
  const others = named.filter((one) => one['in'] !== 'path').map((one) => `${one['in']} ${one['name']}`);
  return [...parameterNames(path).map((_name, index) => `path ${index}`), ...others];
}

function fieldsOf({ method, operation }: Route, documents: Documents, schemas: Schemas): string[] {
  const request = contentFields(documents.resolve(below(operation, 'requestBody')), schemas);
  const responses = entriesOf(below(operation, 'responses')).filter(([status]) => status.startsWith('2'));
  const given = responses.flatMap(([, response]) => contentFields(documents.resolve(response), schemas));
  return [...request.map((name) => `${method} in ${name}`), ...given.map((name) => `${method} out ${name}`)];
}

function contentFields(holder: Located, schemas: Schemas): string[] {
  return entriesOf(below(holder, 'content')).flatMap(([, media]) => {
    const schema = below(media, 'schema');
    if (!isMap(schema.value)) return [];
    const { view } = schemas.of(schema);
    const inner = view.properties.size > 0 ? view : view.items?.schema.view;
    return [...(inner?.properties.keys() ?? [])];
  });
}
