/**
 * A JSON value. A number that a JavaScript number cannot represent exactly is an object from `JSON.rawJSON`, whose only member
 * is the original text. `JSON.stringify` writes that text.
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
  /** The number of clean comparisons that `serve` requires for each route in use. */
  readonly pairs: number;
  readonly routes: readonly AdapterRoute[];
  /** Undefined until both contracts have been compared. */
  readonly derivedFromContracts: PreparedAdapter | undefined;
}

export type AdapterRoute = AdaptedRoute | GoneRoute;

/** A route that the other version cannot answer. */
export interface GoneRoute {
  readonly method: string;
  /** The path template in the adapted version, without the prefix of the version. */
  readonly path: string;
  /** The reason, for the 410 response. */
  readonly gone: string;
}

/** A route with a counterpart in the other version. */
export interface AdaptedRoute {
  readonly method: string;
  /** The path template in the adapted version, without the prefix of the version. */
  readonly path: string;
  /** The method and the path template in the other version. */
  readonly to: { readonly method: string; readonly path: string };
  /** Changes a request to the adapted version into a request to the other one. Path and query are objects of parameters. */
  readonly request: {
    readonly path: readonly Operation[];
    readonly query: readonly Operation[];
    readonly body: readonly Operation[];
  };
  /** The status of a response of the other version (`200`, `4XX`, `default`) → the operations that change the response. */
  readonly responses: ReadonlyMap<string, readonly Operation[]>;
}

/** The path to a value within a JSON value, one key for each level. Empty: the whole value. */
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

/**
 * One change of a value: from the client's request to the backend's request, or from the backend's response to the client's
 * response. docs/adapters.md describes each operation.
 */
export type Operation = OperationTarget &
  (
    | { readonly kind: 'rename' | 'move'; readonly to: Keys }
    | { readonly kind: 'default' | 'const'; readonly value: JsonValue }
    | { readonly kind: 'drop' | 'wrap' | 'head' }
    /** The text of the old value (`open`, `1`, `true`, `null`) → the new value. */
    | { readonly kind: 'map'; readonly values: ReadonlyMap<string, JsonValue> }
    | { readonly kind: 'each'; readonly operations: readonly Operation[] }
    /** `digits`: the decimal places of a decimal_string. */
    | { readonly kind: 'convert'; readonly to: (typeof conversions)[number]; readonly digits: number }
  );

interface OperationTarget {
  /** The changed field. */
  readonly at: Keys;
  /** The path of the operation in routes.yaml. */
  readonly place: readonly (string | number)[];
}

/** Data that is computed once from both contracts, and used by each request. */
export interface PreparedAdapter {
  /** 12 hexadecimal digits. They change with the settings and with the contracts. */
  readonly hash: string;
  /** The source of a module that exports one function for each name in `PreparedRoute.responses`. The function checks a value. */
  readonly checks: string;
  /** The adapted routes, by method and path: `GET /drinks/{id}`. */
  readonly routes: ReadonlyMap<string, PreparedRoute>;
  readonly otherTypes: OtherTypes;
}

/**
 * The types of values, besides objects, that the contract allows where an operation looks for a field: `array`, `null`, or `any`. Key:
 * `keyOfOperation`. An operation without an entry needs an object.
 */
export type OtherTypes = ReadonlyMap<string, readonly string[]>;

export function keyOfOperation({ place }: Pick<Operation, 'place'>): string {
  return JSON.stringify(place);
}

export interface PreparedRoute {
  /**
   * A status in the contract of the adapted version (`200`, `4XX`, `default`) → a media type without parameters → the name of
   * the check that an adapted response must pass.
   */
  readonly responses: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** The media types that the other version is asked for. Undefined: those that the client accepts. */
  readonly accept?: readonly string[] | undefined;
  readonly parameters: ParameterForms;
}

/**
 * How parameters are written. The key of an entry is the place of the parameter, which is `path` or `query`, and its name:
 * `query limit`. A parameter without an entry is a single text.
 */
export interface ParameterForms {
  /** In requests to the adapted version. */
  readonly own: ReadonlyMap<string, ParameterForm>;
  /** In requests to the other version. */
  readonly other: ReadonlyMap<string, ParameterForm>;
}

export interface ParameterForm {
  /** Separates the items of a list. `&`: the parameter is repeated. Undefined: the parameter is not a list. */
  readonly separator: '&' | ',' | ' ' | '|' | undefined;
  /** The type of the parameter, or of each item of the list. */
  readonly type: 'text' | 'number' | 'boolean';
}
