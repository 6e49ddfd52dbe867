import { findInJson } from './jsonPositions.ts';
import type { ContractFile, ContractPlace } from './located.ts';
import { positionsAt, type TextPosition } from './textPositions.ts';
import { wantedTree } from './wanted.ts';
import { findInYaml } from './yamlPositions.ts';

/**
 * Where places of a file stand in its text: an entry of a map where its key does, an item of a list where it begins.
 * What is not there stands where the nearest thing around it does. Nothing is found in a file without a text.
 */
export function positionsOf(file: ContractFile, places: readonly ContractPlace[]): Map<ContractPlace, TextPosition> {
  const { text, yaml } = file;
  const positions = new Map<ContractPlace, TextPosition>();
  if (text === undefined) return positions;
  const { tree, of } = wantedTree(places);
  if (yaml) findInYaml(yaml, tree);
  else findInJson(text, tree);
  const offsets = new Map([...of].map(([place, path]) => [place, offsetOf(path)]));
  const byOffset = positionsAt(text, new Set(offsets.values()));
  for (const [place, offset] of offsets) positions.set(place, byOffset.get(offset) ?? { line: 1, column: 1, start: 0 });
  return positions;
}

function offsetOf(path: readonly { readonly offset: number | undefined }[]): number {
  return path.findLast(({ offset }) => offset !== undefined)?.offset ?? 0;
}
