import { apiOf, compareIds, withRemovedApis } from '../../config/api.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { isoText, isoTextOrNull, rfc3339 } from '../../shared/instant.ts';
import { plural, printableExcerpt, withCommas } from '../../shared/text.ts';
import { evidenceOf } from '../../usage/callFacts.ts';
import { type Remark, remarkJson } from '../../usage/evidence/remark.ts';
import type { UsageQueries, VersionClientUse } from '../../usage/usageQueries.ts';
import { isSingleClient, otherClients } from '../../usage/usageRow.ts';
import { brownoutAt } from '../lifecycle/brownouts.ts';
import { runningWaivers, stageOf, waiverWords } from '../lifecycle/stage.ts';
import { findFreezeClients, freezeInWords, knownClientsLimit } from '../restrictions/knownClients.ts';
import { ignoredInApi, withAtLeastOneRequest } from '../retirement/countedUsage.ts';
import { lastPeriodInWords } from '../retirement/words.ts';
import { type RouteGroup, routeGroups, routeRemarks, useParts } from './adaptedRoutes.ts';
import { changedVersions, ownRefusals } from './ownAnswers.ts';
import {
  hasLoss,
  mayCutOff,
  type Plan,
  type PlannedAnswer,
  type PlannedClient,
  type PlannedCounts,
  type PlannedRequest,
  type PlannedVersion,
  type PlanQuery,
  plannedAnswer,
  plannedAnswerNames,
  plannedAnswers,
  servesAnyone,
} from './plan.ts';
import { missingEvidence } from './planEvidence.ts';
import { plannedTooLarge, sizeRemarks, tooLargeInWords } from './sizeWords.ts';

const maxListedClients = 100;
const unknownAnswers: Remark = {
  code: 'answers_unknown',
  text: 'The ledger does not tell under which base path and limits its requests were answered, because an earlier release wrote it.',
  remedy: 'Start a gateway of this release once with this ledger.',
};
const maxNamedClients = 5;

interface Row extends VersionClientUse {
  readonly answer: PlannedAnswer;
  /** The requests that are lost. */
  readonly lost: number;
  /** Further requests that may be lost: the ledger does not tell their route, and an adapter serves only some routes. */
  readonly mayLose: number;
  /** Requests that would be lost, but that no backend has answered. */
  readonly unanswered: number;
}

