import { apiOf, baseOf, majorOf, withRemovedApis } from '../../../config/api.ts';
import { nameLine } from '../../../config/names.ts';
import type { Snapshot, Version } from '../../../config/snapshot.ts';
import { fromPlain } from '../../../config/transfer.ts';
import { driftReport } from '../../../contracts/shadow/report/drift.ts';
import { shadowRemark, shadowReport, whyAdapterCannotServe } from '../../../contracts/shadow/report/report.ts';
import { answeredPaths } from '../../../proxy/trial/trialRoutes.ts';
import { reasonOf } from '../../../shared/fileSystem.ts';
import { type Instant, isoText } from '../../../shared/instant.ts';
import { evidenceOf, sizeEvidenceOf } from '../../../usage/callFacts.ts';
import { nameClient } from '../../../usage/clientNames.ts';
import { type LedgerRoute, type NamedRoute, routeOrReason } from '../../../usage/counting/routeNames.ts';
import type { RouteAnswersReport } from '../../../usage/evidence/missingRoutes.ts';
import type { Remark } from '../../../usage/evidence/remark.ts';
import { usageCsv } from '../../../usage/report/usageCsv.ts';
import { instanceFault, type UsageReport, usageReport } from '../../../usage/report/usageReport.ts';
import type { UsageQueries } from '../../../usage/usageQueries.ts';
import { adaptedVersions, clientsSparedByFreeze, stageOf, successorOf } from '../../../versions/lifecycle/stage.ts';
import { recentRefusals } from '../../../versions/plan/ownAnswers.ts';
import { hasLoss, withRetired } from '../../../versions/plan/plan.ts';
import { planEdit } from '../../../versions/plan/planEdit.ts';
import { estimateBrownout } from '../../../versions/restrictions/brownoutConditions.ts';
import {
  findFreezeClients,
  freezeNote,
  newClientsInWords,
  newClientsOf,
} from '../../../versions/restrictions/knownClients.ts';
import { brownoutRemark, brownoutReport } from '../../../versions/retirement/brownoutReport.ts';
import {
  callersOf,
  countedCallers,
  counterpartsOf,
  ignoredBy,
  ignoredOrWaived,
  lastCountedCall,
  missingStatusOf,
} from '../../../versions/retirement/countedUsage.ts';
import { gatherFacts } from '../../../versions/retirement/facts.ts';
import { stateOfVersion } from '../../../versions/retirement/liveFacts.ts';
import { mayLackCounts, retirementVerdict } from '../../../versions/retirement/verdict.ts';
import { verdictJson } from '../../../versions/retirement/verdictJson.ts';
import { clientsInWords, missingRoutesInWords } from '../../../versions/retirement/words.ts';
import { ownUsage } from '../../../versions/selfService/ownUsage.ts';
import { clientEvents, digestEvent } from '../../notify/ledgerEvents.ts';
import { useQuietOf } from '../lastUse.ts';
import {
  type AnswerBody,
  type AnswerProblem,
  type ClientNaming,
  type LastUseTimes,
  type LedgerAnswers,
  type LedgerQueryKind,
  type LedgerQueryParams,
  type RecentUse,
  unknownVersionText,
} from './ledgerClient.ts';

/** Answers one query of the admin API from the ledger. Runs in the reading thread; tests call it directly. */
export function answerTo<Kind extends LedgerQueryKind>(
  kind: Kind,
  queries: UsageQueries,
  snapshot: Snapshot,
  parameters: LedgerQueryParams[Kind],
): Promise<LedgerAnswers[Kind]> {
  return answers[kind](queries, snapshot, parameters);
}

