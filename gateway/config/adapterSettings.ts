/**
 * A JSON value. A number that a double would change is the object of `JSON.rawJSON`, which `JSON.stringify` writes as its
 * text; it has no other members.
 */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonMembers;

export interface JsonMembers {
  [name: string]: JsonValue;
}

/** Serves a version from the backend of another one. Plain data that a structured clone preserves. */
export interface AdapterSettings {
  /** The version whose backend answers: `v2`. */
  readonly from: string;
  /** `shadow`: adapted responses are only compared with those of the version's own backend. */
  readonly mode: 'off' | 'shadow' | 'serve';
  /** The largest body that is adapted, in bytes after decoding. */
  readonly body: number;
  /** Clean comparisons of each route in use that `serve` requires. */
  readonly pairs: number;
  readonly routes: readonly AdapterRoute[];
  /** Undefined until both contracts have been compared; see `withAdapters`. */
  readonly prepared: PreparedAdapter | undefined;
}

export type AdapterRoute = AdaptedRoute | GoneRoute;

/** A route that the other version cannot answer. */
export interface GoneRoute {
  readonly method: string;
  /** The template of the adapted version, without the version. */
  readonly path: string;
  readonly gone: string;
}

/** A route with a counterpart in the other version. */
export interface AdaptedRoute {
  readonly method: string;
  /** The template of the adapted version, without the version. */
  readonly path: string;
  /** The method and the template of the other version. */
  readonly to: { readonly method: string; readonly path: string };
  /** From the request of the adapted version to that of the other one. Path and query are objects of parameters. */
  readonly request: {
    readonly path: readonly Operation[];
    readonly query: readonly Operation[];
    readonly body: readonly Operation[];
  };
  /** From the response of the other version. By status: `200`, `4XX`, `default`. */
  readonly responses: ReadonlyMap<string, readonly Operation[]>;
}

/** The keys of an object and of the objects within it; empty: the value itself. */
export type Keys = readonly string[];

export const conversions = [
  'number',
  'integer',
  'string',
  'boolean',
  'decimal_string',
  'date',
  'date_time',
  'epoch_seconds',
] as const;

/** One change of a value, in the direction of the data. docs/adapters.md describes each. */
export type Operation = OperationTarget &
  (
    | { readonly kind: 'rename' | 'move'; readonly to: Keys }
    | { readonly kind: 'default' | 'const'; readonly value: JsonValue }
    | { readonly kind: 'drop' | 'wrap' | 'head' }
    /** By the text of the value: `open`, `1`, `true`, `null`. */
    | { readonly kind: 'map'; readonly values: ReadonlyMap<string, JsonValue> }
    | { readonly kind: 'each'; readonly operations: readonly Operation[] }
    /** `digits`: of a decimal_string. */
    | { readonly kind: 'convert'; readonly to: (typeof conversions)[number]; readonly digits: number }
  );

interface OperationTarget {
  readonly at: Keys;
  /** Where routes.yaml has it. */
  readonly place: readonly (string | number)[];
}

/** What the comparison of both contracts has produced for requests. */
export interface PreparedAdapter {
  /** 12 hexadecimal digits; another one after a change of the settings or of a contract. */
  readonly hash: string;
  /** The source of a module. It exports a function for each name in `PreparedRoute.responses`, which checks a value. */
  readonly checks: string;
  /** The adapted routes, by method and path: `GET /drinks/{id}`. */
  readonly routes: ReadonlyMap<string, PreparedRoute>;
}

export interface PreparedRoute {
  /**
   * By a status of the adapted version's contract (`200`, `4XX`, `default`), then by media type without parameters: the name
   * of the check that an adapted response must pass.
   */
  readonly responses: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** The media types that the other version is asked for. Undefined: those that the client accepts. */
  readonly accept?: readonly string[] | undefined;
  readonly parameters: ParameterForms;
}

/** How the parameters of the path and of the query are written, by place and name: `query limit`. Without an entry: one text. */
export interface ParameterForms {
  /** In requests to the adapted version. */
  readonly own: ReadonlyMap<string, ParameterForm>;
  /** In requests to the other version. */
  readonly other: ReadonlyMap<string, ParameterForm>;
}

export interface ParameterForm {
  /** Between the items of a list. `&`: the parameter is repeated. Undefined: it is no list. */
  readonly separator: '&' | ',' | ' ' | '|' | undefined;
  /** What each text means. */
  readonly type: 'text' | 'number' | 'boolean';
}
