import { segmentOf } from '../../../config/api.ts';
import type { Documents } from '../../../contract/document/documents.ts';
import { below, entriesOf, isList, itemsOf, type Located } from '../../../contract/document/located.ts';
import { type Route, routesOf } from '../../../contract/routes.ts';
import { JsonSchemas, type PlainSchema } from '../../../contract/schema/jsonSchema.ts';
import { schemaPolicies } from '../../../contract/schema/policies.ts';
import { Schemas } from '../../../contract/schema/schemas.ts';
import { isMap } from '../../../shared/json.ts';
import { PathTable, parameterValuesOf, translatePath } from '../../../shared/pathTable.ts';
import { pathWithoutIds } from '../../../usage/counting/routeNames.ts';
import { SchemaSampler } from '../../adapters/proof/schemaSampler.ts';
import { ContractResponses } from '../compare/responses.ts';
import { fieldFault, type ParameterType } from '../sampling/requestFormat.ts';
import type { NamedParameter, RecordedRequest } from './requestFile.ts';

type ParameterPlace = 'path' | 'query' | 'header';

/** The routes and parameters of one of the two versions. */
export class ReplayedContract {
  /** Undefined: the version has no contract. */
  readonly documents: Documents | undefined;
  readonly responses: ContractResponses;
  readonly #routes: ReadonlyMap<string, Route>;
  readonly #paths: PathTable<string>;
  readonly #schemas: Schemas | undefined;
  readonly #jsonSchemas: JsonSchemas | undefined;

