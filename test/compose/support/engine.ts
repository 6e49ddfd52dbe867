import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CleanupSteps } from './cleanup.ts';
import { install } from './install.ts';
import { createPrivateFolder, lock } from './lock.ts';
import { recordNetwork, restoreNetwork } from './network.ts';
import { removeData, removeLeftovers, startDaemon, stopDaemon } from './ownEngine.ts';
import { isInstalled, outputOf, succeeds } from './programs.ts';

/** A container engine. `env`: the variables with which its clients reach it. */
export interface Engine {
  readonly env: Record<string, string>;
  /** True if this run started it. Then nobody else has containers or images in it. */
  readonly startedHere: boolean;
}

/** Contains about 1 GB of images while the tests run. */
const folder = join(tmpdir(), 'version-gateway-engine');

/** Returns the running engine, or starts one and adds its stop to `cleanup`. A string is the reason why there is none. */
export async function findEngine(cleanup: CleanupSteps): Promise<Engine | string> {
  if (await succeeds('docker', ['ps']))
    return isInstalled('docker-compose') || (await succeeds('docker', ['compose', 'version']))
      ? { env: {}, startedHere: false }
      : 'Compose is not installed';
  if (process.getuid?.() !== 0) return 'no container engine is running, and only root can start one';
  createPrivateFolder(folder);
  cleanup.push(await lock(folder));
  const missing = ['dockerd', 'docker', 'docker-compose', 'debootstrap', 'iptables', 'ip'].filter(
    (program) => !isInstalled(program),
  );
  if (missing.length > 0) {
    if (!isInstalled('apt-get')) return `${missing.join(', ')} cannot be installed here: this is not Debian`;
    const failure = await install();
    if (failure !== undefined) return failure;
  }
  const env = await start(cleanup);
  return typeof env === 'string' ? env : { env, startedHere: true };
}

async function start(cleanup: CleanupSteps): Promise<Record<string, string> | string> {
  const network = join(folder, 'network.json');
  await recordNetwork(network);
  cleanup.push(() => restoreNetwork(network));
  // Without the images the next run must build them again, so developers may keep them.
  if (process.env['KEEP_TEST_IMAGES'] !== '1') cleanup.push(() => removeData(folder));
  cleanup.push(() => stopDaemon(folder));
  const env = await startDaemon(folder);
  if (typeof env === 'string') return env;
  await removeLeftovers((...args) => outputOf('docker', args, { ...process.env, ...env }));
  return env;
}
