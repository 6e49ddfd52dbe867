import { apiOf } from '../../config/api.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { isoText, rfc3339, rfc3339Of } from '../../shared/instant.ts';
import { inWholeUnits, plural } from '../../shared/text.ts';
import { evidenceOf } from '../../usage/callFacts.ts';
import { type Remark, remarkJson } from '../../usage/evidence/remark.ts';
import type { BrownoutPeriod, BrownoutTotal, RefusedClient, UsageQueries } from '../../usage/usageQueries.ts';
import { isSingleClient } from '../../usage/usageRow.ts';
import type { LiveState } from './liveFacts.ts';

/**
 * What a refused client did after the brownout.
 * - `kept retrying`: it called the version again within a day after the end, and did not use the successor
 * - `moved`: it used the successor, and never called the version again
 * - `both`: it used the successor, and called the version again
 * - `came back`: it called the version again later than a day after the end, and did not use the successor
 * - `silent since`: it did neither
 *
 * A client "used the successor" if it sent the successor a request that did not fail, after its first refused request and within
 * 7 days after the end. It "called the version again" if it sent the version any request after its last refused one, even a
 * request that a later brownout refused. If the brownout refuses only some routes, that request must also be after the end.
 */
export const brownoutClasses = ['kept retrying', 'both', 'came back', 'moved', 'silent since'] as const;
export type BrownoutClass = (typeof brownoutClasses)[number];

const dayMs = 86_400_000;
const retryPeriodMs = dayMs;
const movePeriodMs = 7 * dayMs;
// A list has at most this many entries. `*_count` has the full number.
const maxListed = 100;

/** `since`: only requests from this instant on count as calling the version again, epoch ms. */
export function brownoutClass(
  { first, last, lastCall, lastCallInRetryPeriod, successorUse }: Omit<RefusedClient, 'client' | 'name' | 'refused'>,
  since: number,
): BrownoutClass {
  const isLaterCall = (at: number): boolean => at > last && at >= since;
  if (successorUse >= first) return isLaterCall(lastCall) ? 'both' : 'moved';
  if (isLaterCall(lastCall)) return isLaterCall(lastCallInRetryPeriod) ? 'kept retrying' : 'came back';
  return 'silent since';
}

/** A brownout that is in routes.yaml, in the ledger, or in both. Instants in epoch ms. */
interface KnownBrownout extends BrownoutTotal {
  /** The first instant after the brownout. */
  readonly end: number;
  /** Whether the brownout refuses only some routes. Clients may call the other routes during it. */
  readonly isPartial: boolean;
  /** `stopped: the reason` or `skipped: the reason`; undefined if the brownout was neither stopped nor skipped. */
  readonly decision: string | undefined;
}

export interface BrownoutQuery {
  readonly version: string;
  readonly successor: string | undefined;
  /** The number of the brownout, from 1 for the earliest, or its start in epoch ms. Undefined: the last one that has begun. */
  readonly window: number | undefined;
  readonly now: number;
  /** What the running gateways know. Absent: none was asked. */
  readonly state?: LiveState | undefined;
}

/**
 * The body of `GET /api/brownouts/v1`. Undefined: there is no such brownout. `isBrief`: without the clients
 * that were not refused.
 */