/** Applies a candidate to the requests in the ledger. Undefined: the ledger cannot be read, see `queries.problem`. */
export async function planEdit(queries: UsageQueries, query: PlanQuery): Promise<Plan | undefined> {
  const { candidate, running, since, now, at } = query;
  // Without a running configuration, the ledger tells how the requests were answered.
  const recorded = running === undefined ? await queries.answerSettings() : undefined;
  const basePath = running?.gateway.basePath ?? (recorded ?? candidate.gateway).basePath;
  const candidateFreezes = await plannedFreezes(queries, candidate, query);
  const runningFreezes = running && (await plannedFreezes(queries, running, query));
  const answerOf = (request: PlannedRequest, group?: RouteGroup): PlannedAnswer => {
    const isAdapted = group?.candidateAnswer !== 'not_adapted';
    return plannedAnswer({ ...request, isAdapted }, candidate, basePath, at, candidateFreezes.newClients);
  };
  const isRefusedAlready = (request: PlannedRequest, group?: RouteGroup): boolean => {
    if (running === undefined) return false;
    const isAdapted = group?.runningAnswer !== 'not_adapted';
    const answer = plannedAnswer({ ...request, isAdapted }, running, basePath, now, runningFreezes?.newClients);
    // A brownout ends by itself. So if the present refusal is a brownout, the request only counts as refused already if the candidate
    // answers `brownout`, too.
    return answer === 'brownout' ? answerOf(request, group) === 'brownout' : plannedAnswers[answer].isRefusal;
  };
  const isLost = (request: PlannedRequest, group?: RouteGroup): boolean =>
    plannedAnswers[answerOf(request, group)].isRefusal && !isRefusedAlready(request, group);
  // Read before the sums over all routes. A request that is counted in between is then in the sums, but in no group.
  const groups = await routeGroups(queries, query, since);
  const needsTopRoutes = (use: VersionClientUse): boolean => use.served > 0 && isLost(use);
  const uses = await queries.byVersionAndClient(since, needsTopRoutes);
  const ledger = await evidenceOf(queries, { version: undefined, now, quiet: now - since, since });
  const unseenRemarks = await unseenWaivers(queries, candidate, at);
  const isCut = (version: string): boolean => mayCutOff(version, query, basePath);
  const changed = changedVersions({ candidate, running, recorded });
  const { tooLarge } = await ownRefusals(queries, { candidate, running, recorded }, () => since, changed);
  const isServed = ({ version }: { readonly version: string }): boolean =>
    servesAnyone(version, candidate, basePath, at) &&
    (running === undefined || servesAnyone(version, running, basePath, now));
  const planned = tooLarge.filter(isServed).map(plannedTooLarge);
  const servedAndChanged = changed.filter((version) => isServed({ version }));
  const { missing, pending } = await missingEvidence(queries, query, isCut, servedAndChanged, recorded);
  if (running === undefined && recorded === undefined) missing.push(unknownAnswers);
  // Checked last. A query that fails returns no rows, which would look as if no client had called.
  if (queries.problem !== undefined) return undefined;
  const rows = uses.flatMap((one) =>
    useParts(one, groups.get(one.version) ?? [], since).map(({ use: part, group }): Row => {
      const use = withAtLeastOneRequest(part, since);
      const answer = answerOf(use, group);
      const mayBeRefused = group?.candidateAnswer === 'unknown' && !plannedAnswers[answer].isRefusal;
      const mayLose = mayBeRefused && !isRefusedAlready(use, group) ? use.served : 0;
      const isCutOff = isLost(use, group);
      return {
        ...use,
        answer,
        lost: isCutOff ? use.served : 0,
        mayLose,
        unanswered: isCutOff ? unansweredOf(use, running) : 0,
      };
    }),
  );
  const isIgnored = ignoredInApi(
    withRemovedApis(
      candidate,
      running,
      rows.map(({ version }) => version),
    ),
  );
  const [countedRows, ignoredRows] = [rows.filter((row) => !isIgnored(row)), rows.filter(isIgnored)];
  const clientsIn = (some: typeof rows) => [...Map.groupBy(some, ({ client }) => client).values()].map(clientOf);
  const [counted, ignored] = [clientsIn(countedRows), clientsIn(ignoredRows)];
  const singleClients = counted.filter(isSingleClient);
  const rowsByVersion = Map.groupBy(countedRows, ({ version }) => version);
  const versionNames = new Set([...candidate.versions.keys(), ...rows.map(({ version }) => version)]);
  const versions = [...versionNames].sort(compareIds).map((version): PlannedVersion => {
    const ownRows = rowsByVersion.get(version) ?? [];
    const configured = candidate.versions.get(version);
    const stage = configured ? stageOf(configured, at) : 'removed';
    const clients = new Set(ownRows.filter(isSingleClient).map(({ client }) => client)).size;
    const answers = { answer: answerOf({ version }), already: isRefusedAlready({ version }) };
    return { version, stage, ...answers, clients, ...sumOf(ownRows) };
  });
  const unanswered = countedRows.reduce((sum, row) => sum + row.unanswered, 0);
  const facts = {
    kind: 'plan' as const,
    at: isoText(at),
    since: isoText(since),
    until: isoText(now),
    covered_since: isoTextOrNull(ledger.coveredSince),
    counted_since: isoTextOrNull(ledger.countedSince),
    total: sumOf(countedRows),
    known: missing.length + pending.length + unanswered === 0 && planned.every(({ known }) => known),
    too_large: planned.slice(0, maxListedClients),
    may_lose: countedRows.reduce((sum, { mayLose }) => sum + mayLose, 0),
    unanswered,
    versions,
    client_count: singleClients.length,
    losing_count: singleClients.filter(({ lost }) => lost > 0).length,
    others_lose: counted.some((one) => !isSingleClient(one) && one.lost > 0),
    clients: largestLossFirst(counted),
    ignored: largestLossFirst(ignored),
  };
  const remarks = [
    ...(query.remarks ?? []),
    ...unseenRemarks,
    ...candidateFreezes.remarks,
    ...routeRemarks(groups, countedRows),
    ...sizeRemarks(planned),
  ];
  // With a loss, the calls of the last seconds do not matter: they can only add to it.
  const unsent = hasLoss(facts) ? [] : pending;
  const notes = [...missing, ...unsent, ...remarks, ...planNotes(facts, { ...query, basePath }, queries.problems)];
  const shortened = {
    clients: facts.clients.slice(0, maxListedClients),
    ignored: facts.ignored.slice(0, maxListedClients),
  };
  return { ...facts, ...shortened, summary: planSummary(facts), notes: notes.map(remarkJson) };
}

