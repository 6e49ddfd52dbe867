import type { Snapshot } from '../../../config/snapshot.ts';
import { type Instant, isoText, rfc3339 } from '../../../shared/instant.ts';
import { plural } from '../../../shared/text.ts';
import { maxEvidenceRows } from '../../../usage/ledger/evidence.ts';
import type { UsageQueries } from '../../../usage/usageQueries.ts';
import type { EvidenceRow } from '../../../usage/usageRow.ts';
import { evidenceHash, isPairRow, parentsOf, sumPairs, unreadableContract } from '../compare/evidence.ts';
import type { ShadowQuery } from './report.ts';

/** Something in the responses of a version that its contract does not declare. */
export interface UndeclaredProperty {
  /** The status of the responses; 0 for `route` and `status`, whose `detail` is the status. */
  readonly status: number;
  readonly path: string;
  /** `route`, `status`, `media`, `syntax`, `field`, or the rule of the contract that a value violates. */
  readonly what: string;
  /** `404`, `text/html`, `number`, `date-time`, or ''. */
  readonly detail: string;
  /** How many responses have it. */
  readonly count: number;
  readonly first: Instant;
  readonly last: Instant;
}

// The maximum length of each list. `*_count` has the full number.
const maxRoutes = 200;
const maxFindings = 50;

/** The body of `GET /api/drift/v2`. */
export async function driftReport(queries: UsageQueries, snapshot: Snapshot, query: ShadowQuery) {
  const { version, now } = query;
  const allRows = (await queries.evidence?.of(version)) ?? [];
  const { rows: latestRows, isCurrent } = latestEvidence(allRows, snapshot, version);
  const isUncompared = (row: EvidenceRow): boolean => isPairRow(row) && row.detail === unreadableContract;
  const rows = latestRows.filter((row) => !isUncompared(row));
  const uncompared = sumPairs(latestRows.filter(isUncompared));
  const routes = [...Map.groupBy(rows, ({ route }) => route)].map(([route, routeRows]) => routeDrift(route, routeRows));
  const findingCount = routes.reduce((sum, { finding_count: ofRoute }) => sum + ofRoute, 0);
  const responses = routes.reduce((sum, one) => sum + one.responses, 0);
  return {
    kind: 'drift report' as const,
    version,
    asked_at: isoText(now),
    /** Why the ledger cannot be written or read. */
    problem: queries.problem ?? null,
    /** In one sentence. */
    summary:
      responses === 0
        ? `No responses of /${version} were compared with its contract yet.`
        : `/${version} returns ${findingCount === 0 ? 'only what its contract declares' : `${plural(findingCount, 'thing')} that its contract does not declare`}, in ${plural(responses, 'response')} of ${plural(routes.length, 'route')}.`,
    responses,
    finding_count: findingCount,
    first: rows.length > 0 ? isoText(Math.min(...routes.map(({ begin }) => begin))) : null,
    last: rows.length > 0 ? isoText(Math.max(...routes.map(({ end }) => end))) : null,
    route_count: routes.length,
    routes: routes
      .toSorted((a, b) => b.finding_count - a.finding_count || b.responses - a.responses)
      .slice(0, maxRoutes)
      .map(({ begin: _begin, end: _end, ...route }) => route),
    notes: [...notesOn(query, snapshot, queries, { allRows, isCurrent, uncompared }), ...(query.notes ?? [])],
  };
}

export type DriftReport = Awaited<ReturnType<typeof driftReport>>;

/** The evidence for the current contract; if there is none, the evidence for the last contract before it. */
function latestEvidence(allRows: readonly EvidenceRow[], { versions }: Snapshot, name: string) {
  const { digest } = versions.get(name)?.contract ?? {};
  // A version is compared with its own contract, so both contracts are the same.
  const currentHash = evidenceHash(digest, digest);
  const groups = [
    ...Map.groupBy(
      allRows.filter(({ kind }) => kind === 'drift'),
      ({ hash }) => hash,
    ),
  ].map(([hash, rows]) => ({ rows, isCurrent: hash === currentHash, last: Math.max(...rows.map(({ last }) => last)) }));
  const [best] = groups.toSorted((a, b) => Number(b.isCurrent) - Number(a.isCurrent) || b.last - a.last);
  return best ?? { rows: [], isCurrent: true };
}

