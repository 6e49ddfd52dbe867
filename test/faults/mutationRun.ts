import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { ConfigError } from '../../gateway/config/fault.ts';
import { loadSnapshot } from '../../gateway/config/load.ts';
import type { Snapshot } from '../../gateway/config/snapshot.ts';
import { startGateway } from '../../gateway/runtime/gateway.ts';
import type { ReloadOutcome } from '../../gateway/runtime/reload.ts';
import { mutate } from './mutate.ts';
import { Random } from './random.ts';
import { watchdog } from './watchdog.ts';

/** CPU time that one file may take; anything near it is a way to stop the gateway by an edit. */
const allowedMs = 1_000;

export interface MutationReport {
  readonly outcomes: Readonly<Record<ReloadOutcome['kind'], number>>;
  readonly slowestMs: number;
}

/** Lets a running gateway read `count` mutants of a rich routes.yaml; fails with the number of the first that does harm. */
export async function readMutants(seed: number, count: number): Promise<MutationReport> {
  const random = new Random(seed);
  const alive = watchdog(`the gateway, by seed ${seed} of routes.yaml,`);
  const sound = readFileSync(new URL('rich-routes.yaml', import.meta.url), 'latin1');
  const { gateway, write, loaded } = await start(sound);
  const outcomes = { reloaded: 0, incomplete: 0, unchanged: 0, faulty: 0, refused: 0 };
  let slowestMs = 0;
  for (let number = 0; number < count; number += 1) {
    const mutant = mutate(sound, random);
    alive(number);
    write(mutant);
    const before = gateway.config;
    const cpuBefore = process.threadCpuUsage();
    const outcome = await gateway.reload('file');
    const { user, system } = process.threadCpuUsage(cpuBefore);
    slowestMs = Math.max(slowestMs, (user + system) / 1000);
    outcomes[outcome.kind] += 1;
    const name = `mutant ${number} of seed ${seed}`;
    expect((user + system) / 1000, `${name}: ms of CPU`).toBeLessThan(allowedMs);
    check(outcome, loaded(), name, before.fingerprint, gateway.config.fingerprint);
    if (outcome.kind !== 'reloaded') {
      expect(gateway.config.generation, name).toBe(before.generation);
      continue;
    }
    write(forced(sound, loaded(), number));
    expect(await gateway.reload('file'), `the sound file after ${name}`).toMatchObject({ kind: 'reloaded' });
    // Without the reasons: or a mutant that means the same as the sound file would not be found to.
    write(sound);
    await gateway.reload('file');
  }
  write(sound);
  expect(['reloaded', 'unchanged'], 'the sound file').toContain((await gateway.reload('file')).kind);
  expect(gateway.config.fingerprint).toBe(fingerprintOf(loaded()));
  return { outcomes, slowestMs };
}

type Loaded = Snapshot | { readonly error: unknown };

async function start(sound: string) {
  const folder = mkdtempSync(join(tmpdir(), 'mutations-'));
  const file = join(folder, 'routes.yaml');
  const write = (text: string): void => writeFileSync(file, text, 'latin1');
  for (const name of ['v1', 'v2']) {
    writeFileSync(join(folder, `${name}.yaml`), 'openapi: 3.1.0\npaths: \n  /a/{id}: {}\n  /b: {}\n');
  }
  write(sound);
  let last: Loaded = loadSnapshot(file);
  const gateway = await startGateway(last, {
    load: () => {
      try {
        last = loadSnapshot(file);
        return last;
      } catch (error) {
        last = { error };
        throw error;
      }
    },
  });
  onTestFinished(async () => {
    await gateway.close();
    rmSync(folder, { recursive: true, maxRetries: 10 });
  });
  return { gateway, write, loaded: () => last };
}

function check(outcome: ReloadOutcome, loaded: Loaded, name: string, before: string, after: string): void {
  if (outcome.kind === 'faulty') {
    const error = 'error' in loaded ? loaded.error : 'no error at all';
    if (!(error instanceof ConfigError)) throw new Error(`${name} ends in no fault of the file`, { cause: error });
    expect(outcome.faults.length, name).toBeGreaterThan(0);
    for (const fault of outcome.faults) expect(fault, name).toMatch(/routes\.yaml:[1-9]\d*:[1-9]\d*[ \n]/);
    for (const fault of outcome.faults) expect(fault, name).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f]|\[object |undefined/);
    expect(after, name).toBe(before);
  } else if (outcome.kind === 'reloaded') {
    expect(after, name).toBe(fingerprintOf(loaded));
    expect(after, name).not.toBe(before);
  } else {
    expect(after, name).toBe(before);
  }
}

function fingerprintOf(loaded: Loaded): string {
  if ('error' in loaded) throw new Error('what cannot be loaded is served', { cause: loaded.error });
  return loaded.fingerprint;
}

/** The sound file with a new reason for everything that a mutant may have promised. */
function forced(sound: string, served: Loaded, number: number): string {
  const names = 'error' in served ? [] : served.byMajor.map(({ name }) => `/${name}: "mutant ${number}"`);
  return `${sound}guard: { force: { ${names.join(', ')} } }\n`;
}
