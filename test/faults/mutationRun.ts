import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { ConfigError } from '../../gateway/config/fault.ts';
import { loadSnapshot } from '../../gateway/config/load.ts';
import type { Snapshot } from '../../gateway/config/snapshot.ts';
import type { ReloadOutcome } from '../../gateway/operate/admin/adminApi.ts';
import { startGateway } from '../../gateway/process/runtime/gateway.ts';
import { Random } from '../support/random.ts';
import { mutate } from './mutate.ts';
import { watchdog } from './watchdog.ts';

/** The CPU time of loading one file. A file that needs more would let an edit block the gateway. */
const allowedMs = 1_000;

export interface MutationReport {
  readonly outcomes: Readonly<Record<ReloadOutcome['kind'], number>>;
  readonly slowestMs: number;
}

/**
 * Reloads a running gateway with `count` mutants of rich-routes.yaml. Fails with the number of the first mutant that breaks
 * it or that is neither loaded nor rejected with faults.
 */
export async function reloadMutants(seed: number, count: number): Promise<MutationReport> {
  const random = new Random(seed);
  const reportAlive = watchdog(`the gateway, with a mutant of seed ${seed},`);
  const valid = readFileSync(new URL('rich-routes.yaml', import.meta.url), 'latin1');
  const { gateway, write, loaded } = await start(valid);
  const outcomes = { reloaded: 0, incomplete: 0, unchanged: 0, faulty: 0, refused: 0 };
  let slowestMs = 0;
  for (let number = 0; number < count; number += 1) {
    const mutant = mutate(valid, random);
    reportAlive(number);
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
    write(withForce(valid, loaded(), number));
    expect(await gateway.reload('file'), `the valid file after ${name}`).toMatchObject({ kind: 'reloaded' });
    // Without the reasons, so that a mutant with the same meaning as the valid file is found to be unchanged.
    write(valid);
    await gateway.reload('file');
  }
  write(valid);
  expect(['reloaded', 'unchanged'], 'the valid file').toContain((await gateway.reload('file')).kind);
  expect(gateway.config.fingerprint).toBe(fingerprintOf(loaded()));
  return { outcomes, slowestMs };
}

type Loaded = Snapshot | { readonly error: unknown };

async function start(valid: string) {
  const folder = mkdtempSync(join(tmpdir(), 'mutations-'));
  const file = join(folder, 'routes.yaml');
  const write = (text: string): void => writeFileSync(file, text, 'latin1');
  for (const name of ['v1', 'v2']) {
    writeFileSync(join(folder, `${name}.yaml`), 'openapi: 3.1.0\npaths: \n  /a/{id}: {}\n  /b: {}\n');
  }
  write(valid);
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
    const error = 'error' in loaded ? loaded.error : 'no error';
    if (!(error instanceof ConfigError)) throw new Error(`${name} fails without a fault of the file`, { cause: error });
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
  if ('error' in loaded) throw new Error('the gateway serves a file that cannot be loaded', { cause: loaded.error });
  return loaded.fingerprint;
}

/** The valid file, with a reason that overrides the reload guard for every version that the mutant has announced. */
function withForce(valid: string, served: Loaded, number: number): string {
  const names = 'error' in served ? [] : served.sortedVersions.map(({ name }) => `/${name}: "mutant ${number}"`);
  return `${valid}guard: { force: { ${names.join(', ')} } }\n`;
}
