import { segmentOf } from '../../../config/api.ts';
import type { Documents } from '../../../contract/document/documents.ts';
import { below, entriesOf, itemsOf, type Located } from '../../../contract/document/located.ts';
import { catchingStackOverflow } from '../../../contract/failure.ts';
import { parameterNames, type Route, routesOf, withoutNames } from '../../../contract/routes.ts';
import { Schemas } from '../../../contract/schema/schemas.ts';
import { isMap } from '../../../shared/json.ts';
import { type ComparableName, comparableName, similarity } from './findings.ts';

/** A row proposed for `moved` in routes.yaml. */
export interface MovedProposal {
  readonly from: string;
  readonly to: string;
  /** 0 to 1. */
  readonly score: number;
  readonly confidence: 'almost sure' | 'likely' | 'a guess';
  /** "the same operationId getDrink", "4 of 5 fields". */
  readonly why: readonly string[];
}

export interface MovedProposals {
  readonly proposals: readonly MovedProposal[];
  /** Paths that only the older contract has, without a proposal. */
  readonly unmatched: readonly string[];
}

export interface MovedInput {
  readonly oldContract: Documents;
  readonly newContract: Documents;
  /** `v1`. */
  readonly from: string;
  readonly to: string;
  /** Whether routes.yaml has a row for the path already. */
  readonly isListed: (path: string) => boolean;
}

// Proposals with a lower score are more often wrong than right.
const leastScore = 0.5;

/**
 * Proposes which paths moved where: the most similar pairs first, each path once.
 * @throws CompareError for a broken `$ref`, and for schemas nested too deeply
 */
export function proposeMoved({ oldContract, newContract, from, to, isListed }: MovedInput): MovedProposals {
  const [oldPaths, newPaths] = [summariesByPath(oldContract, from), summariesByPath(newContract, to)];
  const removed = [...oldPaths]
    .filter(([key, { path }]) => !newPaths.has(key) && !isListed(path))
    .map(([, summary]) => summary);
  const added = [...newPaths].filter(([key]) => !oldPaths.has(key)).map(([, summary]) => summary);
  const pairs = removed
    .flatMap((oldPath) => added.map((newPath) => proposalFor(oldPath, newPath)))
    .filter((pair) => pair !== undefined)
    .sort((a, b) => b.score - a.score);
  const proposals: MovedProposal[] = [];
  for (const pair of pairs) {
    const isTaken = proposals.some((known) => known.from === pair.from || known.to === pair.to);
    if (pair.score >= leastScore && !isTaken) proposals.push(pair);
  }
  const matched = new Set(proposals.map((proposal) => proposal.from));
  return { proposals, unmatched: removed.map(({ path }) => path).filter((path) => !matched.has(path)) };
}

/** The names in the routes of one path. Two paths are compared by these names. */
interface PathSummary {
  readonly path: string;
  readonly comparablePath: ComparableName;
  readonly methods: readonly string[];
  readonly operationIds: readonly string[];
  /** "query q", "path 0". The position identifies a path parameter, because its name is never sent. */
  readonly parameters: ReadonlySet<string>;
  /** "GET out title": the top-level fields. */
  readonly fields: ReadonlySet<string>;
}

/** The path without the names of its parameters → its summary. */
function summariesByPath(documents: Documents, version: string): Map<string, PathSummary> {
  const routesByPath = new Map<string, Route[]>();
  for (const route of routesOf(documents, segmentOf(version)).values()) {
    // Webhooks and callbacks have no path in the API.
    if (route.kind !== 'route') continue;
    const key = withoutNames(route.path);
    routesByPath.set(key, [...(routesByPath.get(key) ?? []), route]);
  }
  const summaries = [...routesByPath].map(([key, routes]) => {
    const path = routes[0]?.path ?? key;
    return [key, catchingStackOverflow(path, () => summaryOf(path, routes, documents))] as const;
  });
  return new Map(summaries);
}

