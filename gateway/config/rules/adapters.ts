import type { AdapterRoute, AdapterSettings, Operation } from '../adapterSettings.ts';
import { baseOf, idOfReference, pathOfVersion } from '../api.ts';
import type { Fault, Path } from '../fault.ts';
import { nearest } from '../nearest.ts';
import type { Content } from '../referencedFiles.ts';
import { isUnusable } from '../snapshot.ts';
import { faultAt, faultAtKey, hasValue } from '../source.ts';
import { isRoute, routeShapeOf, splitRoute } from './lifecycle.ts';
import type { ConfigRule, RouteEntry, RuleContext } from './rule.ts';

/** The section `adapter` of a version in routes.yaml. The rules have not checked it yet. */
type AdapterSection = NonNullable<RouteEntry['route']['adapter']>;

/**
 * The settings of a version's adapter. `pairs`: the comparisons that `serve` requires. `derivedFromContracts` is added after both
 * contracts have been compared.
 */
export function adapterOf({ name: id, route }: RouteEntry): AdapterSettings | undefined {
  const { adapter } = route;
  if (adapter?.from === undefined) return undefined;
  const { from, mode, body, pairs } = adapter;
  const routes = Object.entries(adapter.routes).map(([name, row]): AdapterRoute => {
    const { method, path } = splitRoute(name);
    if (row.gone !== undefined) return { method, path, gone: row.gone };
    const at = [...pathOfVersion(id), 'adapter', 'routes', name];
    const { request = {}, response = {} } = row;
    return {
      method,
      path,
      to: splitRoute(row.to ?? ''),
      request: {
        path: withPlaces(request.path, [...at, 'request', 'path']),
        query: withPlaces(request.query, [...at, 'request', 'query']),
        body: withPlaces(request.body, [...at, 'request', 'body']),
      },
      responses: new Map(
        Object.entries(response).map(([status, list]) => [
          normalStatus(status),
          withPlaces(list, [...at, 'response', status]),
        ]),
      ),
    };
  });
  return { from: idOfReference(baseOf(id), from), mode, body, pairs, routes, derivedFromContracts: undefined };
}

/** Makes all places absolute. `base`: the path of the outermost list in routes.yaml. All places, also nested ones, are relative to it. */
function withPlaces(list: readonly Operation[] = [], base: Path): readonly Operation[] {
  return list.map((operation) => {
    const place = [...base, ...operation.place];
    if (operation.kind !== 'each') return { ...operation, place };
    return { ...operation, place, operations: withPlaces(operation.operations, base) };
  });
}

function normalStatus(status: string): string {
  return status === 'default' ? status : status.toUpperCase();
}

/** An adapter needs another version of this file, with a backend of its own. */
export const adapterNeedsVersion: ConfigRule = ({ source, entries }) =>
  adaptersOf(entries).flatMap(({ key, adapter: { from } }) => {
    const at = ['routes', key, 'adapter', 'from'];
    const others = entries.filter((other) => other.key !== key && !other.route.retired && !other.route.adapter);
    const otherKeys = others.map((other) => other.key).join(', ');
    const remedy =
      otherKeys === '' ? 'Add a version with an upstream, or remove the adapter.' : `Write one of ${otherKeys}.`;
    if (from === undefined) {
      if (hasValue(source, at)) return [];
      return [faultAt(source, at, 'The adapter has no `from`.', `Name the version whose backend answers. ${remedy}`)];
    }
    if (from === key) return [faultAt(source, at, `${key} cannot be adapted from itself.`, remedy)];
    const target = entries.find((other) => other.key === from);
    if (!target)
      return [faultAt(source, at, `${from} is not a version of this ${source.api ? 'API' : 'file'}.`, remedy)];
    if (target.route.retired) return [faultAt(source, at, `${from} is retired, so it has no backend.`, remedy)];
    if (!target.route.adapter) return [];
    return [faultAt(source, at, `${from} has an adapter itself. Adapters cannot be chained.`, remedy)];
  });

