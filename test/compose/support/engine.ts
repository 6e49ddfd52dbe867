import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ending } from './ending.ts';
import { install } from './install.ts';
import { lock, makePrivate } from './lock.ts';
import { recordNetwork, restoreNetwork } from './network.ts';
import { clear, removeData, startDaemon, stopDaemon } from './ownEngine.ts';
import { isInstalled, outputOf, succeeds } from './programs.ts';

/** A container engine, and how to reach it. */
export interface Engine {
  readonly env: Record<string, string>;
  /** Started here: what is in it is nobody else's. */
  readonly isOurs: boolean;
}

/** Holds about 1 GB of images while the tests run. */
const folder = join(tmpdir(), 'version-gateway-engine');

/** The engine at hand, else one of our own, whose end goes to `ending`. A text says why there is none. */
export async function findEngine(ending: Ending): Promise<Engine | string> {
  if (await succeeds('docker', ['ps']))
    return isInstalled('docker-compose') || (await succeeds('docker', ['compose', 'version']))
      ? { env: {}, isOurs: false }
      : 'there is no Compose';
  if (process.getuid?.() !== 0) return 'no container engine answers, and only root can start one';
  makePrivate(folder);
  ending.push(await lock(folder));
  const missing = ['dockerd', 'docker', 'docker-compose', 'debootstrap', 'iptables', 'ip'].filter(
    (one) => !isInstalled(one),
  );
  if (missing.length > 0) {
    if (!isInstalled('apt-get')) return `${missing.join(', ')} cannot be installed here: this is not Debian`;
    const failure = await install();
    if (failure !== undefined) return failure;
  }
  const env = await start(ending);
  return typeof env === 'string' ? env : { env, isOurs: true };
}

async function start(ending: Ending): Promise<Record<string, string> | string> {
  const network = join(folder, 'network.json');
  await recordNetwork(network);
  ending.push(() => restoreNetwork(network));
  // The next run builds the images again; a developer who runs the tests often keeps them.
  if (process.env['KEEP_TEST_IMAGES'] !== '1') ending.push(() => removeData(folder));
  ending.push(() => stopDaemon(folder));
  const env = await startDaemon(folder);
  if (typeof env === 'string') return env;
  await clear((...args) => outputOf('docker', args, { ...process.env, ...env }));
  return env;
}
