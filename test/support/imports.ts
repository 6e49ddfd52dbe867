import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** An import statement of a file. `to`: a path from the root of the project, or the name of a package. */
export interface Import {
  readonly from: string;
  readonly to: string;
  readonly relative: boolean;
  /** `import type`, or only names with `type`: removed at compile time. */
  readonly typeOnly: boolean;
  /** `import('…')`: loaded when it is reached. */
  readonly isDynamic: boolean;
}

const dynamicImport = /\bimport\('([^']+)'\)/g;
const threadEntry = /\bthreadFile\('([^']+)'\)/g;
const staticImport = /^(?:import|export)\s+(?:([^'";]*?)\s+from\s+)?'([^']+)'/gm;

/** Every `.ts` file below `folder`, as a path from the root of the project. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.parentPath.includes('node_modules'))
    .map((entry) => normalize(join(entry.parentPath, entry.name)))
    .sort();
}

export function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8');
  const imports = [...text.matchAll(staticImport)].map(([, names = '', specifier = '']) =>
    importOf(file, specifier, { typeOnly: isTypeOnly(names), isDynamic: false }),
  );
  return [
    ...imports,
    ...[...text.matchAll(dynamicImport)].map(([, specifier = '']) =>
      importOf(file, specifier, { typeOnly: false, isDynamic: true }),
    ),
  ];
}

/** The entry points of the threads that a file starts. They import the types of its messages, so the two form no chain. */
export function threadEntriesOf(file: string): Import[] {
  return [...readFileSync(file, 'utf8').matchAll(threadEntry)].map(([, entry = '']) => {
    return { from: file, to: `gateway/${entry}.ts`, relative: true, typeOnly: false, isDynamic: true };
  });
}

function importOf(file: string, specifier: string, kind: Pick<Import, 'typeOnly' | 'isDynamic'>): Import {
  const relative = specifier.startsWith('.');
  return { from: file, to: relative ? normalize(join(dirname(file), specifier)) : specifier, relative, ...kind };
}

function isTypeOnly(names: string): boolean {
  if (/^type\s/.test(names)) return true;
  const braced = /^\{([^}]*)\}$/s.exec(names.trim())?.[1];
  return braced?.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type ')) ?? false;
}
