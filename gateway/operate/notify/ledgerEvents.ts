import { apiOf, baseOf } from '../../config/api.ts';
import type { Snapshot, Version } from '../../config/snapshot.ts';
import type { Section } from '../../shared/document.ts';
import { dayText, isoTextOrNull, rfc3339 } from '../../shared/instant.ts';
import { ago, firstOf, inLargestUnit, inWholeUnits, plural, printableExcerpt, withCommas } from '../../shared/text.ts';
import { evidenceOf } from '../../usage/callFacts.ts';
import { type CallEvidence, type LiveFacts, mayLackCalls, noLiveFacts } from '../../usage/evidence/callEvidence.ts';
import type { Remark } from '../../usage/evidence/remark.ts';
import { type AnsweringGateway, gatewayFields, gatewayInWords } from '../../usage/observability/answeringGateway.ts';
import type { Arrival, ClientUse } from '../../usage/usageQueries.ts';
import { isSingleClient } from '../../usage/usageRow.ts';
import { type Stage, stageOf, successorOf } from '../../versions/lifecycle/stage.ts';
import { ignoredBy } from '../../versions/retirement/countedUsage.ts';
import { type FactSources, gatherFacts, type RetirementFacts } from '../../versions/retirement/facts.ts';
import { type LiveState, stateOfVersion } from '../../versions/retirement/liveFacts.ts';
import { retirementVerdict } from '../../versions/retirement/verdict.ts';
import { lastPeriodInWords } from '../../versions/retirement/words.ts';
import { clientNameOf, maxEventsPerGroup, type NotifyEvent, rememberedMs } from './events.ts';

const dayMs = 86_400_000;
// The summary of a day waits until the counts of its last minutes are in the ledger.
const summaryAfterMs = 600_000;
const maxListedClients = 20;
const maxListedDates = 20;

export interface DigestQuery {
  readonly snapshot: Snapshot;
  readonly queries: FactSources['queries'];
  /** What the running gateways know. Undefined: only the ledger is read. */
  readonly state: LiveState | undefined;
  /** The gateway that answers. Undefined: only the ledger is read. */
  readonly gateway: AnsweringGateway | undefined;
  /** Epoch ms. */
  readonly since: number;
  readonly now: number;
  /** The day of a weekly digest. Its id contains the day, so it is the same on every gateway. Undefined: not a weekly digest. */
  readonly monday?: number | undefined;
  /** The digest has only the versions of this API. Undefined: those of the whole host. */
  readonly api?: string | undefined;
}

/**
 * The changes, the clients of each deprecated version, what prevents its retirement, and the next dates. Undefined: the ledger cannot
 * be read.
 */
