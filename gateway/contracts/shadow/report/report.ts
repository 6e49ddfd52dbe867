import { apiOf } from '../../../config/api.ts';
import type { Snapshot } from '../../../config/snapshot.ts';
import { isoText } from '../../../shared/instant.ts';
import { firstOf, plural } from '../../../shared/text.ts';
import { onlyFails } from '../../../usage/counting/countedExchange.ts';
import { maxEvidenceRows } from '../../../usage/ledger/evidence.ts';
import type { RouteUse, UsageQueries } from '../../../usage/usageQueries.ts';
import type { EvidenceKind, EvidenceRow } from '../../../usage/usageRow.ts';
import type { NewServingAdapter } from '../../../versions/lifecycle/reloadGuard.ts';
import { assessEvidence, type DifferenceClass, type RouteEvidence } from '../compare/assess.ts';
import { evidenceHash } from '../compare/evidence.ts';

export interface ShadowQuery {
  readonly version: string;
  /** Epoch ms. */
  readonly now: number;
  /** Why the report may be incomplete: for example, other gateways of the fleet have their own evidence. */
  readonly notes?: readonly string[] | undefined;
}

// The maximum length of each list. `*_count` has the full number.
const maxRoutes = 200;
const maxDifferences = 50;
const maxUnseen = 50;
// `whyAdapterCannotServe` names at most this many routes.
const maxNamedRoutes = 5;

/** The evidence of one version compared with one other version. */
interface ChosenEvidence {
  readonly to: string;
  readonly rows: readonly EvidenceRow[];
  /** Whether the contracts are still those that were compared. */
  readonly isCurrent: boolean;
}

/** The body of `GET /api/shadow/v1`. */
export async function shadowReport(queries: UsageQueries, snapshot: Snapshot, query: ShadowQuery) {
  const { version, now } = query;
  const { allRows, chosen, routes, usedRoutes } = await readEvidence(queries, snapshot, query);
  const { quiet } = apiOf(version, snapshot).retire;
  const [firsts, lasts] = [routes.map((one) => one.first), routes.map((one) => one.last)];
  const counts = countsOf(routes);
  const pairs = routes.reduce((sum, one) => sum + one.pairs, 0);
  return {
    kind: 'shadow report' as const,
    version,
    to: chosen?.to ?? null,
    asked_at: isoText(now),
    /** Why the ledger cannot be written or read. */
    problem: queries.problem ?? null,
    /** In one sentence. */
    summary: differenceSummary(version, chosen?.to, counts, pairs, routes.length),
    pairs,
    first: routes.length > 0 ? isoText(Math.min(...firsts)) : null,
    last: routes.length > 0 ? isoText(Math.max(...lasts)) : null,
    /** The start of the period in which `requests` of the routes are counted. */
    used_since: isoText(now - quiet),
    /** The number of differences of each class. */
    counts,
    route_count: routes.length,
    routes: routes
      .toSorted((a, b) => undeclaredIn(b) - undeclaredIn(a))
      .slice(0, maxRoutes)
      .map((route) => routeJson(route, usedRoutes.get(route.route))),
    /** Routes in use that were never compared. */
    not_compared: [...usedRoutes.keys()].filter(
      (name) => /^(?:GET|HEAD) /.test(name) && !routes.some(({ route }) => route === name),
    ),
    notes: [...notesOn(chosen, allRows, { version, snapshot, queries }), ...(query.notes ?? [])],
  };
}

async function readEvidence(queries: UsageQueries, snapshot: Snapshot, { version, now }: ShadowQuery) {
  const allRows = (await queries.evidence?.of(version)) ?? [];
  const chosen = chooseEvidence(allRows, snapshot, version);
  const routes = chosen ? assessEvidence(chosen.rows) : [];
  const usedRoutes = new Map(
    (await queries.routes(version, now - apiOf(version, snapshot).retire.quiet)).map((one) => [one.route, one]),
  );
  return { allRows, chosen, routes, usedRoutes };
}

export type DifferenceReport = Awaited<ReturnType<typeof shadowReport>>;
export type ShadowRoute = DifferenceReport['routes'][number];

