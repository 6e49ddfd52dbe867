import { parameterNames, type Route, routesOf, withoutNames } from './diff/routes.ts';
import type { Documents } from './document/documents.ts';
import { type Letters, lettersOf, likeness } from './likeness.ts';
import { type Shape, shapeAlikeness, shapeOf } from './movedShape.ts';

/** A row that `moved` of routes.yaml may want. */
export interface Proposal {
  readonly from: string;
  readonly to: string;
  /** 0 to 1. */
  readonly score: number;
  readonly sure: 'almost sure' | 'likely' | 'a guess';
  /** In words: "the same operationId getDrink, 4 of 5 response fields". */
  readonly why: readonly string[];
}

export interface MovedProposals {
  readonly proposals: readonly Proposal[];
  /** Paths of the older contract that the newer one lacks, for which there is nothing to propose. */
  readonly unmatched: readonly string[];
}

export interface MovedQuestion {
  readonly old: Documents;
  readonly now: Documents;
  /** `v1`. */
  readonly from: string;
  readonly to: string;
  /** Whether a path has a row already. */
  readonly isListed: (path: string) => boolean;
}

// Below, a proposal would more often be wrong than right.
const least = 0.5;

/** What may have moved where: the likeliest pairs first, each path once. */
export function proposeMoved({ old, now, from, to, isListed }: MovedQuestion): MovedProposals {
  const [before, after] = [pathsOf(old, from), pathsOf(now, to)];
  const gone = [...before].filter(([key, { path }]) => !after.has(key) && !isListed(path)).map(([, one]) => one);
  const arrived = [...after].filter(([key]) => !before.has(key)).map(([, one]) => one);
  const pairs = gone
    .flatMap((one) => arrived.map((other) => pairOf(one, other)))
    .filter((pair) => pair !== undefined)
    .sort((a, b) => b.score - a.score);
  const proposals: Proposal[] = [];
  for (const pair of pairs) {
    const isTaken = proposals.some((known) => known.from === pair.from || known.to === pair.to);
    if (pair.score >= least && !isTaken) proposals.push(pair);
  }
  const matched = new Set(proposals.map((one) => one.from));
  return { proposals, unmatched: gone.map(({ path }) => path).filter((path) => !matched.has(path)) };
}

interface PathRoutes {
  readonly path: string;
  readonly letters: Letters;
  readonly shape: Shape;
}

function pathsOf(documents: Documents, version: string): Map<string, PathRoutes> {
  const byPath = new Map<string, Route[]>();
  for (const route of routesOf(documents, version).values()) {
    if (route.kind !== 'route') continue;
    const key = withoutNames(route.path);
    byPath.set(key, [...(byPath.get(key) ?? []), route]);
  }
  return new Map(
    [...byPath].map(([key, routes]) => {
      const path = routes[0]?.path ?? key;
      return [key, { path, letters: lettersOf(path), shape: shapeOf(routes, documents) }];
    }),
  );
}

function pairOf(old: PathRoutes, now: PathRoutes): Proposal | undefined {
  // A link to the new path has only what the old one says.
  if (parameterNames(now.path).length > parameterNames(old.path).length) return undefined;
  const methods = old.shape.methods.filter((method) => now.shape.methods.includes(method));
  if (methods.length === 0) return undefined;
  const ids = old.shape.operationIds.filter((id) => now.shape.operationIds.includes(id));
  const shape = shapeAlikeness(old.shape, now.shape);
  const path = likeness(old.letters, now.letters);
  const alike = 0.25 * path + 0.75 * shape.score;
  const score = Math.round(100 * (ids.length > 0 ? 0.7 + 0.3 * alike : alike)) / 100;
  const sure = score >= 0.8 ? 'almost sure' : score >= 0.6 ? 'likely' : 'a guess';
  const why = [
    ...(ids.length > 0 ? [`the same operationId ${ids.join(', ')}`] : []),
    ...(path >= 0.5 ? ['a similar path'] : []),
    ...shape.why,
  ];
  return { from: old.path, to: now.path, score, sure, why };
}