const answers: {
  readonly [Kind in LedgerQueryKind]: (
    queries: UsageQueries,
    snapshot: Snapshot,
    parameters: LedgerQueryParams[Kind],
  ) => Promise<LedgerAnswers[Kind]>;
} = {
  usage: async (queries, snapshot, query) => {
    const report = await usageOf(queries, snapshot, query);
    return 'rows' in report ? bodyOf(await withNewClients(report, queries, snapshot)) : report;
  },

  usageCsv: async (queries, snapshot, query) => {
    const report = await usageOf(queries, snapshot, query);
    if (!('rows' in report)) return report;
    return { body: new TextEncoder().encode(usageCsv(report)), csvName: `usage-by-${report.by}.csv` };
  },

  retirement: async (queries, snapshot, { version, route: askedRoute, quiet, state, freeze, now }) => {
    const whyUnknown = await whyVersionUnknown(queries, snapshot, version);
    if (whyUnknown !== undefined) return { problem: 'UNKNOWN_VERSION', detail: `No such version: ${whyUnknown}` };
    const listedVersion = snapshot.versions.get(version);
    const hasVersionEnded = listedVersion === undefined || stageOf(listedVersion, now) === 'retired';
    if (askedRoute && hasVersionEnded) return endedWithVersion(version, listedVersion);
    const route = await lookUpRoute(queries, snapshot, version, askedRoute);
    if (route !== undefined && 'problem' in route) return route;
    const facts = await gatherFacts(
      { name: version, route },
      { snapshot, queries, ...stateOfVersion(state, version) },
      quiet,
      now,
    );
    const verdict = retirementVerdict(facts);
    // Added after the verdict, so that the results of a brownout never cause a yes.
    const successor = successorName(version, snapshot, now);
    const noteOnBrownout = await brownoutRemark(queries, snapshot, { version, successor, now });
    const noteOnFreeze =
      freeze && route === undefined
        ? await freezeNote(queries, freeze, listedVersion && clientsSparedByFreeze(listedVersion, now))
        : undefined;
    // The differences that this gateway found. They are only a note: they do not show who still calls the version.
    const noteOnShadow = route === undefined ? await shadowRemark(queries, snapshot, { version, now }) : undefined;
    const adapterNotes = adaptedVersions(version, snapshot, now).map(({ name }) => {
      return { code: 'adapts', text: `Keep the backend of /${version} running: an adapter serves /${name} from it.` };
    });
    const otherNotes = [noteOnBrownout, noteOnShadow, noteOnFreeze].filter((note) => note !== undefined);
    const withNotes = { ...verdict, notes: [...verdict.notes, ...adapterNotes, ...otherNotes] };
    return { ...bodyOf(verdictJson(withNotes)), mayLackCounts: mayLackCounts(verdict) };
  },

  brownouts: async (queries, snapshot, { version, ...query }) => {
    const whyUnknown = await whyVersionUnknown(queries, snapshot, version);
    if (whyUnknown !== undefined) return { problem: 'UNKNOWN_VERSION', detail: `No such version: ${whyUnknown}` };
    const successor = successorName(version, snapshot, query.now);
    const report = await brownoutReport(queries, snapshot, { version, successor, ...query });
    if (queries.problem !== undefined) return { problem: 'LEDGER_UNANSWERED', detail: queries.problem };
    if (report !== undefined) return bodyOf(report);
    const detail = `\`window\`: /${version} has no such brownout. Without \`window\`, the answer lists all brownouts.`;
    return { problem: 'BAD_REQUEST', detail };
  },

  shadow: comparisonAnswer(shadowReport),

  drift: comparisonAnswer(driftReport),

  plan: async (queries, snapshot, { candidate: givenCandidate, state, ...query }) => {
    const candidate =
      'retired' in givenCandidate ? withRetired(snapshot, givenCandidate.retired) : fromPlain(givenCandidate);
    if (candidate === undefined)
      return { problem: 'UNKNOWN_VERSION', detail: `No such version: ${unknownVersionText(snapshot)}` };
    const missing = await remarksOnMissingRoutes(queries, snapshot, state.report.routeAnswers ?? {}, query);
    const notes = [...state.fleet.values()].flatMap((one) => one.notes);
    const remarks = [...new Map([...notes, ...missing].map((remark) => [remark.text, remark])).values()];
    const plan = await planEdit(queries, { ...query, remarks, candidate, running: snapshot, live: state.facts });
    if (plan === undefined) return { problem: 'LEDGER_UNANSWERED', detail: queries.problem ?? '' };
    // More counts could only add losses, so they do not change the result of a plan that has a loss.
    return { ...bodyOf(plan), mayLackCounts: !hasLoss(plan) };
  },

  digest: (queries, snapshot, query) => digestEvent({ ...query, queries, snapshot }),

  clientEvents: (queries, snapshot, { now, state }) => clientEvents(queries, snapshot, now, state),

  recentUse: async (queries, snapshot, { now, quiet, live, newFreezes, newAdapters }) => {
    const quietOf = (version: string) => quiet.get(version) ?? Math.max(0, ...quiet.values());
    const sinceOf = (version: string) => now - quietOf(version);
    const earliest = now - Math.max(0, ...quiet.values());
    // An API that only the edit or the fleet has ignores no client.
    const judged = withRemovedApis(snapshot, undefined, [...live.keys(), ...newAdapters.map(({ version }) => version)]);
    const uses = await Array.fromAsync(await queries.totals(earliest), async ({ version: name }) => {
      const version = snapshot.versions.get(name);
      const isRetired = version !== undefined && stageOf(version, now) === 'retired';
      const callers = await callersOf(name, queries, sinceOf(name), ignoredOrWaived(judged, name, now));
      const [last, clients] = [
        lastCountedCall(callers, isRetired),
        clientsInWords(countedCallers(callers, isRetired), now),
      ];
      return [name, { last, clients }] as const;
    });
    const refusedByFreeze = new Map<string, string>();
    for (const freeze of newFreezes) {
      const since = sinceOf(freeze.version);
      const recentClients = (await newClientsOf(queries, freeze)).filter(({ lastUsed }) => lastUsed >= since);
      if (recentClients.length > 0) refusedByFreeze.set(freeze.version, newClientsInWords(recentClients));
    }
    const reasonByAdapter = new Map<string, string>();
    for (const adapter of newAdapters) {
      const reason = await whyAdapterCannotServe(queries, adapter, now - apiOf(adapter.version, judged).retire.quiet);
      if (reason !== undefined) reasonByAdapter.set(adapter.version, reason);
    }
    const useByVersion = new Map(uses);
    const versions = new Map<string, RecentUse>();
    for (const [version, liveFacts] of live) {
      const { last: lastCall, clients } = useByVersion.get(version) ?? {};
      const { retention } = snapshot.usage;
      const asked = { version, now, quiet: quietOf(version), since: sinceOf(version), retention };
      const calls = await evidenceOf(queries, { ...asked, lastCall }, liveFacts);
      versions.set(version, { calls, sizes: await sizeEvidenceOf(queries, asked, liveFacts), clients });
    }
    const { problem } = queries;
    return { versions, refusedByFreeze, whyAdapterCannotServe: reasonByAdapter, problem };
  },

  ownRefusals: async (queries, running, { candidate, ...asked }) => {
    const found = await recentRefusals(queries, { candidate: fromPlain(candidate), running }, asked);
    return queries.problem === undefined ? found : undefined;
  },

  answeredPaths: async (queries, _snapshot, { versions, since }) =>
    new Map(
      await Array.fromAsync(versions, async (version) => {
        return [version, await answeredPaths(queries, version, since)] as const;
      }),
    ),

  brownoutEstimate: async (queries, snapshot, { version: name, at, now, live }) => {
    const version = snapshot.versions.get(name);
    const window = version?.brownouts.find((one) => one.at === at);
    return version && window && estimateBrownout(queries, snapshot, version, window, now, live);
  },

  ownUsage: async (queries, snapshot, { now, live, ...client }) => {
    const body = await ownUsage(queries, snapshot, client, now, live);
    if (queries.problem !== undefined) return { kind: 'failed' };
    return body === undefined ? { kind: 'unknown' } : { kind: 'known', body };
  },

  // In the reading thread, because reading and writing a large file would block the main thread.
  name: async (_queries, { usage: { names: namesFile } }, naming) =>
    namesFile === undefined ? noNamesFile(naming) : saveName(namesFile, naming),

  lastUse: async (queries, snapshot, { now, live }) => {
    const lastUsed = new Map<string, number | undefined>();
    for (const api of snapshot.apis.values())
      for (const [name, at] of await queries.lastUsed(ignoredBy(api.retire.ignoreClients)))
        if (apiOf(name, snapshot) === api) lastUsed.set(name, at);
    for (const { name } of snapshot.sortedVersions.filter(({ waivers }) => waivers.some(({ until }) => now < until))) {
      const withoutWaived = await queries.lastUsed(ignoredBy(ignoredOrWaived(snapshot, name, now)));
      lastUsed.set(name, withoutWaived.get(name));
    }
    const totals = new Map((await queries.totals(0)).map((total) => [total.version, total]));
    const times = new Map<string, LastUseTimes>();
    for (const name of new Set([...snapshot.versions.keys(), ...totals.keys()])) {
      const { served = 0, last } = totals.get(name) ?? {};
      const quiet = useQuietOf(name, snapshot);
      const since = now - quiet;
      const used = lastUsed.get(name) ?? 0;
      const version = snapshot.versions.get(name);
      const isServed = version !== undefined && stageOf(version, now) !== 'retired';
      // A request without an outcome counts as use, but has no time of use.
      const callers =
        isServed && used < since
          ? await callersOf(name, queries, since, ignoredOrWaived(snapshot, name, now))
          : undefined;
      const lastCall = (callers && lastCountedCall(callers, false)) ?? lastUsed.get(name);
      const ofGuard = { version: name, now, quiet, since, lastCall };
      const { called: inUse } = await evidenceOf(queries, ofGuard, live.get(name));
      const { coveredSince } = await evidenceOf(queries, {
        version: name,
        now,
        quiet: apiOf(name, snapshot).retire.quiet,
      });
      times.set(name, { lastRequest: served > 0 ? last : undefined, lastUsed: lastCall, inUse, coveredSince });
    }
    return queries.problem === undefined ? times : undefined;
  },

  freeze: (queries, _snapshot, query) => findFreezeClients(queries, query),
};

