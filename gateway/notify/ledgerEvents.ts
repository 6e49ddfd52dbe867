import type { Snapshot, Version } from '../config/snapshot.ts';
import { type Stage, stageOf, successorOf } from '../lifecycle/stage.ts';
import { ignoredBy } from '../retirement/countedUsage.ts';
import { type FactSources, gatherFacts, type RetirementFacts } from '../retirement/facts.ts';
import { retirementVerdict } from '../retirement/verdict.ts';
import { dayOf, lastPeriodInWords } from '../retirement/words.ts';
import { ago, inLargestUnit, inWholeUnits, plural, printableExcerpt, withCommas } from '../shared/text.ts';
import type { Arrival, ClientUse } from '../usage/usageQueries.ts';
import { isSingleClient } from '../usage/usageRow.ts';
import {
  clientNameOf,
  instantText,
  maxEventsPerGroup,
  type NotifyEvent,
  type NotifySection,
  rememberedMs,
} from './events.ts';

const dayMs = 86_400_000;
// The summary of a day waits until the counts of its last minutes are in the ledger.
const summaryAfterMs = 600_000;
const maxListedClients = 20;
const maxListedDates = 20;

export interface DigestQuery {
  readonly snapshot: Snapshot;
  readonly queries: FactSources['queries'];
  /** The report of the running gateway; undefined: only the ledger is read. */
  readonly report: FactSources['report'] | undefined;
  /** Epoch ms. */
  readonly since: number;
  readonly now: number;
  /** The day of a weekly digest. Its id contains the day, so it is the same on every gateway. Undefined: not a weekly digest. */
  readonly monday?: number | undefined;
}

/**
 * The changes, the clients of each deprecated version, what prevents its retirement, and the next dates. Undefined: the ledger cannot
 * be read.
 */
export async function digestEvent(query: DigestQuery): Promise<NotifyEvent | undefined> {
  const { snapshot, queries, since, now, monday } = query;
  const { sortedVersions } = snapshot;
  const ending = sortedVersions.filter((version) => isEnding(version, now));
  const versionDigests = await Array.fromAsync(ending, (version) => versionDigest(version, query));
  const brownouts = (await Array.fromAsync(sortedVersions, ({ name }) => decidedBrownouts(name, queries))).flat();
  const totals = await queries.requests(since);
  if (queries.problem !== undefined) return undefined;
  const requests = totals.reduce((sum, one) => sum + one.requests, 0);
  const allDates = datesOf(snapshot, now, brownouts);
  const nextDates = allDates.filter(({ at }) => at > now);
  const isReached = ({ at }: { readonly at: number }): boolean => at > since && at <= now;
  const datesReached = [...allDates, ...brownouts].filter(isReached).sort((a, b) => a.at - b.at);
  const changes = [...datesReached.map(dateInWords), ...versionDigests.flatMap(({ changes }) => changes)];
  const period = since > 0 ? `${dayOf(since)} to ${dayOf(now)}` : `until ${dayOf(now)}`;
  const noDeprecation = ending.length === 0 ? ' No version is deprecated.' : '';
  return {
    id: `digest ${monday === undefined ? now : dayOf(monday)}`,
    type: 'digest',
    at: now,
    title: `API versions, ${period}`,
    sections: [
      { lines: [`${plural(requests, 'request')} in ${periodInWords(query)}.${noDeprecation}`] },
      { heading: 'What changed', lines: changes.length > 0 ? changes : ['Nothing.'] },
      ...versionDigests.map(({ section }) => section),
      {
        heading: 'Next dates',
        lines: nextDates.length > 0 ? nextDates.slice(0, maxListedDates).map(dateInWords) : ['No date is set.'],
      },
    ],
    data: {
      since: instantText(since),
      until: instantText(now),
      requests,
      changes,
      versions: versionDigests.map(({ data }) => data),
      dates: nextDates.slice(0, maxListedDates).map(({ at, what }) => ({ at: instantText(at), what })),
    },
    keepUntil: now + rememberedMs,
  };
}

/** Whether the version is deprecated, past its sunset or retired. */
function isEnding(version: Version, now: number): boolean {
  const stage: Stage = stageOf(version, now);
  return stage !== 'active' && stage !== 'announced';
}

/** `since` is 0 if the period is longer than the time since 1970. */
function periodInWords({ since, now }: Pick<DigestQuery, 'since' | 'now'>): string {
  return since > 0 ? lastPeriodInWords(now - since) : 'the whole ledger';
}

