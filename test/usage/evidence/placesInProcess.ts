import { baseOf, ignoredClientsOf, majorOf, rootBase } from '../../../gateway/config/api.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot, Version } from '../../../gateway/config/snapshot.ts';
import { LastUse } from '../../../gateway/operate/admin/lastUse.ts';
import type { Operations } from '../../../gateway/operate/admin/operations.ts';
import type { AnswerBody, AnswerProblem, LedgerClient } from '../../../gateway/operate/admin/reading/ledgerClient.ts';
import { statusJson } from '../../../gateway/operate/admin/status.ts';
import { Reloader, versionUsage } from '../../../gateway/process/runtime/reload.ts';
import { nothingTried } from '../../../gateway/proxy/trial/trial.ts';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import { TrafficSamples } from '../../../gateway/usage/observability/recentTraffic.ts';
import type { UsageReport } from '../../../gateway/usage/report/usageReport.ts';
import type { Plan } from '../../../gateway/versions/plan/plan.ts';
import { withRetired } from '../../../gateway/versions/plan/plan.ts';
import { planEdit } from '../../../gateway/versions/plan/planEdit.ts';
import { CallsQuestion, factsWithoutWaiting, type LiveState } from '../../../gateway/versions/retirement/liveFacts.ts';
import type { Verdict } from '../../../gateway/versions/retirement/verdict.ts';
import { ownUsagePeriodMs } from '../../../gateway/versions/selfService/ownUsage.ts';
import { directLedgerClient } from '../../support/directLedgerClient.ts';
import { hostOf } from '../../support/hostOf.ts';
import { machine } from './machine.ts';
import type { Call } from './servingProcess.ts';
import type { SimulatedGateway } from './simulatedGateway.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
export const quiet = 10 * minute;
/** The gateway may be stopped for this share of a period: a call in this time is not known. */
export const toleratedShare = 0.1;
const port = (version: string): string => `http://127.0.0.1:${majorOf(version)}`;

interface ApiSettings {
  readonly ignored?: readonly string[];
  readonly retired?: readonly string[];
}

/** An API. The versions of `ending` may be retired, and the tombstone of /v3 may be removed, if nobody calls them. */
function apiWith(ending: readonly string[], { ignored = [], retired = [] }: ApiSettings): Snapshot {
  const dates = { deprecation: '2026-01-01', sunset: '2026-02-01' };
  const ended = (version: string): object => ({
    ...dates,
    upstream: port(version),
    after_sunset: 'serve',
    brownouts: [{ at: '2026-01-15T00:00:00Z', for: '1h' }],
    ...(retired.includes(version) && { retired: true }),
  });
  return snapshotFrom({
    routes: {
      ...Object.fromEntries(ending.map((version) => [`/${version}`, ended(version)])),
      '/v3': { ...dates, retired: true },
      '/v4': port('v4'),
    },
    // The readers get the file itself.
    usage: { store: 'usage.db' },
    retire: { quiet: '10m', rhythm: 'off', ignore_clients: ignored },
    guard: { quiet: '10m' },
  });
}

/** What a gateway may serve in a history. */
export interface Host {
  /** Two versions that may be retired, and a tombstone. */
  readonly versions: readonly [string, string, string];
  readonly atStart: readonly Snapshot[];
  readonly afterReload: readonly Snapshot[];
}

const ignoringProbes = { ignored: ['x-client-id:probe'] };
const retiringFirst = { retired: ['v1'] };

const one = (settings: ApiSettings): Snapshot => apiWith(['v1', 'v2'], settings);
const [serving, ignoring, retired] = [one({}), one(ignoringProbes), one(retiringFirst)];
export const oneApi: Host = {
  versions: ['v1', 'v2', 'v3'],
  atStart: [serving, serving, ignoring, retired],
  afterReload: [serving, ignoring, retired, retired],
};

/** Each API ignores its own clients. */
const two = (root: ApiSettings, orders: ApiSettings): Snapshot =>
  hostOf(apiWith(['v1'], root), { '/orders': apiWith(['v1'], orders) });
const servingBoth = two({}, {});
const eachIgnoring = [two(ignoringProbes, {}), two({}, ignoringProbes)];
const retiredInOne = [two(retiringFirst, ignoringProbes), two(ignoringProbes, retiringFirst)];
export const severalApis: Host = {
  versions: ['v1', 'orders/v1', 'orders/v3'],
  atStart: [servingBoth, ...eachIgnoring, ...retiredInOne],
  afterReload: [servingBoth, two(ignoringProbes, ignoringProbes), ...eachIgnoring, ...retiredInOne],
};