export async function brownoutReport(
  queries: UsageQueries,
  snapshot: Snapshot,
  query: BrownoutQuery,
  { isBrief = false }: { readonly isBrief?: boolean } = {},
) {
  const { version, successor, now } = query;
  const allBrownouts = await knownBrownouts(queries, snapshot, version);
  const chosen = chosenOf(allBrownouts, query);
  if (chosen === undefined && query.window !== undefined) return undefined;
  const period = chosen && periodOf(chosen, version, successor);
  const refused = period ? await queries.brownouts.refused(period) : [];
  const clients = refused.filter(isSingleClient);
  const isOver = chosen !== undefined && chosen.end <= now;
  const classByClient = new Map(
    clients.map((one) => [one, isOver ? brownoutClass(one, chosen.isPartial ? chosen.end : 0) : null]),
  );
  const waivers = snapshot.versions.get(version)?.waivers.filter(({ until }) => now < until) ?? [];
  const waived = waivers.flatMap(({ clients: own }) => own);
  const spared = [...new Set([...apiOf(version, snapshot).brownout.spared, ...waived])];
  const notRefused =
    period && !isBrief ? await queries.brownouts.notRefused(period, spared, maxListed) : { count: 0, clients: [] };
  const classCounts = new Map(brownoutClasses.map((name) => [name, 0]));
  for (const one of classByClient.values()) if (one !== null) classCounts.set(one, (classCounts.get(one) ?? 0) + 1);
  const notes = chosen ? await notesOn(chosen, queries, query) : [];
  return {
    kind: 'brownout report' as const,
    version,
    successor: successor ?? null,
    asked_at: isoText(now),
    brownouts: allBrownouts.map((one, index) => ({
      number: index + 1,
      at: isoText(one.at),
      end: isoText(one.end),
      refused: one.refused,
      clients: one.clients,
      /** `stopped: the reason`; null: it was neither stopped nor skipped. */
      decision: one.decision ?? null,
    })),
    /** The number of the brownout that the other members describe. */
    number: chosen ? allBrownouts.indexOf(chosen) + 1 : null,
    /** Why the ledger cannot be written or read. */
    problem: queries.problem ?? null,
    refused: refused.reduce((sum, one) => sum + one.refused, 0),
    /** Requests of clients that are counted together. */
    folded: refused.reduce((sum, one) => sum + (isSingleClient(one) ? 0 : one.refused), 0),
    client_count: clients.length,
    classes: Object.fromEntries(classCounts) as Readonly<Record<BrownoutClass, number>>,
    clients: clients.slice(0, maxListed).map((one) => ({
      client: one.client,
      name: one.name ?? null,
      /** Null: the brownout is not over. */
      class: classByClient.get(one) ?? null,
      refused: one.refused,
      first: isoText(one.first),
      last: isoText(one.last),
      last_call: isoText(one.lastCall),
      successor_use: one.successorUse >= one.first ? isoText(one.successorUse) : null,
    })),
    not_refused_count: notRefused.count,
    not_refused: notRefused.clients.map((one) => ({
      client: one.client,
      name: one.name ?? null,
      requests: one.requests,
      /** Whether the configuration spares the client now. */
      spared: one.spared,
    })),
    notes: notes.map(remarkJson),
  };
}

export type BrownoutReport = NonNullable<Awaited<ReturnType<typeof brownoutReport>>>;

/** The last brownout of a version that refused clients, in one sentence for the verdict. Undefined: there is none. */
export async function brownoutRemark(
  queries: UsageQueries,
  snapshot: Snapshot,
  query: Omit<BrownoutQuery, 'window'>,
): Promise<Remark | undefined> {
  const last = (await queries.brownouts.totals(query.version)).at(-1);
  const report = last && (await brownoutReport(queries, snapshot, { ...query, window: last.at }, { isBrief: true }));
  return report && { code: 'brownout', text: brownoutSummary(report) };
}

/** `The brownout of /v1 at 2027-03-02T14:00:00Z refused 12 requests of 3 clients: 2 moved, 1 kept retrying.` */
export function brownoutSummary({
  version,
  number,
  brownouts,
  refused,
  folded,
  client_count: clientCount,
  classes,
}: BrownoutReport): string {
  const chosen = brownouts.find((brownout) => brownout.number === number);
  if (chosen === undefined) return `No brownout of /${version} has begun.`;
  const what = `The brownout of /${version} at ${rfc3339Of(chosen.at)} refused ${plural(refused, 'request')}`;
  const decision = chosen.decision === null ? '' : ` It was ${chosen.decision.replace(/\.$/, '')}.`;
  if (refused === 0) return `${what}.${decision}`;
  const clients = folded > 0 ? `at least ${plural(Math.max(1, clientCount), 'client')}` : plural(clientCount, 'client');
  const classesInWords = brownoutClasses.filter((name) => classes[name] > 0).map((name) => `${classes[name]} ${name}`);
  return `${what} of ${clients}${classesInWords.length > 0 ? `: ${classesInWords.join(', ')}` : ''}.${decision}`;
}