export async function digestEvent(query: DigestQuery): Promise<NotifyEvent | undefined> {
  const { snapshot, queries, since, now, monday, api } = query;
  const { versions } = snapshot;
  const isOfApi = (version: string): boolean => api === undefined || (versions.has(version) && baseOf(version) === api);
  const sortedVersions = snapshot.sortedVersions.filter(({ name }) => isOfApi(name));
  const ending = sortedVersions.filter((version) => isEnding(version, now));
  const versionDigests = await Array.fromAsync(ending, (version) => versionDigest(version, query));
  const brownouts = (await Array.fromAsync(sortedVersions, ({ name }) => decidedBrownouts(name, queries))).flat();
  const totals = await queries.requests(since);
  if (queries.problem !== undefined) return undefined;
  const requests = totals.filter(({ version }) => isOfApi(version)).reduce((sum, one) => sum + one.requests, 0);
  const evidence = await evidenceOf(
    queries,
    { version: undefined, now, quiet: now - since, since },
    liveFactsOfAll(query),
  );
  const allDates = datesOf({ ...snapshot, sortedVersions }, now, brownouts);
  const nextDates = allDates.filter(({ at }) => at > now);
  const isReached = ({ at }: { readonly at: number }): boolean => at > since && at <= now;
  const datesReached = [...allDates, ...brownouts].filter(isReached).sort((a, b) => a.at - b.at);
  const changes = [...datesReached.map(dateInWords), ...versionDigests.flatMap(({ changes }) => changes)];
  const period = since > 0 ? `${dayText(since)} to ${dayText(now)}` : `until ${dayText(now)}`;
  const noDeprecation = ending.length === 0 ? ' No version is deprecated.' : '';
  return {
    id: `digest ${monday === undefined ? now : dayText(monday)}${api === undefined ? '' : ` ${api}`}`,
    type: 'digest',
    at: now,
    ...(api !== undefined && { api }),
    title: `${api === undefined ? 'API versions' : `API versions of ${api}`}, ${period}`,
    sections: [
      {
        lines: [
          `${plural(requests, 'request')} in ${periodInWords(query)}.${noDeprecation}`,
          sourceInWords(query, evidence),
        ],
      },
      { heading: 'What changed', lines: changes.length > 0 ? changes : ['Nothing.'] },
      ...versionDigests.map(({ section }) => section),
      {
        heading: 'Next dates',
        lines: nextDates.length > 0 ? nextDates.slice(0, maxListedDates).map(dateInWords) : ['No date is set.'],
      },
    ],
    data: {
      ...(query.gateway && gatewayFields(query.gateway)),
      ...(api !== undefined && { api }),
      since: isoTextOrNull(since),
      until: isoTextOrNull(now),
      covered_since: isoTextOrNull(evidence.coveredSince),
      counted_since: isoTextOrNull(evidence.countedSince),
      known: !mayLackCalls(evidence),
      requests,
      changes,
      versions: versionDigests.map(({ data }) => data),
      dates: nextDates.slice(0, maxListedDates).map(({ at, what }) => ({ at: isoTextOrNull(at), what })),
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

/** Of no version: why calls of any version may be missing. */
function liveFactsOfAll({ state }: DigestQuery): LiveFacts {
  const facts = [...(state?.facts.values() ?? [])];
  const distinct = (remarks: readonly Remark[]) => [...new Map(remarks.map((one) => [one.text, one])).values()];
  return {
    ...noLiveFacts,
    hasUnwritten: facts.some((one) => one.hasUnwritten),
    unresponsiveSince: facts.find((one) => one.unresponsiveSince !== undefined)?.unresponsiveSince,
    gaps: distinct(facts.flatMap((one) => one.gaps)),
    pending: distinct(facts.flatMap((one) => one.pending)),
  };
}

/** Which gateway answers, and what its ledger covers of the period. */
function sourceInWords({ gateway, since: from }: DigestQuery, evidence: CallEvidence): string {
  const { countedSince, since, missing, pending } = evidence;
  const source = gateway === undefined ? '' : `${gatewayInWords(gateway)}. `;
  if (countedSince === undefined) return `${source}The usage ledger is empty.`;
  const isWhole = countedSince === since || from === 0;
  const covered = from === 0 || !isWhole ? `since ${rfc3339(countedSince)}` : 'of this period';
  const remarks = [...missing.filter(({ code }) => code !== 'ledger_short'), ...pending];
  const others = remarks.map(({ text }) => ` ${text}`);
  const why = isWhole || evidence.lossReason === undefined ? '' : ` ${evidence.lossReason}`;
  return `${source}The usage ledger has every call ${isWhole ? '' : 'only '}${covered}.${why}${others.join('')}`;
}

async function versionDigest(version: Version, query: DigestQuery) {
  const { snapshot, queries, state, since, now } = query;
  const { name } = version;
  const { quiet, ignoreClients } = apiOf(name, snapshot).retire;
  const ofVersion = state ? stateOfVersion(state, name) : { report: { versions: [], workers: [] } };
  const facts = await gatherFacts(version, { snapshot, queries, ...ofVersion }, quiet, now);
  const uses = (await queries.byClient(name, since)).filter((one) => one.last >= since);
  const clients = uses.filter(isSingleClient);
  const totalsBefore = await queries.totals(since - (now - since), since);
  const length = now - since;
  const askedOf = (from: number) => ({ version: name, now, quiet: now - from, since: from });
  const evidence = await evidenceOf(queries, askedOf(since), ofVersion.live);
  const before = await evidenceOf(queries, askedOf(since - length), ofVersion.live);
  const requestsBefore =
    before.missing.length === 0 ? (totalsBefore.find((one) => one.version === name)?.requests ?? 0) : undefined;
  const requests = uses.reduce((sum, one) => sum + one.requests, 0);
  const { answer, reasons } = retirementVerdict(facts);
  const isIgnored = ignoredBy(ignoreClients);
  const arrivals = await queries.arrivals(name, { since, until: now, absence: Math.max(dayMs, quiet) });
  const newClients = arrivals.filter((one) => one.isNew && !isIgnored(one));
  const returned = arrivals.filter((one) => !one.isNew && !isIgnored(one));
  // The clients whose quiet period, counted from their last call, ended within the period of the digest.
  const newlyGone = facts.gone.filter(({ last }) => last + quiet >= since);
  const changes = [
    requestsChange(name, requests, requestsBefore, now - since),
    ...clientsChange(newClients, `called /${name} for the first time`),
    ...clientsChange(returned, `came back to /${name}`),
    ...clientsChange(newlyGone, stoppedInWords(facts)),
  ];
  const blockers =
    answer === 'yes' ? [notBlocked(name, facts)] : reasons.map(({ text }) => printableExcerpt(text, 1_000));
  const section: Section = {
    heading: `/${name}: ${facts.stage}`,
    lines: [...blockers, ...(uses.length === 0 ? [noCallInWords(query, evidence, facts)] : [])],
    ...(clients.length > 0 && { table: clientTable(clients, now) }),
  };
  const data = {
    version: name,
    stage: facts.stage,
    deprecation: isoTextOrNull(version.deprecation),
    sunset: isoTextOrNull(version.sunset),
    successor: successorOf(version, snapshot, now)?.name ?? null,
    requests,
    requests_before: requestsBefore ?? null,
    known: !mayLackCalls(evidence),
    counted_since: isoTextOrNull(evidence.countedSince),
    client_count: clients.length,
    clients: clients.slice(0, maxListedClients).map(({ client, name, requests, last }) => {
      return { client, name: name ?? null, requests, last: isoTextOrNull(last) };
    }),
    blocked_by: answer === 'yes' ? [] : reasons.map(({ code, text }) => ({ code, text })),
  };
  return { changes, section, data };
}

/** Of a version of which the ledger has no call in the period. `evidence`: about the period. */
function noCallInWords(query: DigestQuery, evidence: CallEvidence, facts: RetirementFacts): string {
  const period = periodInWords(query);
  const open = facts.inFlight + facts.waiting;
  switch (evidence.called) {
    case 'no':
      return `No client called it in ${period}.`;
    case 'not known':
      return `No call in ${period} is known, but calls may be missing.`;
    case 'yes': {
      const call = open > 0 ? `it has ${plural(open, 'open request')}` : 'a worker remembers one';
      return `No call in ${period} is in the usage ledger yet, but ${call}.`;
    }
  }
}

/** Of clients without a call in the quiet period. A waiting request, or one that the ledger does not have, may be theirs. */
function stoppedInWords({ version, evidence, inFlight, waiting, clients, others }: RetirementFacts): string {
  const isOpenKnown = waiting === 0 && (inFlight === 0 || clients.length > 0 || others !== undefined);
  if (!mayLackCalls(evidence) && isOpenKnown) return `stopped calling /${version}`;
  const why = mayLackCalls(evidence) ? 'calls may be missing' : 'requests of unknown clients are open';
  return `may have stopped calling /${version}; ${why}`;
}

// A digest may be read long after it was made.
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
  return [`${plural(clients.length, 'client')} ${what}: ${firstOf(clients, 5, clientNameOf)}.`];
}

function clientTable(clients: readonly ClientUse[], now: number): Section['table'] {
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
  return `${dayText(at)}: ${what}`;
}

/**
 * Events for the clients that, today or yesterday, called a deprecated version for the first time or again after a pause. If there
 * were more than `maxEventsPerGroup` of them yesterday, also the summary of yesterday.
 */
export async function clientEvents(
  queries: FactSources['queries'],
  snapshot: Snapshot,
  now: number,
  state?: LiveState,
): Promise<NotifyEvent[]> {
  const today = Math.floor(now / dayMs) * dayMs;
  const events: NotifyEvent[] = [];
  for (const version of snapshot.sortedVersions) {
    const { quiet, ignoreClients } = apiOf(version.name, snapshot).retire;
    const isIgnored = ignoredBy(ignoreClients);
    const { deprecation } = version;
    if (!['deprecated', 'sunset'].includes(stageOf(version, now)) || deprecation === undefined) continue;
    for (const day of [today - dayMs, today]) {
      const oneDay = { since: day, until: day, absence: Math.max(dayMs, quiet) };
      const arrivals = await queries.arrivals(version.name, oneDay);
      const from = day - oneDay.absence;
      const asked = { version: version.name, now, quiet: now - from, since: from };
      const known = !mayLackCalls(await evidenceOf(queries, asked, state?.facts.get(version.name)));
      const counted = arrivals.filter((one) => one.at >= deprecation && !isIgnored(one));
      for (const type of ['new-client', 'came-back'] as const) {
        const ofType = counted.filter(({ isNew }) => isNew === (type === 'new-client'));
        const group = `${type} ${version.name} ${dayText(day)}`;
        for (const one of ofType.slice(0, maxEventsPerGroup))
          events.push(arrivalEvent(type, version.name, group, one, now, known));
        const isSummaryDue = now >= day + dayMs + summaryAfterMs;
        if (isSummaryDue && ofType.length > maxEventsPerGroup)
          events.push(arrivalSummary(type, version.name, day, ofType, now, known));
      }
    }
  }
  // A query that failed returned no rows or only some.
  return queries.problem === undefined ? events : [];
}

const earlierCallsUnknown = 'Earlier calls may be missing in the usage ledger.';
const arrivalVerbs = { 'new-client': 'called', 'came-back': 'came back to' } as const;

function arrivalEvent(
  type: keyof typeof arrivalVerbs,
  version: string,
  group: string,
  { client, name, at, lastUse }: Arrival,
  now: number,
  known: boolean,
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
    sections: [
      {
        lines: [
          `\`version-gateway usage /${version}\` shows the routes that it calls.`,
          ...(known ? [] : [earlierCallsUnknown]),
        ],
      },
    ],
    data: { version, client, name: name ?? null, first: isoTextOrNull(at), last_use: isoTextOrNull(lastUse), known },
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
  known: boolean,
): NotifyEvent {
  const busiest = arrivals.toSorted((a, b) => b.requests - a.requests).slice(0, maxClientsInSummary);
  const how = type === 'new-client' ? 'for the first time' : 'after a long pause';
  const lines = [`At most ${maxEventsPerGroup} of them were reported one by one. The ones with the most requests:`];
  const rows = busiest.map((one) => [clientNameOf(one), withCommas(one.requests)]);
  return {
    id: `${type} summary ${version} ${dayText(day)}`,
    type,
    at: day + dayMs,
    title: `${plural(arrivals.length, 'client')} ${arrivalVerbs[type]} /${version} ${how} on ${dayText(day)}`,
    sections: [
      { lines: known ? lines : [...lines, earlierCallsUnknown], table: { head: ['client', 'requests'], rows } },
    ],
    data: {
      version,
      day: dayText(day),
      count: arrivals.length,
      known,
      clients: busiest.map(({ client, name, requests }) => ({ client, name: name ?? null, requests })),
    },
    keepUntil: now + rememberedMs,
  };
}