export function routeJson(evidence: RouteEvidence, use: Pick<RouteUse, 'requests'> | undefined) {
  const { route, pairs, compared, control, skipped, differences, unseen, first, last } = evidence;
  return {
    route,
    /** Requests of clients since `used_since`. */
    requests: use?.requests ?? 0,
    pairs,
    /** Pairs whose bodies were compared. */
    compared,
    /** Pairs of two responses of the version. */
    control,
    skipped,
    difference_count: differences.length,
    differences: differences.slice(0, maxDifferences).map((one) => ({
      class: one.class,
      status: one.status,
      path: one.path,
      what: one.what,
      detail: one.detail,
      why: one.why,
      count: one.count,
      pairs: one.pairs,
      first: isoText(one.first),
      last: isoText(one.last),
    })),
    /** Fields of the contract of the version about which too little is known. */
    unseen_count: unseen.length,
    unseen: unseen.slice(0, maxUnseen),
    first: isoText(first),
    last: isoText(last),
  };
}

/** The undeclared differences on routes in use, as a remark on the verdict. Undefined: none is known. */
export async function shadowRemark(
  queries: UsageQueries,
  snapshot: Snapshot,
  query: ShadowQuery,
): Promise<{ readonly code: string; readonly text: string } | undefined> {
  const { chosen, routes, usedRoutes } = await readEvidence(queries, snapshot, query);
  // Not from the report, which lists only some routes and differences. In `differences`, undeclared ones come first.
  const isInUse = ({ route }: RouteEvidence): boolean => (usedRoutes.get(route)?.requests ?? 0) > 0;
  const undeclaredRoutes = routes
    .filter((one) => isInUse(one) && one.differences[0]?.class === 'undeclared')
    .toSorted((a, b) => undeclaredIn(b) - undeclaredIn(a));
  if (chosen === undefined || undeclaredRoutes.length === 0) return undefined;
  const count = undeclaredRoutes.reduce((sum, one) => sum + undeclaredIn(one), 0);
  const shown = firstOf(
    undeclaredRoutes,
    3,
    ({ route, differences: [first] }) => `${route} (${differenceInWords(first)})`,
  );
  const text = `/${chosen.to} has ${plural(count, 'undeclared difference')} from /${query.version} on ${plural(undeclaredRoutes.length, 'route')} in use: ${shown}. The contracts do not state them.  See \`shadow report /${query.version}\`.`;
  return { code: 'undeclared_differences', text };
}

/** How well one route was compared. An adapter may serve clients only if this is good enough for all routes in use. */
export interface RouteProof {
  readonly pairs: number;
  readonly undeclared: number;
  /** When the last pair was compared, epoch ms. */
  readonly last: number;
}

/** Route (`GET /drinks/{id}`) → how well it was compared. Only the evidence of this kind and hash counts, with its controls. */
export async function routeProofs(
  queries: Pick<UsageQueries, 'evidence'>,
  name: string,
  { kind, hash }: { readonly kind: EvidenceKind; readonly hash: string },
): Promise<ReadonlyMap<string, RouteProof>> {
  const allRows = (await queries.evidence?.of(name)) ?? [];
  const rows = allRows.filter((row) => row.hash === hash && (row.kind === kind || row.kind === 'control'));
  return new Map(
    assessEvidence(rows).map((one) => [
      one.route,
      { pairs: one.compared, undeclared: undeclaredIn(one), last: one.last },
    ]),
  );
}

/**
 * What is missing until an adapter may serve clients; undefined: nothing. Each GET route that it serves, and that clients have used
 * since `since`, needs enough pairs without an undeclared difference. HEAD counts as GET, because the adapter answers both with the same
 * route. Other methods are never copied, so they are not compared. Routes that it does not serve are judged by gateway/versions/plan.
 */
export async function whyAdapterCannotServe(
  queries: Pick<UsageQueries, 'evidence' | 'routes' | 'problem'>,
  adapter: NewServingAdapter,
  since: number,
): Promise<string | undefined> {
  const { version, contractDigest, fromContractDigest, hash, pairs: neededPairs, routes: adaptedRoutes } = adapter;
  const used = await queries.routes(version, since);
  const proven = await routeProofs(queries, version, {
    kind: 'adapter',
    hash: evidenceHash(contractDigest, fromContractDigest, hash),
  });
  if (queries.problem !== undefined) return `the usage ledger cannot be read: ${queries.problem}`;
  if (queries.evidence === undefined) return 'the usage ledger has no comparisons';
  const routesInUse = used
    .filter((row) => !onlyFails(row))
    .map(({ route }) => route.replace(/^HEAD /, 'GET '))
    .filter((route) => route.startsWith('GET ') && adaptedRoutes.includes(route));
  const missing = [...new Set(routesInUse)].flatMap((route) => {
    const { pairs: compared = 0, undeclared = 0 } = proven.get(route) ?? {};
    if (undeclared > 0) return [`${route} has ${plural(undeclared, 'undeclared difference')}`];
    return compared < neededPairs ? [`${route} has ${compared} of ${neededPairs} comparisons`] : [];
  });
  if (missing.length === 0) return undefined;
  const more = missing.length - maxNamedRoutes;
  return missing.slice(0, maxNamedRoutes).join(', ') + (more > 0 ? `, and ${plural(more, 'further route')}` : '');
}

