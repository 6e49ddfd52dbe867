import { setImmediate } from 'node:timers/promises';
import { type Instant, isoText, rfc3339 } from '../../shared/instant.ts';
import { inWholeUnits, plural, printable, printableExcerpt } from '../../shared/text.ts';
import { evidenceUntil } from '../../usage/callFacts.ts';
import type { LiveFacts } from '../../usage/evidence/callEvidence.ts';
import { type MetricValues, metricOf } from '../../usage/observability/exposition.ts';
import type { MetricName } from '../../usage/observability/metricTable.ts';
import type { FirstCall, UsageQueries } from '../../usage/usageQueries.ts';
import { isSingleClient } from '../../usage/usageRow.ts';

/** A freeze, as a question to the ledger. Instants in epoch ms, durations in ms. */
export interface FreezeQuery {
  /** The path segment: `v1`. */
  readonly version: string;
  readonly from: number;
  /** `retire.quiet`: how long before `from` the ledger must have recorded all calls. */
  readonly quiet: number;
  /** The most known clients that a process keeps. */
  readonly limit: number;
  /** Computed from the present `usage.identify` and salt, which determine the names of clients. */
  readonly namingRulesId: string;
  /** Clients that are never new. */
  readonly allow: readonly string[];
  /** Whether the known clients are left out, because they were read before. */
  readonly onlyNewClients?: boolean;
  readonly now: number;
  /** What the running gateways know of the calls of the version. Absent: none was asked. */
  readonly live?: LiveFacts | undefined;
}

/** A client first seen since a freeze. */
export type NewClient = FirstCall;

/** Names as in the ledger. */
export type FreezeClients =
  | {
      readonly kind: 'found';
      /** Computed from the `usage.identify` and the salt with which the clients were named. */
      readonly namingRulesId: string;
      /** The clients first seen before `from`, one per line; '' if `onlyNewClients`. */
      readonly clientLines: string;
      /** The number of clients in `clientLines`. */
      readonly count: number;
      /** The clients first seen since `from`, the earliest first, at most `maxNewClients`. */
      readonly newClients: readonly NewClient[];
    }
  /** The freeze must refuse no client. `reason`: sentences for the operator. */
  | { readonly kind: 'unknown'; readonly reason: string };

/** The state of a freeze, for operators. Instants in epoch ms. */
export interface FreezeStatus extends Pick<FreezeQuery, 'version' | 'from'> {
  readonly mode: 'report' | 'refuse';
  /** `scheduled`: it has not begun. `reading`: the ledger is read. `inactive`: it refuses no client, see `reason`. */
  readonly state: 'scheduled' | 'reading' | 'active' | 'inactive';
  readonly reason: string | undefined;
  /** The number of clients first seen before the freeze; undefined unless the freeze is active. */
  readonly known: number | undefined;
  /** The number of clients first seen since. If it is `maxNewClients`, there may be more. */
  readonly newClients: number;
}

/** The state in one line. Safe to print. */
export function freezeInWords({ version, from, mode, state, reason, known = 0 }: FreezeStatus): string {
  const since = rfc3339(from);
  if (state === 'inactive')
    return `the freeze of /${version} is inactive and refuses nobody: ${printable(reason ?? '')}`;
  if (state === 'reading') return `the freeze of /${version} is not active yet: its known clients are being read`;
  if (state !== 'active') return `/${version} will be frozen from ${since} on`;
  const action = mode === 'refuse' ? 'refused' : 'reported';
  return `/${version} is frozen: ${plural(known, 'client')} known from before ${since}; other clients are ${action}`;
}

/** How many names of new clients a process keeps. The number is bounded, because each new client may be a forged key. */
export const maxNewClients = 10_000;
const maxListedClients = 5;
// The most first calls that are read from the ledger. Clients that cannot be new are removed afterwards.
const maxFirstCalls = 50_000;

/** The most names that a freeze keeps: `usage.max_clients` limits the clients of one day, and known clients come from many days. */
export function knownClientsLimit({ maxClients }: { readonly maxClients: number }): number {
  return 4 * maxClients;
}

/**
 * Whether a client can be new to a freeze. A client that is identified only by its user agent or address is never new, because
 * many clients share a user agent or an address, and an update or a move of a client changes it.
 */
export function canBeNew(client: string): boolean {
  // A name without a kind stands for several clients: `unknown`, or the sum of those above a limit.
  return client.includes(':') && !client.startsWith('user-agent:') && !client.startsWith('address:');
}

/** What the operating side sends to every process that serves clients, about all freezes that refuse. */
export interface KnownClients {
  /** Computed from the `usage.identify` and the salt with which the clients were named. A process with another id ignores the names. */
  readonly namingRulesId: string;
  /** The `freezeKey` of a freeze → the clients first seen before it, one per line. Cloning one string is faster than cloning thousands. */
  readonly clientLinesByFreeze: ReadonlyMap<string, string>;
}

/** The key of a freeze in `RestrictionState.known`. The key contains the date, which decides which clients are known. */
export function freezeKey(version: string, { from }: Pick<FreezeQuery, 'from'>): string {
  return `${version} ${from}`;
}

// Names added to a set in one turn of the event loop, which takes about a millisecond.
const sliceSize = 500;

/** Builds the sets in slices, so that requests do not wait. */
export async function knownClientSets({
  clientLinesByFreeze,
}: KnownClients): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const sets = new Map<string, ReadonlySet<string>>();
  for (const [key, text] of clientLinesByFreeze) {
    const names = new Set<string>();
    for (let at = 0; at < text.length; ) {
      const lineFeed = text.indexOf('\n', at);
      const end = lineFeed === -1 ? text.length : lineFeed;
      names.add(text.slice(at, end));
      at = end + 1;
      if (names.size % sliceSize === 0) await setImmediate();
    }
    sets.set(key, names);
  }
  return sets;
}

