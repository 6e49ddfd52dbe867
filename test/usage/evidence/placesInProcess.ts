import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot, Version } from '../../../gateway/config/snapshot.ts';
import { versionUsage } from '../../../gateway/process/runtime/reload.ts';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import { guardReload } from '../../../gateway/versions/lifecycle/reloadGuard.ts';
import { withRetired } from '../../../gateway/versions/plan/plan.ts';
import { planEdit } from '../../../gateway/versions/plan/planEdit.ts';
import { estimateBrownout } from '../../../gateway/versions/restrictions/brownoutConditions.ts';
import { gatherFacts } from '../../../gateway/versions/retirement/facts.ts';
import { CallsQuestion, type LiveState, stateOfVersion } from '../../../gateway/versions/retirement/liveFacts.ts';
import { retirementVerdict } from '../../../gateway/versions/retirement/verdict.ts';
import { directLedgerClient } from '../../support/directLedgerClient.ts';
import { machine } from './machine.ts';
import type { SimulatedGateway } from './simulatedGateway.ts';

export const quiet = 10 * 60_000;
const upstream = 'http://127.0.0.1:1';

/** /v1 and /v2 may be retired, and the tombstone of /v3 may be removed, if nobody calls them. */
function snapshotWith(ignored: readonly string[]): Snapshot {
  const brownouts = [{ at: '2026-01-15T00:00:00Z', for: '1h' }];
  const dates = { deprecation: '2026-01-01', sunset: '2026-02-01' };
  const ended = { ...dates, upstream, after_sunset: 'serve', brownouts };
  return snapshotFrom({
    routes: { '/v1': ended, '/v2': ended, '/v3': { ...dates, retired: true }, '/v4': upstream },
    // The readers get the file itself.
    usage: { store: 'usage.db' },
    retire: { quiet: '10m', rhythm: 'off', ignore_clients: ignored },
    guard: { quiet: '10m' },
  });
}

export const servingAll = snapshotWith([]);
export const ignoringProbes = snapshotWith(['x-client-id:probe']);

/** A place says yes: the version may go. */
export interface Yes {
  readonly place: string;
  readonly version: string;
  /** Of a brownout: how many requests of the last week it has found. */
  readonly requests?: number;
}

/** The configuration without this version. */
function without(snapshot: Snapshot, name: string): Snapshot {
  const sortedVersions = snapshot.sortedVersions.filter((one) => one.name !== name);
  return { ...snapshot, sortedVersions, versions: new Map(sortedVersions.map((one) => [one.name, one])) };
}

/** All places that ask the running gateway. */
export async function yesesOfGateway(gateway: SimulatedGateway): Promise<Yes[]> {
  const { snapshot, sources } = gateway;
  const state = await new CallsQuestion(sources).answer(snapshot.versions.keys(), quiet);
  // As before every query.
  await gateway.ledger?.flush();
  const reader = LedgerReader.open(gateway.store);
  Object.assign(reader, { problem: gateway.ledger?.problem, unwrittenRows: gateway.ledger?.unwrittenRows });
  try {
    return await reader.readConsistently(async () => {
      const found: Yes[] = [];
      for (const version of snapshot.sortedVersions)
        if (version.name !== 'v4') found.push(...(await yesesFor(version, gateway, state, reader)));
      return found;
    });
  } finally {
    await reader.close();
  }
}

async function yesesFor(
  version: Version,
  { snapshot, sources }: SimulatedGateway,
  state: LiveState,
  reader: LedgerReader,
): Promise<Yes[]> {
  const now = machine.clock.now();
  const { name } = version;
  const isTombstone = version.retired;
  const candidate = isTombstone ? without(snapshot, name) : (withRetired(snapshot, name) ?? snapshot);
  const yeses: Yes[] = [];
  const facts = await gatherFacts(version, { snapshot, queries: reader, ...stateOfVersion(state, name) }, quiet, now);
  if (retirementVerdict(facts).answer === 'yes') yeses.push({ place: 'can-retire', version: name });
  const effects = { endedVersions: [name], quiet };
  const usage = await versionUsage(snapshot, sources, directLedgerClient(reader), now, effects);
  if (guardReload(snapshot, candidate, usage, now).length === 0) yeses.push({ place: 'the guard', version: name });
  // A plan is about requests that a backend has answered, and so is the estimate of a brownout.
  if (isTombstone) return yeses;
  const live = state.facts;
  const plan = await planEdit(reader, { candidate, running: snapshot, since: now - quiet, now, at: now, live });
  if (plan?.known && plan.total.lost === 0) yeses.push({ place: 'plan', version: name });
  const [window] = version.brownouts;
  if (window === undefined) throw new Error('the brownout is missing');
  const brownout = await estimateBrownout(reader, snapshot, version, window, now, live.get(name));
  if (brownout?.missing.length === 0) yeses.push({ place: 'a brownout', version: name, requests: brownout.requests });
  return yeses;
}

/** `plan --store`, which does not ask the gateway. It may run, or not. */
export async function yesesOfStore({ store, snapshot }: SimulatedGateway): Promise<Yes[]> {
  let reader: LedgerReader;
  try {
    reader = LedgerReader.openAlone(store, undefined, snapshot.retire.ignoreClients);
  } catch {
    return [];
  }
  const now = machine.clock.now();
  try {
    return await reader.readConsistently(async () => {
      const found: Yes[] = [];
      for (const version of ['v1', 'v2']) {
        const candidate = withRetired(snapshot, version) ?? snapshot;
        const plan = await planEdit(reader, { candidate, running: snapshot, since: now - quiet, now, at: now });
        if (plan?.known && plan.total.lost === 0) found.push({ place: 'plan --store', version });
      }
      return found;
    });
  } finally {
    await reader.close();
  }
}
