import { dirname, resolve } from 'node:path';
import type { Fault } from '../fault.ts';
import { extended, included, mergeMaps } from './combine.ts';
import type { Variables } from './interpolate.ts';
import { type ComposeEntry, child, entriesOf, type MapNode, mapOf, textOf } from './node.ts';
import { type ComposeFile, projectName, Reader, variablesIn } from './reader.ts';
import { brief, faultIn } from './rule.ts';
import { type Service, serviceOf } from './service.ts';

/** All that several Compose files say together. */
export interface Project {
  readonly name: string;
  /** The files that were named, as they were named. */
  readonly files: readonly string[];
  /** By the file's name in faults, for those that show the line. */
  readonly texts: ReadonlyMap<string, string>;
  /** Where the paths of each file begin. */
  readonly folders: ReadonlyMap<string, string>;
  readonly services: ReadonlyMap<string, Service>;
  /** Networks that belong to somebody else, who may have containers there. */
  readonly foreignNetworks: ReadonlySet<string>;
  readonly faults: readonly Fault[];
  /** Variables that are required and not set: of the rest of the project there is still much to say. */
  readonly missing: readonly Fault[];
  /** What is not followed, so that something may be missing. */
  readonly warnings: readonly Fault[];
}

/** Reads the files as `docker compose -f A -f B` does. @throws UnreadableFileError */
export function readProject(files: readonly string[], env: Variables, cwd: string): Project {
  const folder = dirname(resolve(cwd, files[0] ?? '.'));
  const variables = variablesIn(folder, env);
  const reader = new Reader(cwd);
  const warnings: Fault[] = [];
  const follow = (file: ComposeFile, trail: readonly string[]): MapNode => {
    const own = extended(file, reader);
    return included(file, reader, warnings, trail, follow).reduceRight((over, below) => mergeMaps(below, over), own);
  };
  const roots = files.flatMap((name) => {
    const file = reader.read(name, folder, variables);
    return file ? [follow(file, [resolve(cwd, name)])] : [];
  });
  const [first, ...others] = roots;
  const root = others.reduce((below, over) => mergeMaps(below, over), first ?? nothing(files[0] ?? ''));
  const name = projectName(textOf(child(root, 'name')), folder, variables);
  const active = new Set((variables['COMPOSE_PROFILES'] ?? '').split(',').map((profile) => profile.trim()));
  const circumstances = { project: name, variables, active, folders: reader.folders };
  const services = entriesOf(child(root, 'services')).map(([key, entry]) => {
    const invalid = /^[\w.-]+$/.test(key) ? undefined : 'Name it with letters, digits, dots, dashes and underscores.';
    if (invalid)
      reader.faults.push(faultIn(entry.key, ['services', key], `${brief(key)} is no name of a service.`, invalid));
    return [key, serviceOf(key, entry, circumstances)] as const;
  });
  return {
    name,
    files,
    texts: reader.texts,
    folders: reader.folders,
    services: new Map(services),
    foreignNetworks: new Set(
      entriesOf(child(root, 'networks'))
        .filter(isForeign)
        .map(([network]) => network),
    ),
    faults: reader.faults,
    missing: reader.missing,
    warnings,
  };
}

/** `external: true`, or the older `external: { name: … }`. */
function isForeign([, { value }]: readonly [string, ComposeEntry]): boolean {
  const external = child(value, 'external');
  return external?.kind === 'map' || textOf(external) === 'true';
}

function nothing(file: string): MapNode {
  return mapOf([], { file, line: 1, column: 1 });
}
