import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { snapshotFrom } from '../../gateway/config/load.ts';
import type { Snapshot } from '../../gateway/config/snapshot.ts';
import { guardReload } from '../../gateway/lifecycle/reloadGuard.ts';
import { withRetired } from '../../gateway/plan/plan.ts';
import { planEdit } from '../../gateway/plan/planEdit.ts';
import { estimateBrownout } from '../../gateway/restrictions/brownoutConditions.ts';
import { gatherFacts } from '../../gateway/retirement/facts.ts';
import { retirementVerdict } from '../../gateway/retirement/verdict.ts';
import { versionUsage } from '../../gateway/runtime/reload.ts';
import { CallMarker, CallMarks } from '../../gateway/usage/ledger/callMarks.ts';
import { Ledger } from '../../gateway/usage/ledger/ledger.ts';
import { markFileOf } from '../../gateway/usage/ledger/markFile.ts';
import { LedgerReader } from '../../gateway/usage/ledger/reader.ts';
import type { UsageRow } from '../../gateway/usage/usageRow.ts';
import { temporaryFolder } from '../config/temporary.ts';
import { cases } from '../support/cases.ts';
import { directLedgerClient } from '../support/directLedgerClient.ts';
import { copyLedger } from '../support/ledgerCopy.ts';
import { coverTenDays, row } from '../support/ledgerWith.ts';

// Generated histories of a gateway: calls, flushes, clean ends, crashes, restored, deleted and copied ledgers, and runs with a wrong
// clock. The generator knows every call. No place may answer that a version is unused if it was called in the quiet period.

const second = 1_000;
const minute = 60 * second;
const quiet = 10 * minute;
const week = 7 * 24 * 60 * minute;
const start = Date.parse('2026-11-21T12:00:00Z');
const upstream = 'http://127.0.0.1:1';

/** Random numbers from 0 to 1 that depend only on the seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A gateway with a ledger on a disk. Each of its deaths is one that a real process can die. */
class Gateway {
  readonly calls: { readonly version: string; readonly at: number }[] = [];
  readonly events: string[] = [];
  readonly #root: string;
  now = start;
  #folder = '';
  #folders = 0;
  /** How far the clock of the present run is off, ms. */
  #skew = 0;
  /** When the present run began. */
  #began = start;
  #ledger: Ledger | undefined;
  #marker: CallMarker | undefined;
  #unflushed: UsageRow[] = [];
  /** An earlier copy of the ledger. */
  #backup: string | undefined;

  constructor(root: string) {
    this.#root = root;
    this.#folder = this.#newFolder();
    coverTenDays(this.store, start);
  }