/**
 * `newClients`: version → the clients that its freeze in a configuration refuses. Leaves out freezes that have not begun: every client
 * of the ledger has called before them.
 */
async function plannedFreezes(
  queries: UsageQueries,
  candidate: PlanQuery['candidate'],
  { running, now, live }: PlanQuery,
): Promise<{ readonly newClients: ReadonlyMap<string, ReadonlySet<string>>; readonly remarks: readonly Remark[] }> {
  const { sortedVersions, usage } = candidate;
  const newClients = new Map<string, ReadonlySet<string>>();
  const remarks: Remark[] = [];
  const isSameNaming = JSON.stringify(usage.identify) === JSON.stringify((running?.usage ?? usage).identify);
  // Another `usage.identify` gives the clients other names. '' is never the id in the ledger, so it makes such freezes inactive.
  const namingRulesId = isSameNaming ? (await queries.namingRules()).id : '';
  for (const { name: version, freeze } of sortedVersions) {
    if (freeze === undefined || freeze.from > now) continue;
    const limit = knownClientsLimit(usage);
    const { quiet } = apiOf(version, candidate).retire;
    const rules = { version, ...freeze, namingRulesId, quiet, limit };
    const found = await findFreezeClients(queries, { ...rules, now, live: live?.get(version) });
    if (found.kind === 'found') {
      if (freeze.mode === 'refuse') newClients.set(version, new Set(found.newClients.map(({ client }) => client)));
      continue;
    }
    const state = { version, ...freeze, state: 'inactive', known: undefined, newClients: 0 } as const;
    remarks.push({ code: 'freeze_inactive', text: freezeInWords({ ...state, reason: found.reason }) });
  }
  return { newClients, remarks };
}

/** A remark for each waiver whose client is not in the ledger: its name may be misspelt, or its tag was made with another salt. */
async function unseenWaivers(
  queries: UsageQueries,
  { sortedVersions }: PlanQuery['candidate'],
  at: number,
): Promise<Remark[]> {
  const remarks = await Array.fromAsync(sortedVersions, async ({ name, waivers }) => {
    const currentWaivers = waivers.filter(({ until }) => at < until);
    if (currentWaivers.length === 0) return [];
    const waivedClients = new Set(currentWaivers.flatMap(({ clients }) => clients));
    const isWaived = ({ client }: { readonly client: string }): boolean => waivedClients.has(client);
    const uses = await queries.byClient(name, 0, isWaived);
    const seenClients = new Set(uses.map(({ client }) => client));
    // `client`: as written in the waiver. `clients`: the names in the ledger that it stands for.
    return currentWaivers
      .filter(({ clients }) => !clients.some((client) => seenClients.has(client)))
      .map(({ client }): Remark => {
        const text = `The ledger knows no client of /${name} that the waiver of ${printableExcerpt(client)} names.`;
        return { code: 'waiver_unseen', text };
      });
  });
  return remarks.flat();
}

/**
 * Requests that ended without an answer of a backend, such as 502 while it was down, or 410 before the version was served again: neither
 * must hide the clients. Without a running configuration, it is not known whether the refused ones would be served now, so they are left
 * out. Too small if backends have answered others of the row, and some of these 4xx.
 */
