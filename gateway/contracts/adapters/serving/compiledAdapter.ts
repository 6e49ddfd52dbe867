import type {
  AdaptedRoute,
  AdapterSettings,
  GoneRoute,
  Operation,
  OtherTypes,
  ParameterForms,
} from '../../../config/adapterSettings.ts';
import { PathTable, pathTranslation } from '../../../shared/pathTable.ts';
import { type Transform, transformedPath, transformedQuery } from './parameterTexts.ts';
import { compileOperations } from './transform.ts';

/**
 * The parts of an adapted version that its adapter needs. The adapted version is the one that clients call, such as v1. The other
 * version is the one whose backend answers, such as v2.
 */
export interface AdapterScope {
  readonly settings: AdapterSettings;
  /** Changes with the settings and with both contracts. */
  readonly hash: string;
  /**
   * All path templates of the adapted version, adapted or not: `/drinks/{id}` must not match `/drinks/mine` if the contract has
   * both.
   */
  readonly templates: readonly string[];
}

/** The routes of an adapter, compiled once for all requests. */
export class CompiledAdapter {
  readonly settings: AdapterSettings;
  readonly hash: string;
  readonly #table: PathTable<ReadonlyMap<string, CompiledRoute | GoneRoute>>;

  constructor({ settings, hash, templates }: AdapterScope) {
    this.settings = settings;
    this.hash = hash;
    const derived = settings.derivedFromContracts;
    const byPath = new Map<string, Map<string, CompiledRoute | GoneRoute>>();
    for (const route of settings.routes) {
      const byMethod = byPath.get(route.path) ?? new Map<string, CompiledRoute | GoneRoute>();
      const forms = derived?.routes.get(`${route.method} ${route.path}`)?.parameters;
      byMethod.set(route.method, 'gone' in route ? route : new CompiledRoute(route, forms, derived?.otherTypes));
      byPath.set(route.path, byMethod);
    }
    for (const template of templates) if (!byPath.has(template)) byPath.set(template, new Map());
    this.#table = new PathTable(byPath);
  }

  /** `path`: without version and query. Undefined: the adapter does not list the route. */
  find(method: string, path: string): CompiledRoute | GoneRoute | undefined {
    const byMethod = this.#table.find(path)?.value;
    return byMethod && (byMethod.get(method) ?? (method === 'HEAD' ? byMethod.get('GET') : undefined));
  }

  /** Any adapted route with this path, for OPTIONS. */
  findAny(path: string): CompiledRoute | undefined {
    for (const route of this.#table.find(path)?.value.values() ?? []) if (route instanceof CompiledRoute) return route;
    return undefined;
  }

  get routes(): readonly CompiledRoute[] {
    return this.#table
      .entries()
      .flatMap(([, byMethod]) => [...byMethod.values()].filter((route) => route instanceof CompiledRoute));
  }
}

/** The row of an adapted route for one or several statuses. */
export interface ResponseRow {
  /** The key of the row: `200`, `4XX`, `default`. */
  readonly status: string;
  readonly transform: Transform;
  /** Whether the row has no operations. The body is then only validated. */
  readonly isEmpty: boolean;
}

/** A route of the adapted version, and its counterpart in the other one. */
export class CompiledRoute {
  /** `GET /drinks/{id}` */
  readonly name: string;
  readonly settings: AdaptedRoute;
  /** Undefined: the request body is passed on unchanged. */
  readonly transformRequestBody: Transform | undefined;
  /** Returns the path of the other version. Undefined: a parameter of that path has no value. */
  readonly #translate: ((path: string) => string) | undefined;
  readonly #transformPath: Transform | undefined;
  readonly #transformQuery: Transform | undefined;
  readonly #forms: ParameterForms;
  readonly #rows = new Map<string, ResponseRow>();