/** Both contracts are compared when the file is loaded. If they are equal, one of them is probably the wrong file. */
export const adapterNeedsContracts: ConfigRule = ({ source, entries, contracts, files }) =>
  adaptersOf(entries).flatMap(({ key, adapter: { from } }) => {
    const keys = [key, from].filter((name) => entries.some((other) => other.key === name)) as string[];
    const missing = keys.find((name) => !hasValue(source, ['routes', name, 'contract']));
    if (missing !== undefined) {
      const message = `The adapter is checked with the contracts of ${keys.join(' and ')}, and ${missing} has none.`;
      return [faultAtKey(source, ['routes', key, 'adapter'], message, `Add a contract to ${missing}.`)];
    }
    const [ownContract, otherContract] = [contracts.get(key), contracts.get(from ?? '')];
    if (
      from === key ||
      isUnusable(ownContract) ||
      isUnusable(otherContract) ||
      !ownContract ||
      ownContract.digest !== otherContract?.digest ||
      (ownContract.file !== otherContract.file && refersToOtherFiles(files.read(ownContract.file)))
    )
      return [];
    const message = `${key} and ${from} have the same contract, so there is nothing to adapt.`;
    return [
      faultAt(source, ['routes', key, 'contract'], message, `Name the contract of ${key}, or remove the adapter.`),
    ];
  });

