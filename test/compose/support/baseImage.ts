import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Ending } from './ending.ts';
import type { Engine } from './engine.ts';
import { isInstalled, outputOf, succeeds } from './programs.ts';

const certificates = 'etc/ssl/certs/ca-certificates.crt';
const mark = 'version-gateway.stand-in';

/**
 * Sees to it that the engine has the image of the Dockerfiles' FROM. Where it cannot be pulled, a stand-in gets its name:
 * the same Debian, and the Node that this project pins. Out of a foreign engine it is taken again at the end.
 */
export async function provideBaseImage({ env, isOurs }: Engine, ending: Ending): Promise<void> {
  const name = baseName();
  const docker = (...args: string[]): Promise<string> => outputOf('docker', args, { ...process.env, ...env }, 120);
  const node = nodePackage();
  const known = await docker('image', 'inspect', name, '--format', `{{index .Config.Labels "${mark}"}}`).catch(
    () => undefined,
  );
  const isStale = known !== undefined && known.trim() !== '' && known.trim() !== node.version;
  if (known !== undefined && !isStale) return;
  if (!isStale && (await succeeds('docker', ['pull', '--quiet', name], { ...process.env, ...env }, 30))) return;
  if (process.getuid?.() !== 0 || !isInstalled('debootstrap'))
    throw new Error(`${name} can be neither pulled nor made here`);
  console.log(`${name} cannot be pulled: a stand-in is made from Debian and Node ${node.version}`);
  const folder = mkdtempSync(join(tmpdir(), 'base-image-'));
  try {
    const root = join(folder, 'root');
    await fill(root, node.folder);
    if (isOurs) await addSettings(root);
    const archive = join(folder, 'root.tar');
    await outputOf('tar', ['-C', root, '-cf', archive, '.'], process.env, 120);
    const trust = isOurs ? [`ENV NODE_EXTRA_CA_CERTS=/${certificates}`] : [];
    const changes = [`LABEL ${mark}=${node.version}`, ...trust, 'CMD ["node"]'];
    await docker('import', ...changes.flatMap((one) => ['--change', one]), archive, name);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  if (!isOurs) ending.push(() => docker('rmi', name));
}

/** What the Dockerfiles say. */
function baseName(): string {
  const name = /^FROM (\S+)/m.exec(readFileSync('gateway/Dockerfile', 'utf8'))?.[1];
  if (name === undefined) throw new Error('gateway/Dockerfile has no FROM');
  return name;
}

function nodePackage(): { folder: string; version: string } {
  const file = createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/package.json`);
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
  return { folder: dirname(file), version };
}

async function fill(root: string, node: string): Promise<void> {
  const debian = ['--variant=minbase', '--include=ca-certificates,libatomic1', 'bookworm', root];
  await outputOf('debootstrap', debian, process.env, 300);
  for (const cache of ['var/cache/apt/archives', 'var/lib/apt/lists', 'usr/share/doc', 'usr/share/man'])
    rmSync(join(root, cache), { recursive: true, force: true });
  await outputOf('chroot', [root, 'useradd', '--uid', '1000', '--create-home', '--user-group', 'node']);
  const local = join(root, 'usr', 'local');
  mkdirSync(join(local, 'bin'), { recursive: true });
  cpSync(join(node, 'bin', 'node'), join(local, 'bin', 'node'));
  const npm = (await outputOf('npm', ['--version'])).trim();
  await outputOf('npm', ['install', '--global', '--prefix', local, `npm@${npm}`], process.env, 120);
}

/** Whom this machine trusts, and how it reaches the registry: nothing for an engine that others use. */
async function addSettings(root: string): Promise<void> {
  copyFileSync(`/${certificates}`, join(root, certificates));
  const settings = ['registry', 'proxy', 'https-proxy', 'noproxy'];
  const values = await Promise.all(settings.map((key) => outputOf('npm', ['config', 'get', key])));
  const lines = settings.map((key, index) => `${key}=${values[index]?.trim()}`);
  const folder = join(root, 'usr', 'local', 'etc');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'npmrc'), lines.filter((line) => !/=(?:null|undefined)?$/.test(line)).join('\n'));
}