/** Earliest first. */
async function knownBrownouts(queries: UsageQueries, snapshot: Snapshot, version: string): Promise<KnownBrownout[]> {
  const windows = snapshot.versions.get(version)?.brownouts ?? [];
  const totals = await queries.brownouts.totals(version);
  const configured = windows.map(({ at, end, routes }): KnownBrownout => {
    const total = totals.find((one) => one.at === at) ?? { at, refused: 0, clients: 0, last: at };
    return { ...total, end, isPartial: routes !== undefined, decision: undefined };
  });
  // The brownouts that routes.yaml no longer lists. The last refused request is the best estimate of the end.
  const former = totals
    .filter(({ at }) => !windows.some((window) => window.at === at))
    .map((total): KnownBrownout => ({ ...total, end: total.last + 1, isPartial: false, decision: undefined }));
  const decisionByStart = new Map((await queries.brownouts.decisions(version)).map((one) => [one.at, one]));
  return [...configured, ...former]
    .map((one): KnownBrownout => {
      const { state, reason, changed: decidedAt = one.end } = decisionByStart.get(one.at) ?? {};
      if (state !== 'stopped' && state !== 'skipped') return one;
      const end = state === 'stopped' ? Math.max(one.at, Math.min(one.end, decidedAt)) : one.end;
      return { ...one, end, decision: `${state}: ${reason ?? 'no reason is known'}` };
    })
    .sort((a, b) => a.at - b.at);
}

function chosenOf(brownouts: readonly KnownBrownout[], { window, now }: BrownoutQuery): KnownBrownout | undefined {
  if (window === undefined) return brownouts.findLast(({ at }) => at <= now);
  return brownouts[window - 1] ?? brownouts.find(({ at }) => at === window);
}

function periodOf({ at, end }: KnownBrownout, version: string, successor: string | undefined): BrownoutPeriod {
  return { version, at, end, retryUntil: end + retryPeriodMs, moveUntil: end + movePeriodMs, successor };
}

async function notesOn(
  { at, end }: KnownBrownout,
  queries: UsageQueries,
  { version, successor, now, state }: BrownoutQuery,
): Promise<Remark[]> {
  const notes: Remark[] = [];
  if (now < end)
    notes.push({
      code: 'not_over',
      text: `It ends at ${rfc3339(end)}. What clients do after the end is not known yet.`,
    });
  else if (now < end + movePeriodMs) {
    const text = `Clients count as moved if they use the successor within ${inWholeUnits(movePeriodMs)} after the end, until ${rfc3339(end + movePeriodMs)}.`;
    notes.push({ code: 'may_change', text: `${text} Later answers may differ.` });
  }
  if (successor === undefined)
    notes.push({ code: 'no_successor', text: `/${version} has no successor, so no client can move.` });
  // A client that is listed as silent may have called either version.
  const gaps = new Set<string>();
  for (const name of successor === undefined ? [version] : [version, successor]) {
    const asked = { version: name, now, quiet: now - at, since: at };
    const { countedSince, since, lossReason } = await evidenceOf(queries, asked, state?.facts.get(name));
    if (countedSince === since) continue;
    const covered =
      countedSince === undefined
        ? 'The ledger is empty'
        : `The ledger covers only the time since ${rfc3339(countedSince)}`;
    const why = lossReason === undefined ? '' : ` ${lossReason}`;
    gaps.add(
      `${covered}: earlier requests may be missing, and a client that is listed as silent may have called.${why}`,
    );
  }
  for (const text of gaps) notes.push({ code: 'gap', text });
  let foldedRequests = await queries.requestsOfOtherClients(at, version);
  if (successor !== undefined) foldedRequests += await queries.requestsOfOtherClients(at, successor);
  if (foldedRequests > 0) {
    const text = `${plural(foldedRequests, 'request')} since the brownout began are counted together as other clients: a client that is listed as silent may be one of them, and all numbers of clients are lower bounds.`;
    notes.push({ code: 'folded', text });
  }
  const ofFleet = state?.fleet.get(version);
  return ofFleet ? [...notes, ...ofFleet.gaps, ...ofFleet.notes] : notes;
}