/** The last version of an API does not end. */
function isEnding({ deprecation }: Version): boolean {
  return deprecation !== undefined;
}

/** A place says something that the calls of the version can show to be wrong. */
export interface Yes {
  readonly place: string;
  readonly version: string;
  /** `calls`: of the version, by clients that are not ignored. `slack`: an error of the clock that nobody can notice, ms. */
  isTrue(calls: readonly Call[], slack: number): boolean;
}

/** The version was not called in the period. */
function unused(place: string, version: string, period = quiet): Yes {
  const now = machine.now;
  const canBeKnown = ({ outage = Number.POSITIVE_INFINITY }: Call): boolean => outage > period * toleratedShare;
  const isTrue = (calls: readonly Call[], slack: number): boolean =>
    !calls.some((call) => canBeKnown(call) && call.until >= now - period + slack);
  return { place, version, isTrue };
}

/** The client did not call the version in this time. Instants in epoch ms. */
function notCalledBy(place: string, version: string, client: string, since: number, until: number): Yes {
  const isTrue = (calls: readonly Call[], slack: number): boolean =>
    !calls.some(
      (call) =>
        call.outage === undefined &&
        nameOf(call) === client &&
        call.until >= since + slack &&
        call.until < until - slack,
    );
  return { place, version, isTrue };
}

function nameOf({ client }: Call): string {
  return `x-client-id:${client}`;
}

/** The configuration without this version. */
function without(snapshot: Snapshot, name: string): Snapshot {
  const sortedVersions = snapshot.sortedVersions.filter((one) => one.name !== name);
  const versions = new Map(sortedVersions.map((one) => [one.name, one]));
  return { ...snapshot, fingerprint: `without ${name}`, sortedVersions, versions };
}

/** What every question to the running gateway needs. */
interface Asked {
  readonly gateway: SimulatedGateway;
  readonly snapshot: Snapshot;
  readonly ledger: LedgerClient;
  readonly reader: LedgerReader;
  readonly state: LiveState;
  /** By the clock of the gateway. */
  readonly now: number;
}

/** All places that ask the running gateway. */
export async function yesesOfGateway(gateway: SimulatedGateway): Promise<Yes[]> {
  const { snapshot, sources } = gateway;
  const state = await new CallsQuestion(sources).answer(snapshot.versions.keys(), hour);
  // As before every query.
  await gateway.ledger?.flush();
  const reader = LedgerReader.open(gateway.store);
  Object.assign(reader, { problem: gateway.ledger?.problem, unwrittenRows: gateway.ledger?.unwrittenRows });
  const ledger = directLedgerClient(reader);
  const asked: Asked = { gateway, snapshot, ledger, reader, state, now: machine.clock.now() };
  try {
    return await reader.readConsistently(async () => {
      const found = [
        ...(await yesesOfStatus(asked)),
        ...(await yesesOfDigest(asked)),
        ...(await yesesOfEvents(asked)),
        ...(await yesesOfSelfService(asked)),
      ];
      for (const version of snapshot.sortedVersions)
        if (isEnding(version)) found.push(...(await yesesFor(version, asked)));
      return found;
    });
  } finally {
    await reader.close();
  }
}

async function yesesFor(version: Version, asked: Asked): Promise<Yes[]> {
  const { snapshot, ledger, state, now } = asked;
  const { name, retired: isTombstone } = version;
  const yeses: Yes[] = [];
  const verdict = bodyOf<Verdict>(await ledger.query('retirement', snapshot, { version: name, quiet, state, now }));
  if (verdict?.answer === 'yes') yeses.push(unused('can-retire', name));
  if (await acceptsEnd(version, asked)) yeses.push(unused('the guard', name));
  // The other places are about requests that a backend has answered.
  if (isTombstone) return yeses;
  const plan = bodyOf<Plan>(
    await ledger.query('plan', snapshot, { candidate: { retired: name }, since: now - quiet, now, at: now, state }),
  );
  if (plan?.known && plan.total.lost === 0) yeses.push(unused('plan', name));
  const found = [await brownoutEstimate(version, asked), await freeze(name, asked), await usage(name, asked)];
  return [...yeses, ...found.filter((one) => one !== undefined)];
}

