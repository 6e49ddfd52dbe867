import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** One import as it stands in a file; `to` is a path from the project's root, or a package's name. */
export interface Import {
  readonly from: string;
  readonly to: string;
  readonly relative: boolean;
  /** `import type`, or only `type` names: gone before the code runs. */
  readonly typeOnly: boolean;
}

const dynamic = /\bimport\('([^']+)'\)/g;
const statement = /^(?:import|export)\s+(?:([^'";]*?)\s+from\s+)?'([^']+)'/gm;

/** Every `.ts` file below `folder`, as paths from the project's root. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.parentPath.includes('node_modules'))
    .map((entry) => normalize(join(entry.parentPath, entry.name)))
    .sort();
}

export function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8');
  const stated = [...text.matchAll(statement)].map(([, names = '', specifier = '']) =>
    importOf(file, specifier, isTypeOnly(names)),
  );
  return [...stated, ...[...text.matchAll(dynamic)].map(([, specifier = '']) => importOf(file, specifier, false))];
}

function importOf(file: string, specifier: string, typeOnly: boolean): Import {
  const relative = specifier.startsWith('.');
  return { from: file, to: relative ? normalize(join(dirname(file), specifier)) : specifier, relative, typeOnly };
}

function isTypeOnly(names: string): boolean {
  if (/^type\s/.test(names)) return true;
  const braced = /^\{([^}]*)\}$/s.exec(names.trim())?.[1];
  return braced?.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type ')) ?? false;
}
