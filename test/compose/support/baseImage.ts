import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { CleanupSteps } from './cleanup.ts';
import type { Engine } from './engine.ts';
import { isInstalled, outputOf, succeeds } from './programs.ts';

const certificates = 'etc/ssl/certs/ca-certificates.crt';
/** Marks an image that this file has built. Its value is the Node version. */
const label = 'version-gateway.stand-in';

/**
 * Pulls the base image of the Dockerfiles. If that fails, builds a substitute with the same name from the same Debian and
 * the Node version that this project pins. A substitute is removed at the end of the run, unless the run started the engine.
 */
export async function provideBaseImage({ env, startedHere }: Engine, cleanup: CleanupSteps): Promise<void> {
  const name = baseName();
  const docker = (...args: string[]): Promise<string> => outputOf('docker', args, { ...process.env, ...env });
  const node = nodePackage();
  const known = await docker('image', 'inspect', name, '--format', `{{index .Config.Labels "${label}"}}`).catch(
    () => undefined,
  );
  const isOutdated = known !== undefined && known.trim() !== '' && known.trim() !== node.version;
  if (known !== undefined && !isOutdated) return;
  if (!isOutdated && (await succeeds('docker', ['pull', '--quiet', name], { ...process.env, ...env }, 30))) return;
  if (process.getuid?.() !== 0 || !isInstalled('debootstrap'))
    throw new Error(`${name} cannot be pulled, and only root with debootstrap can build a substitute`);
  console.log(`${name} cannot be pulled: building a substitute from Debian and Node ${node.version}`);
  const folder = mkdtempSync(join(tmpdir(), 'base-image-'));
  try {
    const root = join(folder, 'root');
    await createRoot(root, node.folder);
    if (startedHere) await addSettings(root);
    const archive = join(folder, 'root.tar');
    await outputOf('tar', ['-C', root, '-cf', archive, '.']);
    const caCertificates = startedHere ? [`ENV NODE_EXTRA_CA_CERTS=/${certificates}`] : [];
    const changes = [`LABEL ${label}=${node.version}`, ...caCertificates, 'CMD ["node"]'];
    await docker('import', ...changes.flatMap((change) => ['--change', change]), archive, name);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  if (!startedHere) cleanup.push(() => docker('rmi', name));
}

/** The FROM of the Dockerfiles. */
export function baseName(): string {
  const name = /^FROM (\S+)/m.exec(readFileSync('gateway/Dockerfile', 'utf8'))?.[1];
  if (name === undefined) throw new Error('gateway/Dockerfile has no FROM');
  return name;
}

function nodePackage(): { folder: string; version: string } {
  const file = createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/package.json`);
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
  return { folder: dirname(file), version };
}

async function createRoot(root: string, node: string): Promise<void> {
  const debian = ['--variant=minbase', '--include=ca-certificates,libatomic1', 'bookworm', root];
  await outputOf('debootstrap', debian);
  for (const cache of ['var/cache/apt/archives', 'var/lib/apt/lists', 'usr/share/doc', 'usr/share/man'])
    rmSync(join(root, cache), { recursive: true, force: true });
  await outputOf('chroot', [root, 'useradd', '--uid', '1000', '--create-home', '--user-group', 'node']);
  const local = join(root, 'usr', 'local');
  mkdirSync(join(local, 'bin'), { recursive: true });
  cpSync(join(node, 'bin', 'node'), join(local, 'bin', 'node'));
  const npm = (await outputOf('npm', ['--version'])).trim();
  await outputOf('npm', ['install', '--global', '--prefix', local, `npm@${npm}`]);
}

/** Copies the CA certificates and npm settings of this machine. Not for an engine that others use. */
async function addSettings(root: string): Promise<void> {
  copyFileSync(`/${certificates}`, join(root, certificates));
  const settings = ['registry', 'proxy', 'https-proxy', 'noproxy'];
  const values = await Promise.all(settings.map((key) => outputOf('npm', ['config', 'get', key])));
  const lines = settings.map((key, index) => `${key}=${values[index]?.trim()}`);
  const folder = join(root, 'usr', 'local', 'etc');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'npmrc'), lines.filter((line) => !/=(?:null|undefined)?$/.test(line)).join('\n'));
}