  /** `version`: its segment is removed from the start of the paths of the contract. @throws CompareError */
  constructor(documents: Documents | undefined, version: string) {
    this.documents = documents;
    this.responses = new ContractResponses(documents, version);
    this.#routes = documents ? routesOf(documents, segmentOf(version)) : new Map();
    const templates = [...this.#routes.values()].filter(({ kind }) => kind === 'route').map(({ path }) => path);
    this.#paths = new PathTable([...new Set(templates)].map((path) => [path, path]));
    this.#schemas = documents && new Schemas(documents);
    this.#jsonSchemas = documents && new JsonSchemas(documents, schemaPolicies.description);
  }

  get templates(): readonly string[] {
    return this.#paths.entries().map(([template]) => template);
  }

  /** The template in the contract that matches `path`. `path` may be a template with other names. Undefined: none matches. */
  templateOf(path: string): string | undefined {
    return this.#paths.find(path)?.template;
  }

  routeOf(method: string, template: string | undefined): Route | undefined {
    const methods = method === 'HEAD' ? ['HEAD', 'GET'] : [method];
    return methods.map((one) => this.#routes.get(`route ${one} ${template}`)).find((route) => route !== undefined);
  }

  /** The parameters of a route at one place, by name. Those of the operation override those of its path. */
  parametersOf(route: Route | undefined, place: ParameterPlace): Map<string, Located> {
    const { documents } = this;
    if (route === undefined || documents === undefined) return new Map();
    const parameters = [documents.resolve(route.item), route.operation].flatMap((holder) =>
      itemsOf(below(holder, 'parameters')).map((one) => documents.resolve(one)),
    );
    const placed = parameters.filter((one) => below(one, 'in').value === place);
    return new Map(placed.map((one) => [String(below(one, 'name').value), one]));
  }

  /** The values that the contract has for a parameter: the examples, or else defaults and constants, or else the allowed values. */
  examplesOf(parameter: Located): unknown[] {
    const { documents } = this;
    if (documents === undefined) return [];
    const holders = [parameter, ...entriesOf(below(parameter, 'content')).map(([, media]) => media)];
    const ownExamples = holders.flatMap((holder) => [
      below(holder, 'example').value,
      ...entriesOf(below(holder, 'examples')).map(([, one]) => below(documents.resolve(one), 'value').value),
    ]);
    const schemas = this.#schemasOf(parameter);
    const schemaParts = schemas.flatMap((one) => this.#schemas?.schemaAt(one).parts.map(({ map }) => map) ?? []);
    const schemaExamples = schemaParts.flatMap((map) => [
      map['example'],
      ...(isList(map['examples']) ? map['examples'] : []),
    ]);
    const defaults = schemaParts.flatMap((map) => [map['default'], map['const']]);
    const allowed = schemas.flatMap((one) => [...(this.#schemas?.schemaAt(one).view.enumValues?.values() ?? [])]);
    const candidates = [[...ownExamples, ...schemaExamples], defaults, allowed.map(({ value }) => value)];
    return (
      candidates
        .map((list) => list.filter((value) => value !== undefined && value !== null))
        .find((list) => list.length > 0) ?? []
    );
  }

  /** A generator of values for the schema of a parameter, or for `type` without a schema. It returns undefined if it finds no value. */
  samplerOf(parameter: Located | undefined, type: ParameterType): () => unknown {
    const [schema] = parameter ? this.#schemasOf(parameter) : [];
    const plain = schema && this.#jsonSchemas ? this.#jsonSchemas.schema(schema) : {};
    const sampler = new SchemaSampler(this.#jsonSchemas?.named ?? {}, { direction: 'request', seed: 1 });
    const simpleSchema = withSimpleValues(typeof plain === 'object' ? plain : {}, type);
    return () => sampler.next(simpleSchema);
  }

  #schemasOf(parameter: Located): Located[] {
    const holders = [parameter, ...entriesOf(below(parameter, 'content')).map(([, media]) => media)];
    return holders.map((holder) => below(holder, 'schema')).filter(({ value }) => isMap(value));
  }
}

/** Prefers short words and small numbers, which a backend accepts more probably. An array without a schema gets one text. */
function withSimpleValues(schema: PlainSchema, type: ParameterType): PlainSchema {
  const isTyped = ['$ref', 'type', 'enum', 'const', 'allOf', 'oneOf', 'anyOf'].some((key) => key in schema);
  const typed: PlainSchema = isTyped ? schema : { ...schema, type: type === 'array' ? 'string' : type };
  const isUnrestricted = !['pattern', 'format', 'enum', 'const', 'minLength', 'maxLength'].some((key) => key in typed);
  if (typed['type'] === 'string' && isUnrestricted) return { ...typed, pattern: '^[a-z]{3,6}$' };
  const isNumber = typed['type'] === 'integer' || typed['type'] === 'number';
  const isUnlimited = !['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'enum', 'const'].some(
    (key) => key in typed,
  );
  return isNumber && isUnlimited ? { ...typed, minimum: 1, maximum: 9 } : typed;
}

/** One request, as it is sent to both versions. */
export interface ReplayedRequest {
  readonly method: 'GET' | 'HEAD';
  /** The path of the contract of the old version, as in reports. */
  readonly template: string;
  /** Undefined: the contract of the new version does not have the path. */
  readonly toTemplate: string | undefined;
  /** The path and the query, below the base path of the server's URL. */
  readonly oldTarget: string;
  readonly newTarget: string;
  /** For each server: whether the version, `/v1`, is added to its URL. A URL that already ends with the version is not changed. */
  readonly isVersioned: RecordedRequest['isVersioned'];
  readonly fields: readonly HeaderField[];
}

export type HeaderField = readonly [name: string, value: string];

/** Makes the request of one entry of a file. If the file has no value for a parameter, each round uses the next example. */
export type RequestMaker = (round: number) => ReplayedRequest;

/** A route that was not compared completely, with a reason. */
export interface UncomparedRoute {
  readonly route: string;
  readonly why: string;
}

export interface ReplayedVersions {
  readonly old: ReplayedContract;
  readonly new: ReplayedContract;
  /** Translates a path of the old version to the new version. Undefined: the path has no counterpart. */
  readonly toNewPath: (path: string) => string | undefined;
}

/** Completes a request with values from the contracts. @throws CompareError for a broken `$ref` */
export function requestMaker(request: RecordedRequest, versions: ReplayedVersions): RequestMaker | UncomparedRoute {
  const { method, path, to, isVersioned } = request;
  const { old } = versions;
  const templateInFile = path.includes('{') ? path : pathWithoutIds(path);
  const templateFor = (one: string): string => old.templateOf(one) ?? templateInFile;
  const route = `${method} ${templateFor(path)}`;
  if (to === null) return { route, why: 'it has no counterpart in the new version' };
  /** Name of a path parameter → its values. */
  const valuesInPath = new Map<string, ValuesOfRound>();
  for (const parameter of request.pathParameters) {
    const values = pathValues(parameter, request, versions);
    if (values === undefined)
      return {
        route,
        why: `the path parameter {${parameter.name}} has no value: write it in the file, or an example in the contract`,
      };
    valuesInPath.set(parameter.name, values);
  }
  const oldRoute = old.routeOf(method, old.templateOf(path));
  const declaredQuery = old.parametersOf(oldRoute, 'query');
  const declaredHeaders = old.parametersOf(oldRoute, 'header');
  const query = withRequired(request.query, declaredQuery).map((one): [string, ValuesOfRound] => [
    one.name,
    valuesFor(one, old, declaredQuery.get(one.name), { mayGenerate: true }),
  ]);
  const headers = withRequired(request.headers, declaredHeaders).map((one): [string, ValuesOfRound] => [
    one.name,
    valuesFor(one, old, findHeader(declaredHeaders, one.name), { mayGenerate: false }),
  ]);
  const requestOf = (round: number): ReplayedRequest | undefined => {
    const filled = (template: string | undefined): string | undefined =>
      template?.replace(/\{([^{}]*)\}/g, (_all, name) => (valuesInPath.get(name)?.(round) ?? []).map(encoded).join());
    const oldPath = filled(path) ?? '';
    const newPath = to === undefined ? versions.toNewPath(oldPath) : filled(to ?? undefined);
    if (newPath === undefined) return undefined;
    const parts = query.flatMap(([name, values]) => values(round).map((value) => `${encoded(name)}=${encoded(value)}`));
    const search = parts.length === 0 ? '' : `?${parts.join('&')}`;
    return {
      method,
      template: templateFor(oldPath),
      toTemplate: versions.new.templateOf(newPath),
      oldTarget: oldPath + search,
      newTarget: newPath + search,
      isVersioned,
      fields: headers.flatMap(([name, values]) => {
        const items = values(round);
        const value = items.join(',');
        return items.length === 0 || fieldFault(name, value) !== undefined ? [] : [[name, value] as const];
      }),
    };
  };
  const firstRequest = requestOf(0);
  if (firstRequest === undefined) return { route, why: 'it has no counterpart in the new version' };
  // The new version would refuse a request without a parameter that its contract requires.
  const newDeclaredQuery = versions.new.parametersOf(versions.new.routeOf(method, firstRequest.toTemplate), 'query');
  const queryNames = query.map(([name]) => name);
  const [missing] = missingRequired(queryNames, newDeclaredQuery);
  if (missing !== undefined)
    return {
      route,
      why: `the new version requires the query parameter ${missing.name}, and the request does not have it`,
    };
  return (round) => requestOf(round) ?? firstRequest;
}

/** Returns the values of a parameter in one round. Empty: the parameter is not sent. */
type ValuesOfRound = (round: number) => readonly string[];

/** Uses only values from the file and the contracts, because both versions would answer 404 for a guessed value. */
function pathValues(
  { name, values }: NamedParameter,
  { method, path, to }: RecordedRequest,
  versions: ReplayedVersions,
): ValuesOfRound | undefined {
  if (values !== undefined) return () => values;
  const newPath = typeof to === 'string' ? translatePath(path, path, to) : versions.toNewPath(path);
  for (const [contract, pathInContract] of [
    [versions.old, path],
    [versions.new, newPath],
  ] as const) {
    const template = pathInContract === undefined ? undefined : contract.templateOf(pathInContract);
    if (template === undefined || pathInContract === undefined) continue;
    const [nameInContract] =
      parameterValuesOf(pathInContract, template).find(([, value]) => value === `{${name}}`) ?? [];
    const parameter =
      nameInContract === undefined
        ? undefined
        : contract.parametersOf(contract.routeOf(method, template), 'path').get(nameInContract);
    const examples = parameter ? contract.examplesOf(parameter).map((value) => serialized(value, parameter)) : [];
    // An empty segment, `.` or `..` would change the path.
    const usableExamples = examples.filter((texts) => !/^\.{0,2}$/.test(texts.join()));
    if (usableExamples.length > 0) return (round) => usableExamples[round % usableExamples.length] ?? [];
  }
  return undefined;
}

function valuesFor(
  { values, type }: NamedParameter,
  contract: ReplayedContract,
  parameter: Located | undefined,
  { mayGenerate }: { readonly mayGenerate: boolean },
): ValuesOfRound {
  if (values !== undefined) return () => values;
  const examples = parameter ? contract.examplesOf(parameter) : [];
  if (examples.length > 0) return (round) => serialized(examples[round % examples.length], parameter);
  if (!mayGenerate) return () => [];
  const sample = contract.samplerOf(parameter, type);
  return () => serialized(sample(), parameter);
}

/** Adds the parameters that the contract requires and the request does not have. */
function withRequired(given: readonly NamedParameter[], parameters: ReadonlyMap<string, Located>): NamedParameter[] {
  const names = given.map(({ name }) => name);
  return [...given, ...missingRequired(names, parameters)];
}

/** Only the names of header fields are case-insensitive. */
function missingRequired(names: readonly string[], parameters: ReadonlyMap<string, Located>): NamedParameter[] {
  const isSame = (given: string, name: string, one: Located): boolean =>
    given === name || (below(one, 'in').value === 'header' && given.toLowerCase() === name.toLowerCase());
  return [...parameters]
    .filter(([name, one]) => below(one, 'required').value === true && !names.some((given) => isSame(given, name, one)))
    .map(([name]) => ({ name, type: 'string', values: undefined }));
}

function findHeader(parameters: ReadonlyMap<string, Located>, name: string): Located | undefined {
  return [...parameters].find(([one]) => one.toLowerCase() === name.toLowerCase())?.[1];
}

/** The texts of a parameter in the query, or the items of a path parameter or header field. Objects are not sent. */
function serialized(value: unknown, parameter: Located | undefined): string[] {
  if (isScalar(value)) return [String(value)];
  const items = isList(value) ? value.filter(isScalar).map(String) : [];
  const [explode, style] = ['explode', 'style'].map((key) => parameter && below(parameter, key).value);
  const delimiter = style === 'pipeDelimited' ? '|' : style === 'spaceDelimited' ? ' ' : ',';
  return (explode ?? delimiter === ',') || items.length === 0 ? items : [items.join(delimiter)];
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
