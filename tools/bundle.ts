import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { type OutputChunk, rolldown } from 'rolldown';
import { threads } from '../gateway/shared/packageFiles.ts';

/** The packages that become part of dist/, because every start loads them. Unused modules and functions are left out. */
const bundled = ['commander', 'yaml', 'zod'];
const entries = ['main', 'index', 'express', ...threads];

/**
 * Writes the modules of the gateway into a few files of `folder`, as in dist/. With hundreds of small files, a start would spend a
 * third of its CPU time finding and compiling them. The current folder must be the root of the project.
 * @param more further files to start from, by name
 */
export async function bundle(folder: string, more: Readonly<Record<string, string>> = {}): Promise<void> {
  cpSync('gateway/operate/admin/dashboard/assets', join(folder, 'operate/admin/dashboard/assets'), { recursive: true });
  cpSync('gateway/operate/admin/adminApi.json', join(folder, 'operate/admin/adminApi.json'));
  const build = await rolldown({
    input: { ...Object.fromEntries(entries.map((entry) => [entry, `gateway/${entry}.ts`])), ...more },
    platform: 'node',
    // Modules of Node, and packages that are not `bundled`, stay imports. Their ids begin with a name. Ids of files begin with a dot or a
    // slash.
    external: (id) => /^[@\w]/.test(id) && !bundled.includes(id.split('/')[0] ?? ''),
    treeshake: { moduleSideEffects: (id) => packageOf(id) === undefined },
    onLog: (_level, log) => {
      throw new Error(log.message);
    },
  });
  const { output } = await build.write({
    dir: folder,
    format: 'esm',
    chunkFileNames: 'chunks/[name]-[hash].js',
    comments: { jsdoc: false },
  });
  const chunks = output.filter((file): file is OutputChunk => file.type === 'chunk');
  if (!chunks.some(({ fileName }) => fileName.startsWith('chunks/packageFiles-')))
    throw new Error(
      'packageFiles.ts is not in a file of its own in dist/chunks/: the paths that it returns would be wrong.',
    );
  for (const { fileName, code } of chunks) writeFileSync(join(folder, fileName), asciiOnly(code));
  const joinedPackages = new Set(chunks.flatMap(({ moduleIds }) => moduleIds.flatMap((id) => packageOf(id) ?? [])));
  writeFileSync(join(folder, 'LICENSES.txt'), [...joinedPackages].sort().map(licenceOf).join('\n'));
}

/**
 * Escapes all characters outside ASCII. V8 keeps the source of each module in memory, and takes two bytes for every character if
 * a single one is not in Latin-1.
 */
function asciiOnly(code: string): string {
  return code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The name of the package in node_modules that contains a module. */
function packageOf(id: string): string | undefined {
  return id.split(`${sep}node_modules${sep}`).at(1)?.split(sep)[0];
}

/** The notice that the licences of joined packages require. */
function licenceOf(name: string): string {
  const folder = join('node_modules', name);
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  if (file === undefined) throw new Error(`${name} has no licence.`);
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  return `${name} ${version}\n\n${readFileSync(join(folder, file), 'utf8')}`;
}