/** `/price type string → number` */
export function differenceInWords(one: { path: string; what: string; detail: string } | undefined): string {
  return one === undefined ? '' : [one.path, one.what, one.detail].filter((part) => part !== '').join(' ');
}

/** `/v1 compared with /v2: 2 undeclared differences and 1 declared in 30 pairs of 1 route.` */
export function differenceSummary(
  version: string,
  to: string | undefined,
  { undeclared, declared }: ReturnType<typeof countsOf>,
  pairs: number,
  routes: number,
): string {
  if (to === undefined) return `No responses of /${version} were compared yet.`;
  const found = undeclared > 0 ? plural(undeclared, 'undeclared difference') : 'no undeclared difference';
  return `/${version} compared with /${to}: ${found} and ${declared} declared in ${plural(pairs, 'pair')} of ${plural(routes, 'route')}.`;
}

function chooseEvidence(
  allRows: readonly EvidenceRow[],
  { versions }: Snapshot,
  name: string,
): ChosenEvidence | undefined {
  const shadowRows = allRows.filter(({ kind }) => kind === 'shadow' || kind === 'control');
  const version = versions.get(name);
  const groups = [...Map.groupBy(shadowRows, ({ to, hash }) => `${to} ${hash}`).values()].map((rows) => {
    const to = rows[0]?.to ?? '';
    const hash = evidenceHash(version?.contract?.digest, versions.get(to)?.contract?.digest);
    return { to, rows, isCurrent: rows[0]?.hash === hash, last: Math.max(...rows.map(({ last }) => last)) };
  });
  const configuredTo = version?.shadow?.to;
  const usable = groups.filter(
    ({ to, rows }) => to === (configuredTo ?? to) && rows.some(({ kind }) => kind === 'shadow'),
  );
  const [best] = usable.toSorted((a, b) => Number(b.isCurrent) - Number(a.isCurrent) || b.last - a.last);
  return best;
}

function notesOn(
  chosen: ChosenEvidence | undefined,
  allRows: readonly EvidenceRow[],
  { version: name, snapshot, queries }: { version: string; snapshot: Snapshot; queries: UsageQueries },
): string[] {
  const notes: string[] = [];
  const settings = snapshot.versions.get(name)?.shadow;
  if (queries.evidence === undefined)
    notes.push('The usage ledger of this gateway cannot be read, so it has no evidence.');
  else if (chosen === undefined && settings === undefined)
    notes.push(
      `Set shadow in the section of /${name} in routes.yaml to compare its responses with those of another version.`,
    );
  else if (chosen?.isCurrent === false)
    notes.push(
      'A contract, or the way of comparing, has changed since these pairs were compared. New evidence begins with the next pair.',
    );
  if (chosen && ![...chosen.rows].some(({ kind }) => kind === 'control'))
    notes.push(
      settings && settings.control > 0
        ? 'No control request was sent yet, so noise cannot be distinguished from differences.'
        : 'No control request was sent, so noise cannot be distinguished from differences. Set shadow.control to more than 0.',
    );
  // A row about the whole pair, not about a path.
  if (chosen?.rows.some(({ detail, what }) => what === 'pair' && detail === 'more paths'))
    notes.push('Some bodies have more than 500 different paths. Paths beyond these are not compared.');
  if (allRows.length >= maxEvidenceRows)
    notes.push(
      `The evidence of /${name} has ${maxEvidenceRows} rows, which is the limit. Further differences may be missing.`,
    );
  return notes;
}

export function countsOf(
  routes: readonly RouteEvidence[],
): Readonly<Record<'undeclared' | 'declared' | 'noise' | 'no_evidence', number>> {
  const count = (name: DifferenceClass): number =>
    routes.reduce((sum, { differences }) => sum + differences.filter((one) => one.class === name).length, 0);
  return {
    undeclared: count('undeclared'),
    declared: count('declared'),
    noise: count('noise'),
    no_evidence: count('no evidence'),
  };
}

function undeclaredIn({ differences }: RouteEvidence): number {
  return differences.filter((one) => one.class === 'undeclared').length;
}