function unansweredOf({ requests, served, failing, refused }: VersionClientUse, running: Snapshot | undefined): number {
  return Math.max(0, requests - served - failing - (running === undefined ? refused : 0));
}

/** `rows`: those of one client, at least one. */
function clientOf(rows: readonly Row[]): PlannedClient {
  const [first] = rows as readonly [Row, ...Row[]];
  const losses = rows.filter(({ lost }) => lost > 0);
  return {
    client: first.client,
    name: first.name ?? null,
    ...sumOf(rows),
    last: isoText(Math.max(...rows.map(({ last }) => last))),
    only_fails: losses.length > 0 && losses.every(({ requests, refused, failing }) => failing === requests - refused),
    loses: [...new Set(losses.map(({ version }) => version))],
    top_routes: losses
      .flatMap(({ version, topRoutes }) => topRoutes.map(({ route, requests }) => ({ version, route, requests })))
      .sort((a, b) => b.requests - a.requests),
  };
}

function sumOf(rows: readonly Row[]): PlannedCounts {
  const answers = Object.fromEntries(plannedAnswerNames.map((name) => [name, 0])) as Record<PlannedAnswer, number>;
  const sum = { requests: 0, served: 0, answers, other: 0, lost: 0 };
  for (const { requests, served, refused, answer, lost } of rows) {
    sum.requests += requests;
    sum.served += served;
    answers[answer] += served + refused;
    // Answered by the gateway for a reason that does not depend on the version.
    sum.other += requests - served - refused;
    sum.lost += lost;
  }
  return sum;
}

function largestLossFirst(clients: readonly PlannedClient[]): readonly PlannedClient[] {
  return clients.toSorted((a, b) => b.lost - a.lost || b.requests - a.requests);
}

/** Here `clients` and `ignored` have all clients. */
type PlanFacts = Omit<Plan, 'summary' | 'notes'>;

/** The result in one sentence. Safe to print. */
function planSummary(facts: PlanFacts): string {
  const { since, until, counted_since: counted, total, losing_count: losing, others_lose: othersLose, clients } = facts;
  const mayLose = facts.may_lose === 0 ? '' : withCommas(facts.may_lose);
  if (counted === null) return 'The usage ledger is empty, so it is not known which clients would lose requests.';
  const countedText = rfc3339(Date.parse(counted));
  const whole = lastPeriodInWords(Date.parse(until) - Date.parse(since));
  const period = counted === since ? whole : `${whole} (usage was recorded without a gap only since ${countedText})`;
  if (total.lost === 0 && mayLose !== '') {
    return `It is not known whether clients would lose requests: up to ${mayLose} of the ${plural(total.served, 'request')} that backends answered in ${period}.`;
  }
  const tooLarge = tooLargeInWords(facts.too_large);
  if (total.lost === 0 && tooLarge !== undefined) return `Clients would lose requests: ${tooLarge}.`;
  if (total.lost === 0 && facts.unanswered > 0)
    return `It is not known whether clients would lose requests: no backend answered ${plural(facts.unanswered, 'request')} to versions that the gateway would refuse, in ${period}.`;
  if (total.lost === 0 && !facts.known)
    return `It is not known whether clients would lose requests: no loss is known, but calls may be missing.`;
  if (total.lost === 0) {
    const refuses = plannedAnswerNames.some((name) => plannedAnswers[name].isRefusal && total.answers[name] > 0);
    const noRequest = refuses ? 'no more of them than it does now' : 'none of them';
    const refused = `backends answered ${plural(total.served, 'request')}, and the gateway would refuse ${noRequest}`;
    // Nothing is claimed about the time before every call is known. Requests that the ledger has of that time are counted, too.
    return counted === since
      ? `No client would lose a request: in ${whole}, ${refused}.`
      : `No client would lose a request that was recorded since ${countedText}: ${refused}.`;
  }
  const who = othersLose ? `At least ${plural(Math.max(1, losing), 'client')}` : plural(losing, 'client');
  const what = `${withCommas(total.lost)} of the ${plural(total.served, 'request')} that backends answered in ${period}`;
  const more = [
    mayLose === '' ? '' : ` Up to ${mayLose} more may be lost.`,
    tooLarge === undefined ? '' : ` Others are too large: ${tooLarge}.`,
  ].join('');
  return `${who} would lose ${what}: ${listOfLosses(clients)}.${more}`;
}