/** The report, or why there is none. */
async function usageOf(
  queries: UsageQueries,
  snapshot: Snapshot,
  { routeAnswers, ...params }: LedgerQueryParams['usage'],
): Promise<UsageReport | AnswerProblem<'BAD_REQUEST' | 'UNKNOWN_ROUTE'>> {
  const { by, version, until } = params;
  const whyUnknown = version === undefined ? undefined : await whyVersionUnknown(queries, snapshot, version);
  if (whyUnknown !== undefined) return { problem: 'BAD_REQUEST', detail: `\`version\`: ${whyUnknown}` };
  const successor = (name: string): string | undefined => successorName(name, snapshot, until);
  if (by === 'migration' && version !== undefined && successor(version) === undefined) {
    const detail = `\`version\`: /${version} has no successor to which its clients could move.`;
    return { problem: 'BAD_REQUEST', detail };
  }
  const fault = await instanceFault(queries, params);
  if (fault !== undefined) return { problem: 'BAD_REQUEST', detail: `\`instance\`: ${fault}` };
  const route = await lookUpRoute(queries, snapshot, version, params.route);
  if (route !== undefined && 'problem' in route) return route;
  const missingStatus = (name: string, route: string): number | undefined =>
    missingStatusOf(route, snapshot.versions.get(name), snapshot, routeAnswers ?? {}, until);
  return usageReport(queries, { ...params, route, successor, missingStatus });
}