  get store(): string {
    return join(this.#folder, 'usage.db');
  }

  run(skew: number): void {
    this.events.push(`run, clock ${skew / second} s`);
    this.#skew = skew;
    this.#began = this.now;
    const clock = { now: () => this.now + this.#skew, monotonic: () => this.now };
    const marks = CallMarks.open(this.store, clock.now());
    this.#ledger = Ledger.open({ store: this.store, retention: 400 * 24 * 60 * minute }, { clock, marks });
    this.#marker = new CallMarker(marks.files, 0);
  }

  /** What happened before has times of the wrong clock. */
  correctClock(): void {
    if (this.#skew !== 0) this.events.push('the clock is corrected');
    this.#skew = 0;
  }

  call(version: string): void {
    this.events.push(`call ${version}`);
    const at = this.now + this.#skew;
    this.#marker?.mark(Number(version.slice(1)), at);
    this.calls.push({ version, at: this.now });
    this.#unflushed.push(row(version, 'x-client-id:a', at));
  }

  flush(): void {
    const until = this.#marker?.last ?? 0;
    this.#ledger?.add(this.#unflushed, { process: 0, until });
    this.#unflushed = [];
  }

  end(): void {
    this.events.push('clean end');
    this.flush();
    this.#ledger?.close();
    this.#marker?.close();
  }

  /** The next run sees the files as they are now, as after kill -9. */
  crash(): void {
    this.events.push(`crash with ${this.#unflushed.length} calls in memory`);
    const before = this.#copyLedger();
    this.#unflushed = [];
    this.#ledger?.close();
    this.#marker?.close();
    copyLedger(before, this.store);
  }

  /** A backup of the folder, while the gateway runs or at rest. */
  backUp(): void {
    this.events.push('backup');
    this.#backup = this.#copyLedger();
    copyFileSync(markFileOf(this.store), markFileOf(this.#backup));
  }

  /** Puts the backup in the place of the ledger. The marks stay: they are another file. */
  restore(): void {
    if (this.#backup === undefined) return;
    this.events.push('restore');
    copyLedger(this.#backup, this.store);
  }

  /** Puts the backup in the place of the ledger and of the marks. */
  restoreAll(how: 'new files' | 'in place'): void {
    if (this.#backup === undefined) return;
    this.restore();
    this.events.push(`restore the marks, ${how}`);
    if (how === 'new files') rmSync(markFileOf(this.store));
    else this.#ageMarks();
    copyFileSync(markFileOf(this.#backup), markFileOf(this.store));
  }

  /** A history takes milliseconds. The time of a change of a file cannot be set, so the time when the run made the file is. */
  #ageMarks(): void {
    const database = new DatabaseSync(this.store);
    const [bootId, id, changedAt] = String(
      database.prepare("SELECT value FROM meta WHERE key = 'marks'").get()?.['value'],
    ).split(' ');
    const madeAt = Number(changedAt) - (this.now - this.#began);
    database.prepare("UPDATE meta SET value = ? WHERE key = 'marks'").run(`${bootId} ${id} ${madeAt}`);
    database.close();
  }

  loseMarks(): void {
    this.events.push('the marks are lost');
    rmSync(markFileOf(this.store), { force: true });
  }

  loseJournal(): void {
    this.events.push('the journal is lost');
    rmSync(`${this.store}-wal`, { force: true });
  }

  lose(): void {
    this.events.push('the ledger is lost');
    this.#folder = this.#newFolder();
  }

  callsIn(version: string, period: number): number {
    return this.calls.filter((one) => one.version === version && one.at >= this.now - period).length;
  }

  #newFolder(): string {
    this.#folders += 1;
    const folder = join(this.#root, String(this.#folders));
    mkdirSync(folder);
    return folder;
  }

  #copyLedger(): string {
    const copy = join(this.#newFolder(), 'usage.db');
    copyLedger(this.store, copy);
    return copy;
  }
}

function snapshotOf(store: string): Snapshot {
  const brownouts = [{ at: '2026-01-15T00:00:00Z', for: '1h' }];
  const ended = { upstream, deprecation: '2026-01-01', sunset: '2026-02-01', after_sunset: 'serve', brownouts };
  return snapshotFrom({
    routes: { '/v1': ended, '/v2': ended, '/v3': upstream },
    usage: { store },
    retire: { quiet: '10m', rhythm: 'off' },
    guard: { quiet: '10m' },
  });
}

/** The places that answer yes: the version may go. Of a brownout: it would refuse fewer requests than the version has got in a week. */
async function yesesFor(version: string, gateway: Gateway): Promise<string[]> {
  const { now } = gateway;
  const snapshot = snapshotOf(gateway.store);
  const reader = LedgerReader.open(gateway.store);
  const alone = LedgerReader.openAlone(gateway.store);
  try {
    const report = { versions: [], workers: [] };
    const found = snapshot.versions.get(version);
    const candidate = withRetired(snapshot, version);
    if (found === undefined || candidate === undefined) throw new Error('the version is missing');
    const verdict = retirementVerdict(await gatherFacts(found, { snapshot, queries: reader, report }, quiet, now));
    const sources = { flush: async () => true, report: async () => report, ledger: reader, fleet: undefined };
    const effects = { endedVersions: [version], quiet };
    const usage = await versionUsage(snapshot, sources, directLedgerClient(reader), now, effects);
    const refusals = guardReload(snapshot, candidate, usage, now);
    const plan = await planEdit(reader, { candidate, running: snapshot, since: now - quiet, now, at: now });
    const withoutGateway = await planEdit(alone, { candidate, running: snapshot, since: now - quiet, now, at: now });
    const window = found.brownouts[0];
    if (window === undefined) throw new Error('the brownout is missing');
    const brownout = await estimateBrownout(reader, snapshot, found, window, now, undefined);
    const places = {
      'can-retire': verdict.answer === 'yes',
      'the guard': refusals.length === 0,
      plan: plan?.known && plan.total.lost === 0,
      'plan --store': withoutGateway?.known && withoutGateway.total.lost === 0,
      'a brownout': brownout?.missing.length === 0 && brownout.requests < gateway.callsIn(version, week),
    };
    return Object.entries(places).flatMap(([place, isYes]) => (isYes ? [place] : []));
  } finally {
    await reader.close();
    await alone.close();
  }
}

/** One history, and the wrong answers in it. */
async function play(seed: number, root: string): Promise<{ readonly wrong: string[]; readonly yeses: number }> {
  const random = randomFrom(seed);
  const pick = <One>(...all: readonly One[]): One => all[Math.floor(random() * all.length)] as One;
  const gateway = new Gateway(root);
  const wrong: string[] = [];
  let yeses = 0;
  const skews = [0, 0, 0, 20 * second, -20 * second, 60 * minute, -40 * 24 * 60 * minute];
  const runs = 1 + Math.floor(random() * 4);
  for (let run = 1; run <= runs; run += 1) {
    // The last run has the right clock. Without one, nobody knows the length of a period.
    gateway.run(run === runs ? 0 : pick(...skews));
    const steps = 2 + Math.floor(random() * 5);
    for (let step = 0; step < steps; step += 1) {
      gateway.now += pick(second, 5 * second, minute, 4 * minute, 11 * minute);
      const action = random();
      if (action < 0.35) gateway.call(pick('v1', 'v1', 'v2'));
      else if (action < 0.45) gateway.backUp();
      else if (action < 0.5) gateway.correctClock();
      else gateway.flush();
    }
    if (run === runs) break;
    if (random() < 0.4) {
      gateway.end();
      if (random() < 0.2) gateway.backUp();
    } else gateway.crash();
    gateway.now += pick(second, 10 * second, 30 * second, 5 * minute, 20 * minute);
    const fate = random();
    if (fate < 0.15) gateway.restore();
    else if (fate < 0.2) gateway.lose();
    else if (fate < 0.25) gateway.restoreAll('new files');
    else if (fate < 0.3) gateway.restoreAll('in place');
    else if (fate < 0.33) gateway.loseMarks();
    else if (fate < 0.36) gateway.loseJournal();
  }
  gateway.now += pick(second, minute, 9 * minute, 11 * minute, 25 * minute);
  // Every place asks for the counts of all processes first.
  gateway.flush();
  for (const version of ['v1', 'v2']) {
    const places = await yesesFor(version, gateway);
    yeses += places.length;
    const isWrong = (place: string): boolean => place === 'a brownout' || gateway.callsIn(version, quiet) > 0;
    wrong.push(
      ...places
        .filter(isWrong)
        .map((place) => `seed ${seed}: ${place} of /${version} after ${gateway.events.join(', ')}`),
    );
  }
  gateway.end();
  return { wrong, yeses };
}

it('no place says that a version is unused if it was called in the quiet period', { timeout: 3_600_000 }, async () => {
  const folder = temporaryFolder();
  const wrong: string[] = [];
  let yeses = 0;
  const first = Number(process.env['SEED'] ?? 1);
  for (let seed = first; seed < first + cases(50, 5_000); seed += 1) {
    const root = mkdtempSync(join(folder, 'history-'));
    const found = await play(seed, root);
    wrong.push(...found.wrong);
    yeses += found.yeses;
    rmSync(root, { recursive: true });
  }
  expect(wrong).toEqual([]);
  // A gateway that never says yes would be of no use.
  expect(yeses).toBeGreaterThan(0);
});
