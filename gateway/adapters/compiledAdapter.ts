import type {
  AdaptedRoute,
  AdapterSettings,
  GoneRoute,
  JsonMembers,
  JsonValue,
  Operation,
} from '../config/adapterSettings.ts';
import { PathTable, pathTranslation, valuesOf } from '../shared/pathTable.ts';
import { compileOperations } from './transform.ts';

type Transform = (value: JsonValue) => JsonValue;

/** The parts of an adapted version that its adapter needs. */
export interface AdapterScope {
  readonly settings: AdapterSettings;
  /** Differs after each change of the settings or of a contract. */
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
    const byPath = new Map<string, Map<string, CompiledRoute | GoneRoute>>();
    for (const route of settings.routes) {
      const byMethod = byPath.get(route.path) ?? new Map<string, CompiledRoute | GoneRoute>();
      byMethod.set(route.method, 'gone' in route ? route : new CompiledRoute(route, listsOf(settings, route)));
      byPath.set(route.path, byMethod);
    }
    for (const template of templates) if (!byPath.has(template)) byPath.set(template, new Map());
    this.#table = new PathTable(byPath);
  }

  /** `path`: without version and query. Undefined: the adapter has no such route. */
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

function listsOf({ prepared }: AdapterSettings, { method, path }: AdaptedRoute): readonly string[] | undefined {
  return prepared?.routes.get(`${method} ${path}`)?.lists;
}

/** The row of an adapted route for one or several statuses. */
export interface ResponseRow {
  /** The key of the row: `200`, `4XX`, `default`. */
  readonly status: string;
  readonly transform: Transform;
  /** Whether the row changes nothing: then the body is only validated. */
  readonly isEmpty: boolean;
}

/** A route of the adapted version, and its counterpart in the other one. */
export class CompiledRoute {
  /** `GET /drinks/{id}` */
  readonly name: string;
  readonly settings: AdaptedRoute;
  /** Undefined: the body is passed on unchanged. */
  readonly transformBody: Transform | undefined;
  /** The path of the other version. Undefined: a parameter has no value. */
  readonly #translate: ((path: string) => string) | undefined;
  readonly #transformPath: Transform | undefined;
  readonly #transformQuery: Transform | undefined;
  readonly #lists: ReadonlySet<string>;
  readonly #rows = new Map<string, ResponseRow>();

  /** `lists`: the query parameters that are lists. */
  constructor(settings: AdaptedRoute, lists: readonly string[] = []) {
    const { method, path, request, responses } = settings;
    this.name = `${method} ${path}`;
    this.settings = settings;
    this.#lists = new Set(lists);
    const renames = renamesIn(request.path);
    this.#translate = pathTranslation(renames ? withRenamedParameters(path, renames) : path, settings.to.path);
    this.#transformPath = renames ? undefined : compileOperations(request.path);
    this.#transformQuery = request.query.length === 0 ? undefined : compileOperations(request.query);
    this.transformBody = request.body.length === 0 ? undefined : compileOperations(request.body);
    for (const [status, operations] of responses) {
      const isEmpty = operations.length === 0;
      this.#rows.set(status, { status, isEmpty, transform: compileOperations(operations) });
    }
  }

  /** The template of the other version, with the parameter names of this one. Undefined: the path cannot be mapped back. */
  get templateForReferences(): string | undefined {
    const renames = renamesIn(this.settings.request.path);
    const back = renames && new Map([...renames].map(([from, to]) => [to, from]));
    return back && withRenamedParameters(this.settings.to.path, back);
  }

  get changesResponses(): boolean {
    return this.#rows.size > 0;
  }

  /**
   * Undefined: the status has no row, so its responses are passed on unchanged. `default` is meant for errors: the body of a
   * redirect is not read by clients, and is seldom JSON.
   */
  rowFor(status: number): ResponseRow | undefined {
    const rows = this.#rows;
    const row = rows.get(String(status)) ?? rows.get(`${Math.floor(status / 100)}XX`);
    return row ?? (status >= 300 && status < 400 ? undefined : rows.get('default'));
  }

  /**
   * Path and query of the other version. `query`: with its question mark; '' for none.
   * @throws the error of an operation, or Error, if a value of the client has no counterpart
   */
  targetOf(path: string, query: string): string {
    return this.#path(path) + (this.#transformQuery ? transformQuery(query, this.#transformQuery, this.#lists) : query);
  }