async function versionDigest(version: Version, query: DigestQuery) {
  const { snapshot, queries, report = { versions: [], workers: [] }, since, now } = query;
  const { name } = version;
  const { quiet } = snapshot.retire;
  const facts = await gatherFacts(version, { snapshot, queries, report }, quiet, now);
  const uses = (await queries.byClient(name, since)).filter((one) => one.last >= since);
  const clients = uses.filter(isSingleClient);
  const totalsBefore = await queries.totals(since - (now - since), since);
  const coversBefore = ((await queries.coveredSince()) ?? now) <= since - (now - since);
  const requestsBefore = coversBefore ? (totalsBefore.find((one) => one.version === name)?.requests ?? 0) : undefined;
  const requests = uses.reduce((sum, one) => sum + one.requests, 0);
  const { answer, reasons } = retirementVerdict(facts);
  const isIgnored = ignoredBy(snapshot.retire.ignoreClients);
  const arrivals = await queries.arrivals(name, { since, until: now, absence: Math.max(dayMs, quiet) });
  const newClients = arrivals.filter((one) => one.isNew && !isIgnored(one));
  const returned = arrivals.filter((one) => !one.isNew && !isIgnored(one));
  // The clients whose quiet period, counted from their last call, ended within the period of the digest.
  const newlyGone = facts.gone.filter(({ last }) => last + quiet >= since);
  const changes = [
    requestsChange(name, requests, requestsBefore, now - since),
    ...clientsChange(newClients, `called /${name} for the first time`),
    ...clientsChange(returned, `came back to /${name}`),
    ...clientsChange(newlyGone, `stopped calling /${name}`),
  ];
  const blockers =
    answer === 'yes' ? [notBlocked(name, facts)] : reasons.map(({ text }) => printableExcerpt(text, 1_000));
  const section: NotifySection = {
    heading: `/${name}: ${facts.stage}`,
    lines: [...blockers, ...(uses.length === 0 ? [`No client called it in ${periodInWords(query)}.`] : [])],
    ...(clients.length > 0 && { table: clientTable(clients, now) }),
  };
  const data = {
    version: name,
    stage: facts.stage,
    deprecation: instantText(version.deprecation),
    sunset: instantText(version.sunset),
    successor: successorOf(version, snapshot, now)?.name ?? null,
    requests,
    requests_before: requestsBefore ?? null,
    client_count: clients.length,
    clients: clients.slice(0, maxListedClients).map(({ client, name, requests, last }) => {
      return { client, name: name ?? null, requests, last: instantText(last) };
    }),
    blocked_by: answer === 'yes' ? [] : reasons.map(({ code, text }) => ({ code, text })),
  };
  return { changes, section, data };
}

// The verdict of a digest is made without the requests in flight, and without the counts that other gateways have not sent yet.
function notBlocked(name: string, { stage }: RetirementFacts): string {
  if (stage === 'retired') return 'It is retired: requests are answered 410.';
  return `Nothing in the ledger blocks its retirement. Ask \`version-gateway can-retire /${name}\` before you retire it.`;
}

function requestsChange(name: string, requests: number, before: number | undefined, periodMs: number): string {
  const comparison = before === undefined ? '' : `; in the ${inWholeUnits(periodMs)} before, ${withCommas(before)}`;
  return `/${name} had ${plural(requests, 'request')}${comparison}.`;
}

function clientsChange(clients: readonly Pick<ClientUse, 'client' | 'name'>[], what: string): string[] {
  if (clients.length === 0) return [];
  const names = clients.slice(0, 5).map(clientNameOf).join(', ');
  const more = clients.length > 5 ? ` and ${withCommas(clients.length - 5)} more` : '';
  return [`${plural(clients.length, 'client')} ${what}: ${names}${more}.`];
}

function clientTable(clients: readonly ClientUse[], now: number): NotifySection['table'] {
  const rows = clients
    .slice(0, maxListedClients)
    .map((one) => [clientNameOf(one), withCommas(one.requests), ago(one.last, now)]);
  const more = clients.length - rows.length;
  return {
    head: ['client', 'requests', 'last call'],
    rows: more > 0 ? [...rows, [`and ${plural(more, 'more client')}`, '', '']] : rows,
  };
}

interface NamedDate {
  readonly at: number;
  readonly what: string;
}

const pastStates = { approved: 'began', ended: 'ended', stopped: 'was stopped', skipped: 'was skipped' } as const;

type DecidedBrownout = NamedDate & { readonly version: string; readonly isCancelled: boolean };

/** The brownouts about which the ledger has a decision. Others may never have begun. */
async function decidedBrownouts(version: string, queries: DigestQuery['queries']): Promise<DecidedBrownout[]> {
  const decisions = await queries.brownouts.decisions(version);
  return decisions.map(({ at, state, reason }) => {
    const why = reason === null ? '' : `: ${printableExcerpt(reason, 300)}`;
    const what = `the brownout of /${version} ${pastStates[state]}${why}`;
    return { at, what, version, isCancelled: state === 'stopped' || state === 'skipped' };
  });
}

