import { resolve } from 'node:path';
import { child, itemsOf, type Spot, textOf } from './node.ts';
import type { Service } from './service.ts';

/** A path of the host that a container sees. */
export interface Mount {
  /** Absolute. */
  readonly source: string;
  readonly target: string;
  readonly at: Spot;
}

/** Bind mounts only: a named volume holds nothing that we could look at. */
export function mountsOf(service: Service, folders: ReadonlyMap<string, string>): readonly Mount[] {
  return itemsOf(child(service.node, 'volumes')).flatMap((item): Mount[] => {
    const [source, target = ''] =
      item.kind === 'map'
        ? [textOf(child(item, 'source')), textOf(child(item, 'target'))]
        : (textOf(item)?.split(':') ?? []);
    const isBind = source !== undefined && (/^[./~]/.test(source) || textOf(child(item, 'type')) === 'bind');
    return isBind ? [{ source: resolve(folders.get(item.at.file) ?? '.', source), target, at: item.at }] : [];
  });
}