/** Whether a reload accepts that the version ends. `check --against-running` asks the same. */
async function acceptsEnd(version: Version, { gateway, snapshot, ledger, now }: Asked): Promise<boolean> {
  const { name, retired: isTombstone } = version;
  const candidate = isTombstone ? without(snapshot, name) : (withRetired(snapshot, name) ?? snapshot);
  const reloader = new Reloader({
    source: { current: snapshot },
    load: () => candidate,
    loadPreview: () => ({ ...candidate, fingerprint: `without ${name}` }),
    apply: async () => [],
    readUsage: (effects) => versionUsage(snapshot, gateway.sources, ledger, now, effects),
    tryNewTargets: () => nothingTried,
    clock: machine.clock,
  });
  return (await reloader.preview()).kind === 'reloaded';
}

async function brownoutEstimate({ name, brownouts }: Version, asked: Asked): Promise<Yes | undefined> {
  const { snapshot, ledger, state, now } = asked;
  const [window] = brownouts;
  if (window === undefined) throw new Error('the brownout is missing');
  const parameters = { version: name, at: window.at, now, live: state.facts.get(name) };
  const estimate = await ledger.query('brownoutEstimate', snapshot, parameters);
  if (estimate === undefined || estimate.missing.length > 0) return undefined;
  const { requests } = estimate;
  const since = machine.now - 7 * day;
  // It would refuse fewer requests than the version has got in a week.
  const isTrue = (calls: readonly Call[]): boolean =>
    requests >= calls.filter((one) => one.outage === undefined && !one.isRefused && one.until >= since).length;
  return { place: 'a brownout', version: name, isTrue };
}

/** A freeze that begins about now: it refuses the clients that it does not know. */
async function freeze(version: string, { snapshot, ledger, reader, state, now }: Asked): Promise<Yes | undefined> {
  const from = now - (now % 3) * minute;
  const { id: namingRulesId } = await reader.namingRules();
  const live = state.facts.get(version);
  const query = { version, from, quiet, limit: 1_000, namingRulesId, allow: [], now, live };
  const found = await ledger.query('freeze', snapshot, query);
  if (found.kind === 'unknown') return undefined;
  const known = new Set(found.clientLines.split('\n'));
  const begin = machine.now - (now - from);
  const isTrue = (calls: readonly Call[], slack: number): boolean =>
    calls.every((call) => {
      const isBefore = call.outage === undefined && call.until >= begin - quiet + slack && call.until < begin - slack;
      return !isBefore || known.has(nameOf(call));
    });
  return { place: 'a freeze', version, isTrue };
}

/** What the dashboard and `usage` show of the last hour. Open calls come later. */
async function usage(version: string, { gateway, snapshot, ledger, now }: Asked): Promise<Yes | undefined> {
  const absent = { route: undefined, instance: undefined, page: undefined };
  const period = { since: now - hour, until: now, step: 'day' } as const;
  const live = factsWithoutWaiting(version, await gateway.sources.report(), hour, undefined);
  const query = { by: 'version', version, ...period, live, ...absent } as const;
  const report = bodyOf<UsageReport>(await ledger.query('usage', snapshot, query));
  if (report === undefined) return undefined;
  const isWhole = report.counted_since === report.since && report.problems.length === 0 && report.held === 0;
  const requests = report.rows.reduce((sum, row) => sum + row.requests, 0);
  return isWhole && requests === 0 ? unused('usage', version, now - Date.parse(report.since)) : undefined;
}

/** `status --wait`: the backend of a version may be stopped. */
async function yesesOfStatus({ gateway, snapshot, ledger }: Asked): Promise<Yes[]> {
  const { clock } = machine;
  const status = { fingerprint: '', generation: 1, loadedAt: 0, trigger: 'start', forced: [] } as const;
  const configuration = { status: { ...status, lastFailure: undefined } } as unknown as Operations['configuration'];
  const live = { ...gateway.sources, ledger, fleet: undefined };
  const operations: Operations = { configuration, live, features: [], clock };
  const lastUse = new LastUse({ ledger, fleet: undefined });
  const context = { source: { current: snapshot }, operations, lastUse, traffic: new TrafficSamples() };
  const { versions } = await statusJson({ ...context, accessOf: () => 'machine' });
  const isTrue = (calls: readonly Call[]): boolean =>
    !calls.some(({ until, isRefused }) => until === Number.POSITIVE_INFINITY && !isRefused);
  return versions
    .filter((one) => one.safe_to_stop)
    .map(({ version }): Yes => ({ place: 'status --wait', version, isTrue }));
}