/** Finds the clients from before a freeze, and the new ones. `unknown`: not all clients from before the freeze are known. */
export async function findFreezeClients(queries: UsageQueries, query: FreezeQuery): Promise<FreezeClients> {
  const { version, from, quiet, limit, now, live, onlyNewClients = false } = query;
  const namingRules = await queries.namingRules();
  const clientsBefore = onlyNewClients ? [] : await queries.firstCalls(version, 0, from, limit + 1);
  const newClients = await newClientsOf(queries, query);
  const evidence = await evidenceUntil(queries, { version, now, quiet, since: from - quiet }, from, live);
  // Read last: a query that failed returned no rows.
  if (queries.problem !== undefined) return { kind: 'unknown', reason: queries.problem };
  const [firstMissing] = [...evidence.missing, ...evidence.pending];
  const isCovered = evidence.countedSince === evidence.since;
  const coveredFrom = isCovered ? from : (firstMissing?.until ?? from + quiet);
  const remedy = `Move \`from\` to ${rfc3339(Math.max(coveredFrom, namingRules.since + quiet))} or later.`;
  if (!isCovered) {
    const period = `the ${inWholeUnits(quiet)} (retire.quiet) before ${rfc3339(from)}`;
    const why = evidence.lossReason === undefined ? '' : `  ${evidence.lossReason}`;
    return { kind: 'unknown', reason: `The usage ledger does not cover ${period}.${why}  ${remedy}` };
  }
  if (firstMissing !== undefined) return { kind: 'unknown', reason: firstMissing.text };
  if (namingRules.id !== query.namingRulesId || namingRules.since > from - quiet) {
    const at = namingRules.id === query.namingRulesId ? ` at ${rfc3339(namingRules.since)}` : '';
    const change = `The salt of the client tags or usage.identify was changed${at}`;
    return { kind: 'unknown', reason: `${change}, so clients have other names than before.  ${remedy}` };
  }
  if (!clientsBefore.every(isSingleClient)) {
    const what = 'Before the freeze, clients were counted together as other clients, so their names are not known.';
    return { kind: 'unknown', reason: `${what}  Raise usage.max_clients, and move \`from\` to a later date.` };
  }
  if (clientsBefore.length > limit) {
    const what = `/${version} had more than ${plural(limit, 'client')} before the freeze.`;
    return { kind: 'unknown', reason: `${what}  Raise usage.max_clients: a freeze keeps four times as many names.` };
  }
  const clientLines = clientsBefore.map(({ client }) => client).join('\n');
  return { kind: 'found', namingRulesId: namingRules.id, clientLines, count: clientsBefore.length, newClients };
}

/** The clients that a freeze refuses or would refuse, the earliest first. */
export async function newClientsOf(
  queries: Pick<UsageQueries, 'firstCalls'>,
  { version, from, allow }: Pick<FreezeQuery, 'version' | 'from' | 'allow'>,
): Promise<readonly NewClient[]> {
  const allowed = new Set(allow);
  const calls = await queries.firstCalls(version, from, undefined, maxFirstCalls);
  return calls.filter(({ client }) => canBeNew(client) && !allowed.has(client)).slice(0, maxNewClients);
}

/** `3 new clients: Ann's shop (x-api-key:#4f2a91c07be05d3a), …`. Safe to print. */
export function newClientsInWords(clients: readonly NewClient[]): string {
  const listed = clients.slice(0, maxListedClients).map(newClientInWords).join(', ');
  return `${plural(clients.length, 'new client')}: ${listed}${clients.length > maxListedClients ? ' and others' : ''}`;
}

export function newClientInWords({ client, name }: NewClient): string {
  return printableExcerpt(name === undefined ? client : `${name} (${client})`, 100);
}

/** A note for the verdict about the version: the state of its freeze, and the new clients. */
export async function freezeNote(
  queries: Pick<UsageQueries, 'firstCalls'>,
  freeze: FreezeStatus,
  allow: readonly string[] = [],
): Promise<{ readonly code: string; readonly text: string }> {
  const words = freezeInWords(freeze);
  const text = `${words.charAt(0).toUpperCase()}${words.slice(1).replace(/\.$/, '')}.`;
  if (freeze.state !== 'active') return { code: freeze.state === 'inactive' ? 'freeze_inactive' : 'freeze', text };
  const newClients = await newClientsOf(queries, { ...freeze, allow });
  const list = newClients.length === 0 ? 'No client is new.' : `${newClientsInWords(newClients)}.`;
  return { code: 'freeze', text: `${text} ${list}` };
}

/** A freeze in `GET /api/status`. */
export interface FreezeJson extends Pick<FreezeStatus, 'version' | 'mode' | 'state'> {
  readonly from: Instant;
  /** Why the freeze is inactive. */
  readonly reason: string | null;
  readonly known_clients: number | null;
  readonly new_clients: number;
}

export function freezeJson({ version, from, mode, state, reason, known, newClients }: FreezeStatus): FreezeJson {
  const counts = { known_clients: known ?? null, new_clients: newClients };
  return { version, from: isoText(from), mode, state, reason: reason ?? null, ...counts };
}

export function freezeGauges(freezes: readonly FreezeStatus[]): MetricValues[] {
  const perFreeze = (name: MetricName, value: (freeze: FreezeStatus) => number): MetricValues =>
    metricOf(
      name,
      freezes.map((freeze) => ({ labels: { version: freeze.version }, value: value(freeze) })),
    );
  return [
    perFreeze('version_gateway_freeze_active', ({ state }) => (state === 'active' ? 1 : 0)),
    perFreeze('version_gateway_freeze_new_clients', ({ newClients }) => newClients),
  ];
}