function summaryOf(path: string, routes: readonly Route[], documents: Documents): PathSummary {
  const schemas = new Schemas(documents);
  return {
    path,
    comparablePath: comparableName(path),
    methods: routes.map(({ method }) => method),
    operationIds: routes.flatMap(({ operation }) => {
      const id = below(operation, 'operationId').value;
      return typeof id === 'string' ? [id] : [];
    }),
    parameters: new Set(routes.flatMap((route) => parametersOf(route, documents))),
    fields: new Set(routes.flatMap((route) => fieldsOf(route, documents, schemas))),
  };
}

function proposalFor(oldPath: PathSummary, newPath: PathSummary): MovedProposal | undefined {
  // The gateway fills the parameters of the new path from the old path, so the new path cannot have more of them.
  if (parameterNames(newPath.path).length > parameterNames(oldPath.path).length) return undefined;
  if (!oldPath.methods.some((method) => newPath.methods.includes(method))) return undefined;
  const commonIds = oldPath.operationIds.filter((id) => newPath.operationIds.includes(id));
  const parameters = overlap(oldPath.parameters, newPath.parameters);
  const fields = overlap(oldPath.fields, newPath.fields);
  const pathSimilarity = similarity(oldPath.comparablePath, newPath.comparablePath);
  // Fields weigh more than parameters, because most routes have the same few parameters.
  const overallSimilarity = 0.25 * pathSimilarity + 0.75 * (0.35 * parameters.share + 0.65 * fields.share);
  const score = Math.round(100 * (commonIds.length > 0 ? 0.7 + 0.3 * overallSimilarity : overallSimilarity)) / 100;
  const why: string[] = [];
  if (commonIds.length > 0) why.push(`the same operationId ${commonIds.join(', ')}`);
  if (pathSimilarity >= 0.5) why.push('a similar path');
  if (parameters.total > 0 && parameters.common === parameters.total) why.push('the same parameters');
  if (fields.common > 0) why.push(`${fields.common} of ${oldPath.fields.size} fields`);
  const confidence = score >= 0.8 ? 'almost sure' : score >= 0.6 ? 'likely' : 'a guess';
  return { from: oldPath.path, to: newPath.path, score, confidence, why };
}

function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): { common: number; total: number; share: number } {
  const [common, total] = [a.intersection(b).size, a.union(b).size];
  // Two empty sets are neither similar nor different.
  return { common, total, share: total === 0 ? 0.5 : common / total };
}

function parametersOf({ path, operation, item }: Route, documents: Documents): string[] {
  const unresolved = [operation, item].flatMap((holder) => itemsOf(below(holder, 'parameters')));
  const parameters = unresolved.map((parameter) => documents.resolve(parameter).value).filter(isMap);
  const outsidePath = parameters.filter((parameter) => parameter['in'] !== 'path');
  return [
    ...parameterNames(path).map((_name, index) => `path ${index}`),
    ...outsidePath.map((parameter) => `${parameter['in']} ${parameter['name']}`),
  ];
}

function fieldsOf({ method, operation }: Route, documents: Documents, schemas: Schemas): string[] {
  const request = contentFields(documents.resolve(below(operation, 'requestBody')), schemas);
  const responses = entriesOf(below(operation, 'responses')).filter(([status]) => status.startsWith('2'));
  const response = responses.flatMap(([, holder]) => contentFields(documents.resolve(holder), schemas));
  return [...request.map((name) => `${method} in ${name}`), ...response.map((name) => `${method} out ${name}`)];
}

function contentFields(holder: Located, schemas: Schemas): string[] {
  return entriesOf(below(holder, 'content')).flatMap(([, media]) => {
    const schema = below(media, 'schema');
    if (!isMap(schema.value)) return [];
    const { view } = schemas.schemaAt(schema);
    const objectView = view.properties.size > 0 ? view : view.items?.schema.view;
    return [...(objectView?.properties.keys() ?? [])];
  });
}
