import { resolve } from 'node:path';
import type { Fault } from '../fault.ts';
import { faultIn } from './finding.ts';
import { mergeMaps } from './merge.ts';
import { child, itemsOf, type MapNode, type Node, textOf, textsOf } from './node.ts';
import type { ComposeFile, Reader } from './reader.ts';
import { envFile, variablesIn } from './variables.ts';

type Follow = (file: ComposeFile, trail: readonly string[]) => MapNode;

/** What a file includes, each entry as one map; nothing is fetched from other hosts. */
export function included(
  file: ComposeFile,
  reader: Reader,
  warnings: Fault[],
  trail: readonly string[],
  follow: Follow,
): readonly MapNode[] {
  return itemsOf(child(file.root, 'include')).flatMap((item) => {
    const paths = item.kind === 'map' ? itemsOf(child(item, 'path')) : [item];
    const roots = paths.flatMap((path) => {
      const name = textOf(path) ?? '';
      const absolute = resolve(file.folder, name);
      if (/^[a-z+]+:|^git@|\.git(?:#|$)/i.test(name)) {
        warnings.push(
          faultIn(path.at, ['include'], 'Files on other hosts are not followed.', 'Check them here as files.'),
        );
        return [];
      }
      if (trail.includes(absolute)) {
        reader.faults.push(faultIn(path.at, ['include'], 'This file includes itself in the end.', 'Break the circle.'));
        return [];
      }
      const inner = open(file, reader, item, name, path);
      return inner ? [follow(inner, [...trail, absolute])] : [];
    });
    const [first, ...others] = roots;
    return first ? [others.reduce((below, over) => mergeMaps(below, over), first)] : [];
  });
}

/** An included project has an `.env` of its own, and what is set around it goes over that. */
function open(file: ComposeFile, reader: Reader, item: Node, name: string, path: Node): ComposeFile | undefined {
  const folder = resolve(file.folder, textOf(child(item, 'project_directory')) ?? resolve(file.folder, name, '..'));
  const said = textsOf(child(item, 'env_file')).map((env) => envFile(resolve(file.folder, env)));
  const below = said.length > 0 ? Object.assign({}, ...said) : {};
  const variables = said.length > 0 ? { ...below, ...file.variables } : variablesIn(folder, file.variables);
  const inner = reader.readFrom(file, name, path.at, variables);
  return inner && { ...inner, folder };
}