/** For each version: the routes in use that its successor was seen to lack. */
async function remarksOnMissingRoutes(
  queries: UsageQueries,
  snapshot: Snapshot,
  routeAnswers: Partial<RouteAnswersReport>,
  { since, now }: { readonly since: number; readonly now: number },
): Promise<Remark[]> {
  if (!routeAnswers.missing?.length) return [];
  const served = snapshot.sortedVersions.filter((version) => stageOf(version, now) !== 'retired');
  const remarks = await Array.fromAsync(served, async (version): Promise<Remark[]> => {
    const routes = await queries.routes(version.name, since);
    const { missing } = counterpartsOf(version, snapshot, routes, routeAnswers, now);
    if (missing.length === 0) return [];
    const routesInWords = missingRoutesInWords(missing, now);
    const text = `Clients of /${version.name} use routes that its successor does not answer: ${routesInWords}.`;
    return [{ code: 'missing_in_successor', text }];
  });
  return remarks.flat();
}

function comparisonAnswer<Report>(reportOn: (...asked: Parameters<typeof driftReport>) => Promise<Report>) {
  return async (
    ...[queries, snapshot, query]: Parameters<typeof driftReport>
  ): Promise<AnswerBody<Report> | AnswerProblem<'UNKNOWN_VERSION' | 'LEDGER_UNANSWERED'>> => {
    const whyUnknown = await whyVersionUnknown(queries, snapshot, query.version);
    if (whyUnknown !== undefined) return { problem: 'UNKNOWN_VERSION', detail: `No such version: ${whyUnknown}` };
    const found = await reportOn(queries, snapshot, query);
    if (queries.problem !== undefined) return { problem: 'LEDGER_UNANSWERED', detail: queries.problem };
    return bodyOf(found);
  };
}

