import { withoutVersion } from '../../shared/pathTemplate.ts';
import type { Documents } from '../document/documents.ts';
import { below, entriesOf, isMap, type Located } from '../document/located.ts';

/** An operation of a contract. */
export interface Route {
  readonly kind: 'route' | 'webhook' | 'callback';
  /** Upper case. */
  readonly method: string;
  /** As the contract writes it; the name of a webhook. */
  readonly path: string;
  readonly operation: Located;
  /** What holds for all methods of the path. */
  readonly item: Located;
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query'] as const;

/**
 * By method and path, as the contract writes it. `version`: a contract that writes its own version into its paths
 * (`/v1/drinks` in that of `v1`) means `/drinks`.
 */
export function routesOf(documents: Documents, version?: string): Map<string, Route> {
  const { root } = documents;
  const routes = new Map<string, Route>();
  for (const [path, item] of entriesOf(below(root, 'paths'))) {
    if (path.startsWith('/'))
      addOperations('route', version === undefined ? path : withoutVersion(path, version), item, documents, routes);
  }
  for (const [name, item] of entriesOf(below(root, 'webhooks')))
    addOperations('webhook', name, item, documents, routes);
  return routes;
}

/** Those of one path item, which may stand elsewhere. */
export function addOperations(
  kind: Route['kind'],
  path: string,
  written: Located,
  documents: Documents,
  into: Map<string, Route>,
): void {
  const target = documents.resolve(written);
  // What stands beside a `$ref` holds as well.
  for (const item of new Set([target.value === written.value ? written : target, written])) {
    const own = methods.map((method) => [method, below(item, method)] as const);
    for (const [method, operation] of [...own, ...entriesOf(below(item, 'additionalOperations'))]) {
      if (!isMap(operation.value)) continue;
      const route = { kind, method: method.toUpperCase(), path, operation, item };
      into.set(`${kind} ${route.method} ${path}`, route);
    }
  }
}

export function withoutNames(path: string): string {
  return path.replace(/\{[^{}]*\}/g, '{}');
}

/** In the order in which they stand in the path. */
export function parameterNames(path: string): string[] {
  return [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name);
}

/** `GET /drinks`, or `POST to the webhook order`. */
export function routeInWords({ kind, method, path }: Pick<Route, 'kind' | 'method' | 'path'>): string {
  return kind === 'route' ? `${method} ${path}` : `${method} to the ${kind} ${path}`;
}
