import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import type { IPodTemplateSpec } from 'kubernetes-models/v1/PodTemplateSpec';
import { temporaryFolder } from '../../config/temporary.ts';

type Files = Readonly<Record<string, string>>;

/**
 * Writes the ConfigMaps of a pod below a temporary folder, as the kubelet does: the files are in a hidden folder, `..data`
 * links to it, and each name links to the file in `..data`. Returns the folder that stands for the root of the container.
 */
export function mountConfigMaps(pod: IPodTemplateSpec | undefined, maps: ReadonlyMap<string, Files>): string {
  const root = temporaryFolder();
  const { containers = [], volumes = [] } = pod?.spec ?? {};
  for (const { name, mountPath } of containers[0]?.volumeMounts ?? []) {
    const folder = join(root, mountPath);
    mkdirSync(folder, { recursive: true });
    const map = volumes.find((volume) => volume.name === name)?.configMap?.name;
    if (map === undefined) continue;
    const files = maps.get(map);
    if (!files) throw new Error(`the pod mounts the ConfigMap ${map}, which does not exist`);
    swapFiles(folder, files);
    for (const file of Object.keys(files)) symlinkSync(join('..data', file), join(folder, file));
  }
  return root;
}

/** Replaces the files of a mounted ConfigMap in one step: the kubelet renames a new link over `..data`. */
export function swapFiles(folder: string, files: Files): void {
  const data = join(folder, '..data');
  const former = existsSync(data) ? join(folder, readlinkSync(data)) : undefined;
  const next = mkdtempSync(join(folder, '..2026_11_22_10_00_00.'));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(next, file), text);
  symlinkSync(basename(next), `${data}_tmp`);
  renameSync(`${data}_tmp`, data);
  if (former !== undefined) rmSync(former, { recursive: true });
}