/** Whether a contract may consist of several files, so that another file with the same text may be another contract. */
function refersToOtherFiles(content: Content): boolean {
  return 'text' in content && /\$ref["']?\s*:\s*["']?[^\s"'#]/.test(content.text());
}

const reasonByMethod: Readonly<Record<string, string>> = {
  PUT: 'A client that reads a resource and writes it back would delete the fields that its version does not have.',
  PATCH: 'A change of a field that the other version does not have cannot be translated.',
  DELETE: 'A client could delete what its version cannot show.',
};

/** Why routes with this method cannot be adapted; undefined if they can. */
export function whyMethodNotAdaptable(method: string): string | undefined {
  if (['GET', 'HEAD', 'POST'].includes(method)) return undefined;
  return reasonByMethod[method] ?? 'Only GET, HEAD and POST can be adapted.';
}

/** Each row of an adapter is a route of the version, and occurs once. It names a route of the other version, or is gone. */
export const adapterRoutes: ConfigRule = ({ source, entries, contracts }) =>
  adaptersOf(entries).flatMap(({ key, adapter }) => {
    const nameByShape = new Map<string, string>();
    const rows = Object.entries(adapter.routes);
    const at = ['routes', key, 'adapter', 'routes'];
    if (rows.length === 0 && !hasValue(source, at)) {
      const remedy = `Write routes of ${key}, such as "GET /drinks/{id}": { to: GET /cocktails/{id} }.`;
      return [faultAt(source, at, 'The adapter has no routes.', remedy)];
    }
    return rows.flatMap(([name, row]): Fault[] => {
      const route = splitRoute(name);
      if (!isRoute(route)) return [faultAtKey(source, [...at, name], ...notARoute(name))];
      const shape = routeShapeOf(route);
      const first = nameByShape.get(shape);
      nameByShape.set(shape, name);
      if (first !== undefined) {
        const message = `${name} matches the same requests as ${first}.`;
        return [faultAtKey(source, [...at, name], message, 'Keep one of the two.')];
      }
      if (route.method === 'HEAD') {
        const remedy = `Write GET ${route.path}: its row also answers HEAD.`;
        return [faultAtKey(source, [...at, name], 'HEAD has no row of its own.', remedy)];
      }
      const problem = problemOfUnknownRoute(name, key, contracts);
      if (problem) return [faultAtKey(source, [...at, name], ...problem)];
      return rowFaults(row, name, [...at, name], adapter, { source, contracts });
    });
  });

function rowFaults(
  row: AdapterSection['routes'][string],
  name: string,
  at: Path,
  { from }: AdapterSection,
  { source, contracts }: Pick<RuleContext, 'source' | 'contracts'>,
): Fault[] {
  const [hasTo, hasGone] = [hasValue(source, [...at, 'to']), hasValue(source, [...at, 'gone'])];
  if (hasTo && hasGone)
    return [faultAt(source, [...at, 'gone'], `${name} has both \`to\` and \`gone\`.`, 'Keep one of the two.')];
  if (!hasTo && !hasGone) {
    const remedy = 'Write `to` with a route of the other version, or `gone` with the reason.';
    return [faultAtKey(source, at, `${name} has neither \`to\` nor \`gone\`.`, remedy)];
  }
  const stray = ['request', 'response'].find((part) => hasGone && hasValue(source, [...at, part]));
  if (stray !== undefined)
    return [faultAtKey(source, [...at, stray], `${name} is gone, so it has no ${stray}.`, 'Remove it.')];
  if (row.to === undefined) return [];
  const [route, to] = [splitRoute(name), splitRoute(row.to)];
  const reason = whyMethodNotAdaptable(route.method);
  if (reason !== undefined) {
    return [
      faultAtKey(
        source,
        at,
        `${route.method} cannot be adapted. ${reason}`,
        'Mark the route as gone, with the reason.',
      ),
    ];
  }
  if (!isRoute(to)) return [faultAt(source, [...at, 'to'], ...notARoute(row.to))];
  if (to.method !== route.method) {
    const message = `${row.to} has another method than ${name}.`;
    return [
      faultAt(
        source,
        [...at, 'to'],
        message,
        `Name a route with ${route.method}, or mark the route as gone, with the reason.`,
      ),
    ];
  }
  if (route.method === 'GET' && hasValue(source, [...at, 'request', 'body']))
    return [faultAtKey(source, [...at, 'request', 'body'], 'A GET has no body.', 'Remove it.')];
  const problem = from === undefined ? undefined : problemOfUnknownRoute(row.to, from, contracts);
  if (problem) return [faultAt(source, [...at, 'to'], ...problem)];
  return Object.keys(row.response ?? {})
    .filter((status) => !/^(?:[1-5](?:\d\d|XX)|default)$/i.test(status))
    .map((status) => {
      const remedy = 'Write a status such as 200 or 404, a class such as 4XX, or default.';
      return faultAtKey(source, [...at, 'response', status], `${status} is not a status.`, remedy);
    });
}

function notARoute(name: string): [message: string, remedy: string] {
  const remedy = 'Write a method in capitals and a path below the version, such as "GET /drinks/{id}".';
  return [`${name} is not a route.`, remedy];
}

/** Message and remedy for a route that the contract does not have. Undefined: it has the route, or there is no contract. */
function problemOfUnknownRoute(
  name: string,
  version: string,
  contracts: RuleContext['contracts'],
): [message: string, remedy: string] | undefined {
  const contract = contracts.get(version);
  if (!contract || isUnusable(contract)) return undefined;
  const { method, path } = splitRoute(name);
  const contractRoutes = contract.paths
    .entries()
    // The methods of a path item in another file are unknown here, so every method is accepted. The check of the adapter reads the file.
    .flatMap(([template, methods]) => (methods || method).split(' ').map((verb) => `${verb} ${template}`));
  if (contractRoutes.some((route) => routeShapeOf(splitRoute(route)) === routeShapeOf({ method, path })))
    return undefined;
  const best = nearest(name, contractRoutes);
  const remedy = best === undefined ? `Write a route of that contract, without ${version}.` : `Did you mean ${best}?`;
  return [`The contract of ${version} has no route ${name}.`, remedy];
}

function adaptersOf(entries: readonly RouteEntry[]): { readonly key: string; readonly adapter: AdapterSection }[] {
  return entries.flatMap(({ key, route }) => (route.adapter ? [{ key, adapter: route.adapter }] : []));
}