  /** `forms`: how parameters are written, for example as lists. Default: each is a single text. */
  constructor(settings: AdaptedRoute, forms: ParameterForms = onlyTexts, otherTypes?: OtherTypes) {
    const { method, path, request, responses } = settings;
    this.name = `${method} ${path}`;
    this.settings = settings;
    this.#forms = forms;
    const renames = memberRenames(request.path);
    this.#translate = pathTranslation(renames ? withRenamedParameters(path, renames) : path, settings.to.path);
    this.#transformPath = renames ? undefined : compileOperations(request.path);
    this.#transformQuery = request.query.length === 0 ? undefined : compileOperations(request.query);
    this.transformRequestBody = request.body.length === 0 ? undefined : compileOperations(request.body, otherTypes);
    for (const [status, operations] of responses) {
      const isEmpty = operations.length === 0;
      this.#rows.set(status, { status, isEmpty, transform: compileOperations(operations, otherTypes) });
    }
  }

  /**
   * The path template of the other version, with the parameter names of the adapted version. With it, URLs in response headers
   * are mapped to the adapted version. Undefined: an operation changes more than a name, so a path cannot be mapped back.
   */
  get templateForUrls(): string | undefined {
    const renames = memberRenames(this.settings.request.path);
    const originalNames = renames && new Map([...renames].map(([from, to]) => [to, from]));
    return originalNames && withRenamedParameters(this.settings.to.path, originalNames);
  }

  get changesResponses(): boolean {
    return this.#rows.size > 0;
  }

  /**
   * Undefined: the status has no row, so its responses are passed on unchanged. The row `default` is not used for redirects: it is
   * meant for errors, and the body of a redirect is seldom JSON.
   */
  rowFor(status: number): ResponseRow | undefined {
    const rows = this.#rows;
    const row = rows.get(String(status)) ?? rows.get(`${Math.floor(status / 100)}XX`);
    return row ?? (status >= 300 && status < 400 ? undefined : rows.get('default'));
  }

  /**
   * Path and query of the other version. `query`: with its question mark; '' for none.
   * @throws AdaptationError if an operation does not fit a value; Error if the other version has no path or query for the values
   */
  requestTargetOf(path: string, query: string): string {
    return this.pathOf(path) + this.queryOf(query);
  }

  /** @throws as `requestTargetOf` */
  queryOf(query: string): string {
    return this.#transformQuery ? transformedQuery(query, this.#transformQuery, this.#forms) : query;
  }

  /** @throws as `requestTargetOf` */
  pathOf(path: string): string {
    const { settings } = this;
    const result = this.#transformPath
      ? transformedPath(path, { from: settings.path, to: settings.to.path }, this.#transformPath, this.#forms)
      : this.#translate?.(path);
    if (result === undefined) throw new Error('a parameter of the path has no value');
    // A segment with two parameters, such as `{a}{b}`, may become `..` although neither value is `..`.
    if (dotSegment.test(result)) throw new Error('the path has a . or .. segment');
    return result;
  }
}

const dotSegment = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

const onlyTexts: ParameterForms = { own: new Map(), other: new Map() };

/** Key: the original name of a renamed member. Value: its new name. Undefined if there are operations other than renames. */
export function memberRenames(operations: readonly Operation[]): ReadonlyMap<string, string> | undefined {
  const renames = new Map<string, string>();
  for (const operation of operations) {
    if (operation.kind !== 'rename' && operation.kind !== 'move') return undefined;
    const [from, ...below] = operation.at;
    const [to, ...belowTo] = operation.to;
    if (from === undefined || to === undefined || below.length + belowTo.length > 0) return undefined;
    // If an earlier rename has given the member this name, look up its original name.
    const [original] = [...renames].find(([, name]) => name === from) ?? [from];
    renames.set(original, to);
  }
  return renames;
}

function withRenamedParameters(template: string, renames: ReadonlyMap<string, string>): string {
  return template.replace(/\{([^{}]*)\}/g, (_whole, name: string) => `{${renames.get(name) ?? name}}`);
}