/** A report by client, with `new_since` in the rows of clients that a freeze does not know. */
async function withNewClients(
  report: UsageReport,
  queries: UsageQueries,
  { sortedVersions }: Snapshot,
): Promise<UsageReport> {
  if (report.by !== 'client') return report;
  const until = Date.parse(report.until);
  /** `v1 CLIENT` → the start of the freeze. */
  const newSince = new Map<string, Instant>();
  for (const version of sortedVersions) {
    const { name, freeze } = version;
    if (freeze === undefined || freeze.from > until) continue;
    const allow = clientsSparedByFreeze(version, until);
    for (const { client } of await newClientsOf(queries, { version: name, from: freeze.from, allow }))
      newSince.set(`${name} ${client}`, isoText(freeze.from));
  }
  if (newSince.size === 0) return report;
  const rows = report.rows.map((row) => {
    const since = newSince.get(`${row.version} ${row.client}`);
    return since === undefined ? row : { ...row, new_since: since };
  });
  return { ...report, rows };
}

/** @returns the explanation if neither routes.yaml nor the ledger has the version */
async function whyVersionUnknown(
  queries: UsageQueries,
  snapshot: Snapshot,
  version: string,
): Promise<string | undefined> {
  if (snapshot.versions.has(version)) return undefined;
  const inLedger = (await queries.totals(0)).map((one) => one.version);
  // '' stands for the requests without a version.
  const removed = inLedger.filter((name) => name !== '' && !snapshot.versions.has(name)).sort();
  return removed.includes(version) ? undefined : unknownVersionText(snapshot, removed);
}

/** The route of the ledger that `route` names. @returns the problem if the version has no such route */
async function lookUpRoute(
  queries: UsageQueries,
  snapshot: Snapshot,
  version: string | undefined,
  route: NamedRoute | undefined,
): Promise<LedgerRoute | AnswerProblem<'UNKNOWN_ROUTE'> | undefined> {
  if (version === undefined || route === undefined) return undefined;
  const found = await routeOrReason(version, route, snapshot.versions.get(version), queries);
  return typeof found === 'string' ? { problem: 'UNKNOWN_ROUTE', detail: `No such route: ${found}` } : found;
}

function endedWithVersion(version: string, listed: Version | undefined): AnswerProblem<'ROUTE_ENDED'> {
  const state = listed === undefined ? 'is no longer in routes.yaml' : 'is retired';
  const detail = `/${version} ${state}, so all its routes have ended. Ask about /${version}.`;
  return { problem: 'ROUTE_ENDED', detail };
}

/** The clients of a removed version move to the lowest version above it that is not retired. */
function successorName(name: string, snapshot: Snapshot, now: number): string | undefined {
  if (name === '') return undefined;
  const version = snapshot.versions.get(name);
  if (version) return successorOf(version, snapshot, now)?.name;
  const ofApi = snapshot.sortedVersions.filter((one) => baseOf(one.name) === baseOf(name));
  return ofApi.find((one) => one.major > majorOf(name) && stageOf(one, now) !== 'retired')?.name;
}

function noNamesFile({ client, name }: ClientNaming): AnswerProblem<'NAME_NOT_SAVED'> {
  const detail =
    'routes.yaml sets no file of client names. Create one with this line, and set usage: { names: names.yaml }.';
  return { problem: 'NAME_NOT_SAVED', detail, members: { line: nameLine(client, name) } };
}

function saveName(file: string, { client, name, was }: ClientNaming): LedgerAnswers['name'] {
  const notSaved = (reason: string): LedgerAnswers['name'] => {
    const remedy = name === '' ? 'Remove the line of the client by hand.' : 'Add the line by hand.';
    const members = name === '' ? {} : { line: nameLine(client, name) };
    return { problem: 'NAME_NOT_SAVED', detail: `${file} cannot be edited: ${reason}. ${remedy}`, members };
  };
  try {
    const result = nameClient(file, client, name, was);
    if (result.kind === 'refused') return notSaved(result.reason);
    if (result.kind === 'saved') return bodyOf({ client, name: name === '' ? null : name });
    const change = result.name === '' ? 'no longer has a name' : `is now called ${JSON.stringify(result.name)}`;
    const detail = `The name was changed in the meantime: ${client} ${change}. Check it and try again.`;
    return { problem: 'NAME_CHANGED', detail, members: { name: result.name === '' ? null : result.name } };
  } catch (error) {
    return notSaved(reasonOf(error));
  }
}

// The bytes have a buffer of their own, so that the buffer can be transferred to another thread.
function bodyOf<Content>(content: Content): AnswerBody<Content> {
  return { body: new TextEncoder().encode(JSON.stringify(content)) };
}