/** Remarks that matter to the operator. `basePath`: of the requests. `problems`: of the ledger. Their texts are safe to print. */
function planNotes(
  facts: PlanFacts,
  query: PlanQuery & { readonly basePath: string },
  problems: readonly string[],
): Remark[] {
  const { since, counted_since: counted, clients, ignored, versions } = facts;
  const { candidate, basePath, at } = query;
  const notes: Remark[] = [];
  const add = (code: string, text: string): void => void notes.push({ code, text });
  if (counted !== null && counted !== since) {
    add(
      'ledger_short',
      `Usage has been recorded without a gap only since ${rfc3339(Date.parse(counted))}: clients that called before may be missing.`,
    );
  }
  const others = clients.find(({ client }) => client === otherClients);
  if (others !== undefined) {
    const requests = plural(others.requests, 'request');
    add(
      'folded',
      `${requests} of clients beyond usage.max_clients are counted together as ${otherClients}: they are an unknown number of clients.`,
    );
  }
  const losing = ignored.filter(({ lost }) => lost > 0);
  if (losing.length > 0) add('ignored', `Not counted (retire.ignore_clients): ${listOfLosses(losing)}.`);
  const failing = clients.filter(({ only_fails: onlyFails }) => onlyFails);
  if (failing.length > 0) {
    const names = failing.slice(0, maxNamedClients).map(nameOf).join(', ');
    add('failing', `Every request of these clients was answered 4xx, so can-retire does not count them: ${names}.`);
  }
  for (const { version, already, served } of versions) {
    if (!already || served === 0) continue;
    const text = `/${version} is refused already: ${plural(served, 'request')} that backends answered before do not count as lost.`;
    add('refused_already', text);
  }
  for (const { name, sunset, ...dates } of candidate.sortedVersions) {
    if (sunset === undefined || sunset <= at || stageOf({ sunset, ...dates }, sunset) !== 'retired') continue;
    if (stageOf({ sunset, ...dates }, at) === 'retired') continue;
    const text = `/${name} is answered 410 from its sunset on, ${rfc3339(sunset)} (after_sunset: gone). To plan for that, set the date (--at ${rfc3339(sunset)}).`;
    add('gone_later', text);
  }
  for (const { name, brownouts } of candidate.sortedVersions) {
    const window = brownoutAt(brownouts, at);
    if (window === undefined) continue;
    const routes = window.routes?.map(({ method, path }) => `${method} ${path}`).join(', ');
    const limitation =
      routes === undefined ? '' : ` It refuses only ${routes}, but all requests of its clients are counted.`;
    add('brownout', `/${name} has a brownout until ${rfc3339(window.end)}, if its conditions are met.${limitation}`);
  }
  for (const version of candidate.sortedVersions) {
    const words = waiverWords(runningWaivers(version, at));
    if (words !== undefined) add('waived', `/${version.name} stays served for ${words}.`);
  }
  if (basePath !== candidate.gateway.basePath) {
    const [from, to] = [basePath, candidate.gateway.basePath].map((path) => path || '/');
    add('base_path', `gateway.base_path changes from ${from} to ${to}: requests to the old paths are answered 404.`);
  }
  for (const problem of problems) add('ledger_problem', printableExcerpt(problem, 300));
  return notes;
}

/** `ios-app (1,204), curl (3) and others`: the names and the requests that each loses. `clients`: the largest loss first. */
function listOfLosses(clients: readonly PlannedClient[]): string {
  const losing = clients.filter(({ lost }) => lost > 0);
  const words = losing.slice(0, maxNamedClients).map((one) => `${nameOf(one)} (${withCommas(one.lost)})`);
  return words.join(', ') + (losing.length > words.length ? ' and others' : '');
}

function nameOf({ client, name }: Pick<PlannedClient, 'client' | 'name'>): string {
  return printableExcerpt(name ?? client);
}