interface DigestData {
  readonly known: boolean;
  readonly requests: number;
  readonly changes: readonly string[];
  readonly versions: readonly {
    readonly version: string;
    readonly stage: string;
    readonly known: boolean;
    readonly requests: number;
    readonly blocked_by: readonly unknown[];
  }[];
}

async function yesesOfDigest({ snapshot, ledger, state, now }: Asked): Promise<Yes[]> {
  const query = { since: now - hour, state, gateway: undefined, now };
  const digest = await ledger.query('digest', snapshot, query);
  if (digest === undefined) return [];
  const { known, requests, changes, versions } = digest.data as unknown as DigestData;
  const yeses = versions.flatMap((one) => [
    ...(one.blocked_by.length === 0 && one.stage !== 'retired' ? [unused('digest: nothing blocks', one.version)] : []),
    ...(one.known && one.requests === 0 ? [unused('digest: not called', one.version, hour)] : []),
  ]);
  if (known && requests === 0)
    yeses.push(...[...snapshot.versions.keys()].map((version) => unused('digest: no request', version, hour)));
  for (const change of changes) {
    const [, version = '', clients = ''] = /^\d+ clients? stopped calling \/(\S*v\d): (.*)\.$/.exec(change) ?? [];
    for (const client of clients === '' ? [] : clients.split(', '))
      yeses.push(notCalledBy('digest: a client stopped', version, client, machine.now - quiet, machine.now));
  }
  return yeses;
}

/** A client calls for the first time, or again: it did not call before. */
async function yesesOfEvents({ snapshot, ledger, state, now }: Asked): Promise<Yes[]> {
  const events = await ledger.query('clientEvents', snapshot, { now, state });
  return events.flatMap(({ type, data }) => {
    const { known, version, client, first } = data;
    if (known !== true || typeof first !== 'string') return [];
    const at = Date.parse(first);
    const yes = notCalledBy(type, String(version), String(client), at - day, at);
    // A call with a wrong clock may be the first one, and have a later time.
    const isTrue: Yes['isTrue'] = (calls, slack) =>
      yes.isTrue(
        calls.filter(({ skew }) => Math.abs(skew) <= slack),
        slack,
      );
    return [{ ...yes, isTrue }];
  });
}

/** `GET /versions/me`: the versions of the API at the root that the client has called. */
async function yesesOfSelfService({ gateway, snapshot, ledger, now }: Asked): Promise<Yes[]> {
  const client = 'x-client-id:a';
  const live = factsWithoutWaiting('', await gateway.sources.report(), ownUsagePeriodMs, undefined);
  const answer = await ledger.query('ownUsage', snapshot, { client, base: rootBase, now, live });
  if (answer.kind !== 'known') return [];
  const { counted_since, versions } = JSON.parse(answer.body) as {
    readonly counted_since: string | null;
    readonly versions: readonly { readonly version: string }[];
  };
  if (counted_since === null) return [];
  const called = new Set(versions.map(({ version }) => version));
  return snapshot.sortedVersions
    .filter((one) => isEnding(one) && baseOf(one.name) === rootBase && !called.has(one.name))
    .map(({ name }) => notCalledBy('versions/me', name, client, Date.parse(counted_since), machine.now));
}

/** Undefined: the ledger cannot be read, and the answer says so. */
function bodyOf<Body>(answer: AnswerBody<unknown> | AnswerProblem): Body | undefined {
  if ('problem' in answer && answer.problem === 'LEDGER_UNANSWERED') return undefined;
  if ('problem' in answer) throw new Error(answer.detail);
  return JSON.parse(new TextDecoder().decode(answer.body)) as Body;
}

/** `plan --store`, which does not ask the gateway. It may run, or not. */
export async function yesesOfStore({ store, snapshot }: SimulatedGateway): Promise<Yes[]> {
  let reader: LedgerReader;
  try {
    reader = LedgerReader.openAlone(store, undefined, ignoredClientsOf(snapshot));
  } catch {
    return [];
  }
  const now = machine.clock.now();
  try {
    return await reader.readConsistently(async () => {
      const found: Yes[] = [];
      for (const version of snapshot.sortedVersions) {
        const { name, retired } = version;
        if (retired || !isEnding(version)) continue;
        const candidate = withRetired(snapshot, name) ?? snapshot;
        const plan = await planEdit(reader, { candidate, running: snapshot, since: now - quiet, now, at: now });
        if (plan?.known && plan.total.lost === 0) found.push(unused('plan --store', name));
      }
      return found;
    });
  } finally {
    await reader.close();
  }
}
