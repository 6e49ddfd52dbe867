import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../config/temporary.ts';
import { runIn } from '../process/cli/io.ts';
import type { CountedGateway } from './countedGateway.ts';

/** A place that answers whether a version may go. */
interface Place {
  readonly name: string;
  /** Whether it answers without a gateway. */
  readonly needsNoGateway?: boolean;
  /** Whether it only speaks of requests that the backend has answered. */
  readonly ofAnswered?: boolean;
  saysYes(version: string, gateway: CountedGateway): Promise<boolean>;
}

const places: readonly Place[] = [
  {
    name: 'can-retire',
    saysYes: async (version, gateway) => (await command(gateway, 'can-retire', version)).code === 0,
  },
  {
    name: 'plan',
    ofAnswered: true,
    saysYes: async (version, gateway) => (await command(gateway, 'plan', '--retire', version)).code === 0,
  },
  {
    name: 'check --against-running',
    saysYes: async (version, gateway) => {
      const candidate = join(temporaryFolder(), 'candidate.yaml');
      writeFileSync(candidate, gateway.withRetired(version));
      return (await command(gateway, 'check', candidate, '--against-running')).code === 0;
    },
  },
  { name: 'the guard', saysYes: (version, gateway) => gateway.guardAccepts(version) },
  { name: 'the dashboard', saysYes: async (version, gateway) => (await gateway.verdict(version)).answer === 'yes' },
  {
    name: 'digest',
    saysYes: async (version, gateway) => {
      const { data } = await gateway.digest();
      return data.versions.some((one) => one.version === version && one.blocked_by.length === 0);
    },
  },
  {
    name: 'plan --store',
    needsNoGateway: true,
    ofAnswered: true,
    saysYes: async (version, { store, file }) =>
      (await runIn(process.cwd(), ['plan', '--retire', version, '--store', store, '--config', file])).code === 0,
  },
];

export interface Yes extends Pick<Place, 'name' | 'ofAnswered'> {
  /** Just before the place was asked, epoch ms. */
  readonly askedAt: number;
}

/** The places that say yes: nobody has called the version within the quiet period. */
export async function yesesFor(version: string, gateway: CountedGateway): Promise<readonly Yes[]> {
  const yeses: Yes[] = [];
  for (const place of places) {
    if (!gateway.isRunning && place.needsNoGateway !== true) continue;
    const askedAt = Date.now();
    // A gateway that is stopped or ends meanwhile does not answer, which is no yes.
    if (await place.saysYes(version, gateway).catch(() => false)) yeses.push({ ...place, askedAt });
  }
  return yeses;
}

/** Whether `status --wait` says that the backend of a retired version may be stopped. */
export async function isSafeToStop(version: string, gateway: CountedGateway): Promise<boolean> {
  return (await command(gateway, 'status', '--wait', version, '--timeout', '1ms')).code === 0;
}

function command(gateway: CountedGateway, ...args: readonly string[]) {
  return runIn(process.cwd(), [...args, '--admin', gateway.admin]);
}
