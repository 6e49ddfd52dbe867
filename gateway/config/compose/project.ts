import { dirname, resolve } from 'node:path';
import { shortened } from '../../shared/text.ts';
import type { Fault } from '../fault.ts';
import type { Variables } from './interpolate.ts';
import {
  type ComposeEntry,
  type ComposeNode,
  child,
  faultIn,
  listed,
  listItems,
  type MapNode,
  mapEntries,
  mapOf,
  mergeMaps,
  scalarText,
  textsOf,
} from './node.ts';
import { type ComposeFile, ComposeReader, projectName, readEnvFile, variablesIn } from './reader.ts';
import { type Service, serviceOf } from './service.ts';

/** The merged project of several Compose files. */
export interface Project {
  readonly name: string;
  /** The names of the files, as given. */
  readonly files: readonly string[];
  /** `Fault.file` → the text of the file, to show the line of a fault. */
  readonly texts: ReadonlyMap<string, string>;
  /** `Fault.file` → the folder that relative paths in the file are resolved from. */
  readonly folders: ReadonlyMap<string, string>;
  readonly services: ReadonlyMap<string, Service>;
  /** External networks. Containers of other projects may be on them. */
  readonly externalNetworks: ReadonlySet<string>;
  readonly faults: readonly Fault[];
  /** A fault for each required variable that is not set. The rest of the project is still checked. */
  readonly missingVariables: readonly Fault[];
  /** Parts that are not read, such as an include from another host. */
  readonly warnings: readonly Fault[];
}

/** Reads the files as `docker compose -f A -f B` does. @throws UnreadableFileError */
export function readProject(files: readonly string[], env: Variables, cwd: string): Project {
  const folder = dirname(resolve(cwd, files[0] ?? '.'));
  const variables = variablesIn(folder, env);
  const reader = new ComposeReader(cwd);
  const warnings: Fault[] = [];
  const resolveFile = (file: ComposeFile, trail: readonly string[]): MapNode => {
    const extended = resolveExtends(file, reader);
    const included = readIncludes(file, reader, warnings, trail, resolveFile);
    // Each included file overrides the ones before it, and the file itself overrides all of them.
    return included.reduceRight((override, base) => mergeMaps(base, override), extended);
  };
  const roots = files.flatMap((name) => {
    const file = reader.read(name, folder, variables);
    return file ? [resolveFile(file, [resolve(cwd, name)])] : [];
  });
  const [first, ...others] = roots;
  const root = others.reduce((base, override) => mergeMaps(base, override), first ?? emptyMap(files[0] ?? ''));
  const name = projectName(scalarText(child(root, 'name')), folder, variables);
  const activeProfiles = new Set((variables['COMPOSE_PROFILES'] ?? '').split(',').map((profile) => profile.trim()));
  const context = { project: name, variables, activeProfiles, folders: reader.folders };
  const services = mapEntries(child(root, 'services')).map(([key, entry]) => {
    if (!/^[\w.-]+$/.test(key)) {
      const message = `${shortened(key)} is not a valid name of a service.`;
      const remedy = 'Use letters, digits, dots, dashes and underscores.';
      reader.faults.push(faultIn(entry.key, ['services', key], message, remedy));
    }
    return [key, serviceOf(key, entry, context)] as const;
  });
  return {
    name,
    files,
    texts: reader.texts,
    folders: reader.folders,
    services: new Map(services),
    externalNetworks: new Set(
      mapEntries(child(root, 'networks'))
        .filter(isExternal)
        .map(([network]) => network),
    ),
    faults: reader.faults,
    missingVariables: reader.missingVariables,
    warnings,
  };
}

/** `external: true`, or the older `external: { name: … }`. */
function isExternal([, { value }]: readonly [string, ComposeEntry]): boolean {
  const external = child(value, 'external');
  return external?.kind === 'map' || scalarText(external) === 'true';
}

function emptyMap(file: string): MapNode {
  return mapOf([], { file, line: 1, column: 1 });
}

/** The file with every `extends` resolved. */
function resolveExtends(file: ComposeFile, reader: ComposeReader): MapNode {
  const services = mapEntries(child(file.root, 'services')).map(([name, entry]): [string, ComposeEntry] => [
    name,
    entry.value.kind === 'map' ? { ...entry, value: extend(name, entry.value, file, reader, []) } : entry,
  ]);
  // Without `services`, an empty map is added at the position of the file.
  const { key, value } = file.root.entries.get('services') ?? { key: file.root.at, value: file.root };
  return mapOf(
    [...file.root.entries, ['services', { key, value: mapOf(services, value.at, value.tag) }]],
    file.root.at,
  );
}

