import { withoutVersion } from '../../shared/pathTemplate.ts';
import type { Documents } from '../document/documents.ts';
import { below, entriesOf, isMap, type Located } from '../document/located.ts';
import type { Direction } from './change.ts';

/** An operation of a contract. */
export interface Route {
  readonly kind: 'route' | 'webhook' | 'callback';
  /** Upper case. */
  readonly method: string;
  /** As in the contract, without the version; the name of a webhook or callback. */
  readonly path: string;
  readonly operation: Located;
  /** The path item, which applies to all methods of the path. */
  readonly item: Located;
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query'] as const;

/**
 * The routes and webhooks of a contract, by kind, method and path.
 * @param version a prefix to remove from paths: `/v1/drinks` in the contract of `v1` is the route `/drinks`
 */
export function routesOf(documents: Documents, version?: string): Map<string, Route> {
  const { root } = documents;
  const routes = new Map<string, Route>();
  for (const [path, item] of entriesOf(below(root, 'paths'))) {
    if (!path.startsWith('/')) continue;
    const name = version === undefined ? path : withoutVersion(path, version);
    addOperations('route', name, item, documents, routes);
  }
  for (const [name, item] of entriesOf(below(root, 'webhooks')))
    addOperations('webhook', name, item, documents, routes);
  return routes;
}

/** Adds the operations of one path item. `written`: the path item, possibly with a `$ref`. */
export function addOperations(
  kind: Route['kind'],
  path: string,
  written: Located,
  documents: Documents,
  into: Map<string, Route>,
): void {
  const target = documents.resolve(written);
  // Operations beside a `$ref` count as well.
  for (const item of new Set([target.value === written.value ? written : target, written])) {
    const own = methods.map((method) => [method, below(item, method)] as const);
    for (const [method, operation] of [...own, ...entriesOf(below(item, 'additionalOperations'))]) {
      if (!isMap(operation.value)) continue;
      const route = { kind, method: method.toUpperCase(), path, operation, item };
      into.set(`${kind} ${route.method} ${path}`, route);
    }
  }
}

/** Who sends the requests of an operation. The API does so for webhooks and callbacks. */
export type Caller = 'client' | 'api';

export function callerOf({ kind }: Route): Caller {
  return kind === 'route' ? 'client' : 'api';
}

/** The directions of what requests and responses contain. */
export function directionsOf(caller: Caller): { readonly request: Direction; readonly response: Direction } {
  return caller === 'client'
    ? { request: 'request', response: 'response' }
    : { request: 'response', response: 'request' };
}

/** `/drinks/{id}` → `/drinks/{}` */
export function withoutNames(path: string): string {
  return path.replace(/\{[^{}]*\}/g, '{}');
}

/** In the order of the path. */
export function parameterNames(path: string): string[] {
  return [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name);
}

export type RouteName = Pick<Route, 'kind' | 'method' | 'path'>;
