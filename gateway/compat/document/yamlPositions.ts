import { isAlias, isMap, isSeq, type Node } from 'yaml';
import { type KeyAndValue, keyText, pairsOf, type YamlText } from '../../shared/yaml/yamlText.ts';
import { isMergeKey } from '../../shared/yaml/yamlValue.ts';
import type { SearchTree } from './textPositions.ts';

/** Records the offset of each wanted place. An aliased value is at its anchor. */
export function findInYaml({ root, aliases }: YamlText, wanted: SearchTree): void {
  const targetOf = (node: Node | null): Node | null => (isAlias(node) ? (aliases.get(node) ?? null) : node);

  const find = (node: Node | null, into: SearchTree): void => {
    const target = targetOf(node);
    if (into.inner.size === 0) return;
    if (isMap(target)) findKeys(pairsOf(target), into);
    if (!isSeq(target)) return;
    for (const [key, inner] of into.inner) {
      const item = target.items[Number(key)] as Node | null | undefined;
      if (item === undefined) continue;
      inner.offset = item?.range?.[0];
      find(item, inner);
    }
  };

  const findKeys = (pairs: readonly KeyAndValue[], into: SearchTree): void => {
    for (const { key, value } of pairs) {
      const name = isMergeKey(key) ? undefined : keyText(key, aliases);
      const inner = name === undefined ? undefined : into.inner.get(name);
      if (!inner) continue;
      inner.offset = key?.range?.[0];
      find(value, inner);
    }
    for (const { key, value } of pairs) if (isMergeKey(key)) findMerged(targetOf(value), into);
  };

  /** A merged map adds only the keys that the map itself, and the maps merged before it, lack. */
  const findMerged = (node: Node | null, into: SearchTree): void => {
    if (isSeq(node)) for (const item of node.items) findMerged(targetOf(item as Node | null), into);
    const open = [...into.inner].filter(([, { offset }]) => offset === undefined);
    if (isMap(node) && open.length > 0) find(node, { inner: new Map(open), offset: undefined });
  };

  wanted.offset = root?.range?.[0] ?? 0;
  find(root, wanted);
}