/** The service with its `extends` resolved. `trail`: the references that led to this service, each as folder, file and name. */
function extend(
  name: string,
  service: MapNode,
  file: ComposeFile,
  reader: ComposeReader,
  trail: readonly string[],
): MapNode {
  const entry = service.entries.get('extends');
  if (!entry) return service;
  const path = ['services', name, 'extends'];
  const baseName = scalarText(entry.value) ?? scalarText(child(entry.value, 'service')) ?? '';
  const otherFile = scalarText(child(entry.value, 'file'));
  const baseFile = otherFile === undefined ? file : reader.readFrom(file, otherFile, entry.key);
  // The faults of the other file are already reported.
  if (!baseFile) return service;
  const reference = `${baseFile.folder}:${otherFile ?? ''}:${baseName}`;
  const services = child(baseFile.root, 'services');
  const base = child(services, baseName);
  // The service with which the search begins is not in the trail.
  if (trail.includes(reference) || (trail.length === 0 && baseFile === file && baseName === name)) {
    reader.faults.push(
      faultIn(
        entry.key,
        path,
        'This service extends itself, directly or through others.',
        'Remove one of the references.',
      ),
    );
    return service;
  }
  if (base?.kind !== 'map') {
    const remedy = `Name one of ${listed(mapEntries(services).map(([other]) => other))}.`;
    reader.faults.push(
      faultIn(entry.key, path, `The service ${baseName}, which this one extends, does not exist.`, remedy, baseName),
    );
    return service;
  }
  const resolvedBase = extend(baseName, base, baseFile, reader, [...trail, reference]);
  // Faults name the position of the extending service.
  return { ...mergeMaps(resolvedBase, service), at: service.at };
}

/** Resolves every `extends` and `include` of a file. `trail`: the paths of the file and of those that include it. */
type ResolveFile = (file: ComposeFile, trail: readonly string[]) => MapNode;

/** One map for each entry of `include`, which may name several files. Files of other hosts are not fetched. */
function readIncludes(
  file: ComposeFile,
  reader: ComposeReader,
  warnings: Fault[],
  trail: readonly string[],
  resolveFile: ResolveFile,
): readonly MapNode[] {
  return listItems(child(file.root, 'include')).flatMap((item) => {
    const paths = item.kind === 'map' ? listItems(child(item, 'path')) : [item];
    const roots = paths.flatMap((path) => {
      const name = scalarText(path) ?? '';
      const absolute = resolve(file.folder, name);
      if (/^[a-z+]+:|^git@|\.git(?:#|$)/i.test(name)) {
        warnings.push(
          faultIn(path.at, ['include'], 'Files of other hosts are not read.', 'Check local copies of them.'),
        );
        return [];
      }
      if (trail.includes(absolute)) {
        reader.faults.push(
          faultIn(
            path.at,
            ['include'],
            'This file includes itself, directly or through others.',
            'Remove one of the references.',
          ),
        );
        return [];
      }
      const included = readIncluded(file, reader, item, name, path);
      return included ? [resolveFile(included, [...trail, absolute])] : [];
    });
    const [first, ...others] = roots;
    return first ? [others.reduce((base, override) => mergeMaps(base, override), first)] : [];
  });
}

/** Reads one file of an `include`. The included project has its own `.env`. The variables of the including project override it. */
function readIncluded(
  file: ComposeFile,
  reader: ComposeReader,
  item: ComposeNode,
  name: string,
  path: ComposeNode,
): ComposeFile | undefined {
  const folder = resolve(file.folder, scalarText(child(item, 'project_directory')) ?? resolve(file.folder, name, '..'));
  const envFiles = textsOf(child(item, 'env_file')).map((env) => readEnvFile(resolve(file.folder, env)));
  const fromEnvFiles = envFiles.length > 0 ? Object.assign({}, ...envFiles) : {};
  const variables = envFiles.length > 0 ? { ...fromEnvFiles, ...file.variables } : variablesIn(folder, file.variables);
  const included = reader.readFrom(file, name, path.at, variables);
  return included && { ...included, folder };
}
