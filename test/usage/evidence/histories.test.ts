import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { apiOf } from '../../../gateway/config/api.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { cases } from '../../support/cases.ts';
import { Random } from '../../support/random.ts';
import { machine } from './machine.ts';
import {
  type Host,
  oneApi,
  quiet,
  severalApis,
  toleratedShare,
  type Yes,
  yesesOfGateway,
  yesesOfStore,
} from './placesInProcess.ts';
import { coveredTemplate, SimulatedGateway } from './simulatedGateway.ts';

// Generated histories of one gateway and its machine: calls, flushes, workers that die or hang, full disks, clean ends, crashes, reboots,
// restored, deleted and copied ledgers, and runs with a wrong clock. Every other gateway serves two APIs. The generator knows every call. No place may say yes if the calls
// show that it is wrong. SEED=7 begins with history 7, HISTORIES=100 plays this many.

vi.mock('../../../gateway/usage/ledger/markFile.ts', async (importOriginal) => {
  const host = await import('./machine.ts');
  return host.markFilesOn(host.machine, await importOriginal());
});

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

const second = 1_000;
const minute = 60 * second;
const start = Date.parse('2026-11-21T12:00:00Z');
/** A smaller error of the clock is tolerated. */
const unnoticed = 3 * second;
/** Larger, but not known to the gateway if the machine has restarted since. */
const slight = 20 * second;
/** The gateway may be stopped for this long within a quiet period. */
const toleratedGap = quiet * toleratedShare;

/** Whether the calls show that a place is wrong. */
function isWrong(yes: Yes, { calls, snapshot }: SimulatedGateway, slack: number): boolean {
  const isCounted = (client: string): boolean =>
    !apiOf(yes.version, snapshot).retire.ignoreClients.includes(`x-client-id:${client}`);
  const ofVersion = calls.filter((one) => one.version === yes.version && isCounted(one.client));
  return !yes.isTrue(ofVersion, slack);
}

interface Played {
  readonly wrong: readonly string[];
  readonly yeses: readonly Yes[];
}

