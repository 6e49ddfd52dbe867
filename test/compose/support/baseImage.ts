import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Engine } from './engine.ts';
import { isInstalled, outputOf, succeeds } from './programs.ts';

const certificates = 'etc/ssl/certs/ca-certificates.crt';
const mark = 'version-gateway.stand-in';

/**
 * Sees to it that the engine has the image of the Dockerfiles' FROM. Where it cannot be pulled, a stand-in gets its name:
 * the same Debian, and the Node that this project pins. The returned function takes a stand-in out of a foreign engine.
 */
export async function provideBaseImage({ env, isOurs }: Engine): Promise<() => Promise<void>> {
  const name = baseName();
  const docker = (...args: string[]): Promise<string> => outputOf('docker', args, { ...process.env, ...env });
  const node = nodePackage();
  const known = await docker('image', 'inspect', name, '--format', `{{index .Config.Labels "${mark}"}}`).catch(
    () => undefined,
  );
  const isStale = known !== undefined && known.trim() !== '' && known.trim() !== node.version;
  if (known !== undefined && !isStale) return async () => {};
  if (!isStale && (await succeeds('docker', ['pull', '--quiet', name], { ...process.env, ...env })))
    return async () => {};
  if (process.getuid?.() !== 0 || !isInstalled('debootstrap'))
    throw new Error(`${name} can be neither pulled nor made here`);
  console.log(`${name} cannot be pulled: a stand-in is made from Debian and Node ${node.version}`);
  const folder = mkdtempSync(join(tmpdir(), 'base-image-'));
  try {
    await fill(folder, node.folder);
    const archive = join(folder, 'root.tar');
    await outputOf('tar', ['-C', join(folder, 'root'), '-cf', archive, '.']);
    const changes = [`LABEL ${mark}=${node.version}`, `ENV NODE_EXTRA_CA_CERTS=/${certificates}`, 'CMD ["node"]'];
    await docker('import', ...changes.flatMap((one) => ['--change', one]), archive, name);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return async () => {
    if (!isOurs) await docker('rmi', name);
  };
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

async function fill(folder: string, node: string): Promise<void> {
  const root = join(folder, 'root');
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
  // Whom this machine trusts, and how it reaches the registry.
  copyFileSync(`/${certificates}`, join(root, certificates));
  const settings = ['registry', 'proxy', 'https-proxy', 'noproxy'];
  const values = await Promise.all(settings.map((key) => outputOf('npm', ['config', 'get', key])));
  const lines = settings.map((key, index) => `${key}=${values[index]?.trim()}`);
  mkdirSync(join(local, 'etc'), { recursive: true });
  writeFileSync(join(local, 'etc', 'npmrc'), lines.filter((line) => !/=(?:null|undefined)?$/.test(line)).join('\n'));
}