  #path(path: string): string {
    const { to } = this.settings;
    if (!this.#transformPath) {
      const translated = this.#translate?.(path);
      if (translated === undefined) throw new Error('a parameter of the path has no value');
      return translated;
    }
    const given = valuesOf(path, this.settings.path);
    const raw = new Map(given.map(([, value]) => [decoded(value), value]));
    const values = this.#transformPath(Object.fromEntries(given.map(([name, value]) => [name, decoded(value)])));
    return to.path.replace(/\{([^{}]*)\}/g, (_whole, name: string) => {
      const text = textOf((values as JsonMembers)[name] ?? null);
      if (text === undefined || text === '' || /^\.{1,2}$/.test(text)) {
        throw new Error(`the parameter ${name} of the path has no value`);
      }
      return raw.get(text) ?? encodeURIComponent(text);
    });
  }
}

/** The new name of each renamed member. Undefined if there are other operations. */
export function renamesIn(operations: readonly Operation[]): ReadonlyMap<string, string> | undefined {
  const renames = new Map<string, string>();
  for (const operation of operations) {
    if (operation.kind !== 'rename' && operation.kind !== 'move') return undefined;
    const [from, ...below] = operation.at;
    const [to, ...belowTo] = operation.to;
    if (from === undefined || to === undefined || below.length + belowTo.length > 0) return undefined;
    renames.set(from, to);
  }
  return renames;
}

function withRenamedParameters(template: string, names: ReadonlyMap<string, string>): string {
  return template.replace(/\{([^{}]*)\}/g, (_whole, name: string) => `{${names.get(name) ?? name}}`);
}

/** Names and values as received, in their order. */
export function queryPairs(query: string): { readonly name: string; readonly value: string; readonly raw: string }[] {
  return query
    .slice(1)
    .split('&')
    .filter((raw) => raw !== '')
    .map((raw) => {
      const equals = raw.indexOf('=');
      const name = equals === -1 ? raw : raw.slice(0, equals);
      return { name: formDecoded(name), value: equals === -1 ? '' : formDecoded(raw.slice(equals + 1)), raw };
    });
}

/** A parameter that no operation changes keeps its bytes. A repeated parameter is a list of texts, and so is each of `lists`. */
function transformQuery(query: string, transform: Transform, lists: ReadonlySet<string>): string {
  const before = new Map<string, { value: string | string[]; raw: string }>();
  for (const { name, value, raw } of queryPairs(query)) {
    const known = before.get(name);
    if (!known) before.set(name, { value: lists.has(name) ? [value] : value, raw });
    else before.set(name, { value: [known.value, value].flat(), raw: `${known.raw}&${raw}` });
  }
  // A copy of each list, because operations change values in place.
  const given = [...before].map(([name, { value }]) => [name, Array.isArray(value) ? [...value] : value] as const);
  const after = transform(Object.fromEntries(given)) as JsonMembers;
  const parts: string[] = [];
  for (const [name, value] of Object.entries(after)) {
    const known = before.get(name);
    if (known && isSame(known.value, value)) parts.push(known.raw);
    else parts.push(...[value].flat().flatMap((one) => encodedPair(name, one)));
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

function isSame(a: string | string[], b: JsonValue): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b;
  return a.length === b.length && a.every((one, at) => one === b[at]);
}

function encodedPair(name: string, value: JsonValue): string[] {
  if (value === null) return [];
  const text = textOf(value);
  if (text === undefined) throw new Error(`the parameter ${name} of the query is not a text`);
  return [`${encodeURIComponent(name)}=${encodeURIComponent(text)}`];
}

/** A number that was kept by its text is an object of `JSON.rawJSON`; `JSON.stringify` writes its text. */
function textOf(value: JsonValue): string | undefined {
  if (typeof value === 'string') return value;
  const text = JSON.stringify(value);
  return value === null || text.startsWith('{') || text.startsWith('[') ? undefined : text;
}

function formDecoded(text: string): string {
  return decoded(text.replaceAll('+', ' '));
}

/** As received if an escape is not UTF-8. */
function decoded(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