/** One history, and the answers in it. */
async function play(seed: number, folder: string, template: string, host: Host): Promise<Played> {
  const [first, other, tombstone] = host.versions;
  const source = new Random(seed);
  const random = source.next;
  const pick = <One>(...all: readonly One[]): One => source.of(all);
  const chance = (share: number): boolean => source.happens(share);
  Object.assign(machine, { now: start, skew: 0, isDiskFull: false });
  machine.boot();
  const gateway = new SimulatedGateway(mkdtempSync(join(folder, 'history-')), template, pick(...host.atStart));
  const wrong: string[] = [];
  const yeses: Yes[] = [];
  let slack = 0;
  const skewed = (skew: number): number => {
    if (Math.abs(skew) === unnoticed) slack = Math.max(slack, unnoticed);
    return skew;
  };
  const judge = async (ask: (gateway: SimulatedGateway) => Promise<Yes[]>): Promise<void> => {
    vi.setSystemTime(machine.clock.now());
    const found = await ask(gateway);
    yeses.push(...found);
    for (const one of found)
      if (isWrong(one, gateway, slack))
        wrong.push(`seed ${seed}: ${one.place} of /${one.version} after ${gateway.events.join(', ')}`);
  };
  const clockIsWrongForASecond = (): void => {
    const { skew } = machine;
    gateway.setClock(skew + pick(60 * minute, -60 * minute));
    gateway.call(random, pick(first, other), pick('a', 'a', 'probe'));
    gateway.pass(second);
    gateway.setClock(skew);
  };
  const openCall = (version: string, client: string): void => {
    gateway.call(random, version, client, pick('long', 'waiting'));
    if (chance(0.3)) gateway.call(random, version, client, 'failing');
  };
  const step = (): void => {
    gateway.pass(pick(300, second, 5 * second, minute, 4 * minute, 11 * minute));
    const action = random();
    if (action < 0.35)
      gateway.call(
        random,
        pick(first, first, other, tombstone),
        pick('a', 'a', 'a', 'probe'),
        pick('usual', 'usual', 'usual', 'failing', 'unanswered'),
      );
    else if (action < 0.4) openCall(pick(first, other), pick('a', 'a', 'a', 'probe'));
    else if (action < 0.43) gateway.finishLongCalls();
    else if (action < 0.5) gateway.backUp();
    else if (action < 0.55) gateway.fillDisk(!machine.isDiskFull);
    else if (action < 0.62) gateway.endWorker(random, pick('killed', 'killed', 'drained'));
    else if (action < 0.66) {
      gateway.reload(pick(...host.afterReload));
      // With requests of a version that has ended.
      if (chance(0.3)) gateway.hang(random);
    } else if (action < 0.69) gateway.setClock(skewed(pick(0, 0, unnoticed, -unnoticed, 60 * minute, -60 * minute)));
    else if (action < 0.72) clockIsWrongForASecond();
    else if (action < 0.76) gateway.hang(random);
    else if (action < 0.78) gateway.resume();
    else gateway.flush();
  };
  const harm = (): void => {
    const fate = random();
    if (fate < 0.15) gateway.restore();
    else if (fate < 0.2) gateway.lose();
    else if (fate < 0.25) gateway.restoreAll('new files');
    else if (fate < 0.3) gateway.restoreAll('in place');
    else if (fate < 0.33) gateway.loseMarks();
    else if (fate < 0.36) gateway.loseJournal();
    else if (fate < 0.4) gateway.backUp();
  };
  const runs = 1 + Math.floor(random() * 4);
  for (let run = 1; run <= runs; run += 1) {
    const skews = [0, 0, 0, unnoticed, -unnoticed, slight, -slight, 60 * minute, -60 * minute, -40 * 24 * 60 * minute];
    if (host === severalApis && run > 1 && chance(0.5)) gateway.edit(pick(...host.afterReload));
    gateway.start(run === runs && chance(0.8) ? 0 : skewed(pick(...skews)), pick(1, 1, 1, 2, 3));
    // A call just after the start, and often nothing more.
    if (chance(0.2)) {
      gateway.pass(300);
      gateway.call(random, pick(first, other), 'a');
    }
    const steps = Math.floor(random() * 7);
    for (let taken = 0; taken < steps; taken += 1) step();
    if (run === runs) break;
    const end = random();
    if (end < 0.4) gateway.end();
    else if (end < 0.9) gateway.crash();
    else {
      slack = slight;
      gateway.reboot({ marks: pick('none', 'all', 'file'), ledger: chance(0.5) });
    }
    const wasRight = machine.skew === 0;
    if (chance(0.5)) gateway.fillDisk(false);
    const pause = pick(second, 10 * second, 30 * second, 5 * minute, 20 * minute);
    gateway.pass(pause / 2);
    if (pause > 2 * toleratedGap && chance(0.3)) gateway.attempt(pick(first, other, tombstone), pause);
    gateway.pass(pause / 2);
    harm();
    if (chance(0.25) && wasRight) await judge(yesesOfStore);
  }
  gateway.pass(pick(second, minute, 9 * minute, 11 * minute, 25 * minute));
  // With a wrong clock, nobody knows the length of a period.
  gateway.setClock(0);
  // A gateway writes its ledger before it answers, and every five seconds. So it notices that the clock was set.
  gateway.ledger?.add([]);
  if (chance(0.3)) await judge(yesesOfStore);
  await judge(yesesOfGateway);
  await judge(yesesOfStore);
  gateway.remove();
  return { wrong, yeses };
}

it('no place says yes if the calls show that it is wrong', { timeout: 36_000_000 }, async () => {
  const folder = temporaryFolder();
  const template = coveredTemplate(folder, start);
  const wrong: string[] = [];
  const yeses = new Map<string, number>();
  const first = Number(process.env['SEED'] ?? 1);
  const histories = Number(process.env['HISTORIES'] ?? cases(50, 5_000));
  for (let seed = first; seed < first + histories; seed += 1) {
    const found = await play(seed, folder, template, seed % 2 === 0 ? severalApis : oneApi);
    wrong.push(...found.wrong);
    for (const { place } of found.yeses) yeses.set(place, (yeses.get(place) ?? 0) + 1);
    if (wrong.length > 0) break;
  }
  expect(wrong).toEqual([]);
  // A gateway that never says yes would be of no use.
  expect([...yeses.keys()].toSorted()).toEqual([
    'a brownout',
    'a freeze',
    'came-back',
    'can-retire',
    'digest: a client stopped',
    'digest: no request',
    'digest: not called',
    'digest: nothing blocks',
    'new-client',
    'plan',
    'plan --store',
    'status --wait',
    'the guard',
    'usage',
    'versions/me',
  ]);
});