/** All dates of versions and routes, and the brownouts after `now`, without those that were stopped or skipped. */
function datesOf({ sortedVersions, gateway }: Snapshot, now: number, decided: readonly DecidedBrownout[]): NamedDate[] {
  const cancelled = decided.filter(({ isCancelled }) => isCancelled);
  const dates = sortedVersions.flatMap(({ name, deprecation, sunset, ends, brownouts }) => [
    { at: deprecation, what: `deprecation of /${name}` },
    { at: sunset, what: `sunset of /${name}` },
    ...brownouts
      .filter(({ at }) => at > now && !cancelled.some((one) => one.version === name && one.at === at))
      .map(({ at }) => ({ at, what: `brownout of /${name}, if its conditions hold` })),
    ...ends.flatMap(({ method, path, deprecation: from, sunset: until }) => {
      const route = printableExcerpt(`${method} ${gateway.basePath}/${name}${path}`);
      return [
        { at: from, what: `deprecation of ${route}` },
        { at: until, what: `sunset of ${route}` },
      ];
    }),
  ]);
  return dates.filter((one): one is NamedDate => one.at !== undefined).sort((a, b) => a.at - b.at);
}

function dateInWords({ at, what }: NamedDate): string {
  return `${dayOf(at)}: ${what}`;
}

/**
 * Events for the clients that, today or yesterday, called a deprecated version for the first time or again after a pause. If there
 * were more than `maxEventsPerGroup` of them yesterday, also the summary of yesterday.
 */
export async function clientEvents(
  queries: FactSources['queries'],
  snapshot: Snapshot,
  now: number,
): Promise<NotifyEvent[]> {
  const today = Math.floor(now / dayMs) * dayMs;
  const isIgnored = ignoredBy(snapshot.retire.ignoreClients);
  const events: NotifyEvent[] = [];
  for (const version of snapshot.sortedVersions) {
    const { deprecation } = version;
    if (!['deprecated', 'sunset'].includes(stageOf(version, now)) || deprecation === undefined) continue;
    for (const day of [today - dayMs, today]) {
      const oneDay = { since: day, until: day, absence: Math.max(dayMs, snapshot.retire.quiet) };
      const arrivals = await queries.arrivals(version.name, oneDay);
      const counted = arrivals.filter((one) => one.at >= deprecation && !isIgnored(one));
      for (const type of ['new-client', 'came-back'] as const) {
        const ofType = counted.filter(({ isNew }) => isNew === (type === 'new-client'));
        const group = `${type} ${version.name} ${dayOf(day)}`;
        for (const one of ofType.slice(0, maxEventsPerGroup))
          events.push(arrivalEvent(type, version.name, group, one, now));
        const isSummaryDue = now >= day + dayMs + summaryAfterMs;
        if (isSummaryDue && ofType.length > maxEventsPerGroup)
          events.push(arrivalSummary(type, version.name, day, ofType, now));
      }
    }
  }
  // A query that failed returned no rows or only some.
  return queries.problem === undefined ? events : [];
}

const arrivalVerbs = { 'new-client': 'called', 'came-back': 'came back to' } as const;

function arrivalEvent(
  type: keyof typeof arrivalVerbs,
  version: string,
  group: string,
  { client, name, at, lastUse }: Arrival,
  now: number,
): NotifyEvent {
  const who = clientNameOf({ client, name });
  const isNew = type === 'new-client';
  const pause = lastUse === undefined ? 'a long pause' : `${inLargestUnit(at - lastUse)} without a call`;
  const occasion = isNew ? ` for the first time, although /${version} is deprecated` : ` after ${pause}`;
  return {
    id: isNew ? `${type} ${version} ${client}` : `${group} ${client}`,
    type,
    at,
    title: `${who} ${arrivalVerbs[type]} /${version}${occasion}`,
    sections: [{ lines: [`\`version-gateway usage /${version}\` shows the routes that it calls.`] }],
    data: { version, client, name: name ?? null, first: instantText(at), last_use: instantText(lastUse) },
    keepUntil: now + rememberedMs,
    group,
  };
}

const maxClientsInSummary = 20;

function arrivalSummary(
  type: keyof typeof arrivalVerbs,
  version: string,
  day: number,
  arrivals: readonly Arrival[],
  now: number,
): NotifyEvent {
  const busiest = arrivals.toSorted((a, b) => b.requests - a.requests).slice(0, maxClientsInSummary);
  const how = type === 'new-client' ? 'for the first time' : 'after a long pause';
  const lines = [`At most ${maxEventsPerGroup} of them were reported one by one. The ones with the most requests:`];
  const rows = busiest.map((one) => [clientNameOf(one), withCommas(one.requests)]);
  return {
    id: `${type} summary ${version} ${dayOf(day)}`,
    type,
    at: day + dayMs,
    title: `${plural(arrivals.length, 'client')} ${arrivalVerbs[type]} /${version} ${how} on ${dayOf(day)}`,
    sections: [{ lines, table: { head: ['client', 'requests'], rows } }],
    data: {
      version,
      day: dayOf(day),
      count: arrivals.length,
      clients: busiest.map(({ client, name, requests }) => ({ client, name: name ?? null, requests })),
    },
    keepUntil: now + rememberedMs,
  };
}