function routeDrift(route: string, rows: readonly EvidenceRow[]) {
  // Each response counts as a pair: it is compared with the contract.
  const pairRows = rows.filter(isPairRow);
  const findings = findingsIn(rows);
  return {
    route,
    responses: sumPairs(pairRows),
    /** Responses whose bodies were compared. */
    compared: sumPairs(pairRows.filter(({ detail }) => detail === 'body')),
    /** Whether responses have more paths than are compared. */
    has_more_paths: rows.some(({ what, detail }) => what === 'pair' && detail === 'more paths'),
    finding_count: findings.length,
    findings: findings.slice(0, maxFindings),
    begin: Math.min(...rows.map(({ first }) => first)),
    end: Math.max(...rows.map(({ last }) => last)),
  };
}

/** A single response is enough for a finding, because the contract applies to every response. */
function findingsIn(rows: readonly EvidenceRow[]): UndeclaredProperty[] {
  // `newShare` is the number of responses that have the property. A version is compared with its own contract, so both
  // listings are the same.
  const seenRows = rows.filter(({ newShare }) => newShare > 0);
  const isUnlisted = ({ oldListing }: EvidenceRow): boolean => oldListing === 'unlisted';
  // A status that the contract lists is `optional`. For other statuses it states no media types and no bodies.
  const undeclaredStatuses = new Set(
    seenRows
      .filter(({ what, oldListing }) => what === 'status' && oldListing !== 'optional')
      .map(({ detail }) => detail),
  );
  const unlistedPaths = new Set(
    seenRows.filter((row) => row.what === 'value' && isUnlisted(row)).map(({ status, path }) => `${status} ${path}`),
  );
  const found = seenRows.flatMap((row): UndeclaredProperty[] => {
    const { what, status, path, detail, oldListing } = row;
    if (what === 'status' && oldListing === 'no route') return [finding(row, 'route', detail)];
    if (what === 'status' && isUnlisted(row)) return [finding(row, 'status', detail)];
    if (undeclaredStatuses.has(String(status))) return [];
    if (what === 'media' && isUnlisted(row)) return [finding(row, 'media', detail)];
    if (what === 'syntax') return [finding(row, 'syntax')];
    // What is below an unlisted field is unlisted for the same reason.
    const isBelowUnlisted = parentsOf(path).some((parent) => unlistedPaths.has(`${status} ${parent}`));
    if (what === 'value') return isUnlisted(row) && !isBelowUnlisted ? [finding(row, 'field')] : [];
    if (what === 'null' && isUnlisted(row) && !isBelowUnlisted && !unlistedPaths.has(`${status} ${path}`))
      return [finding(row, 'field', 'null')];
    if (what !== 'invalid' || isBelowUnlisted || unlistedPaths.has(`${status} ${path}`)) return [];
    const [rule = '', ruleDetail = ''] = detail.split(' ', 2);
    return [finding(row, rule === 'unlisted' ? 'field' : rule, ruleDetail)];
  });
  return found.toSorted((a, b) => a.status - b.status || b.count - a.count || (a.path < b.path ? -1 : 1));
}

function finding(row: EvidenceRow, what: string, detail = ''): UndeclaredProperty {
  const { status, path, newShare: count, first, last } = row;
  return { status, path, what, detail, count, first: isoText(first), last: isoText(last) };
}

function notesOn(
  { version, now }: ShadowQuery,
  { versions }: Snapshot,
  { evidence }: UsageQueries,
  {
    allRows,
    isCurrent,
    uncompared,
  }: { readonly allRows: readonly EvidenceRow[]; readonly isCurrent: boolean; readonly uncompared: number },
): string[] {
  const notes: string[] = [];
  const until = versions.get(version)?.drift?.until;
  if (evidence === undefined) notes.push('The usage ledger of this gateway cannot be read, so it has no evidence.');
  if (until === undefined)
    notes.push(`Set drift in the section of /${version} in routes.yaml to compare its responses with its contract.`);
  else if (until <= now) notes.push(`The comparison ended at ${rfc3339(until)}. Move drift.until to continue it.`);
  if (!isCurrent)
    notes.push(
      'The contract, or the way of comparing, has changed since these responses were compared. New evidence begins with the next response.',
    );
  if (uncompared > 0)
    notes.push(
      `${plural(uncompared, 'response')} of /${version} ${uncompared === 1 ? 'was' : 'were'} not compared: its contract is not OpenAPI 3, or a file that it refers to cannot be read.`,
    );
  if (allRows.length >= maxEvidenceRows)
    notes.push(
      `The evidence of /${version} has ${maxEvidenceRows} rows, which is the limit. Further differences may be missing.`,
    );
  return notes;
}
