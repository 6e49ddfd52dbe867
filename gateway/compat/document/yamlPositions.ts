import { isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import type { SearchTree } from './textPositions.ts';
import { isMergeKey, keyText, type YamlTree } from './yamlTree.ts';

/** Notes where what is wanted stands; what is aliased stands at its anchor. */
export function findInYaml({ root, targets }: YamlTree, wanted: SearchTree): void {
  const meant = (node: Node | null): Node | null => (isAlias(node) ? (targets.get(node) ?? null) : node);

  const find = (node: Node | null, into: SearchTree): void => {
    const target = meant(node);
    if (into.inner.size === 0) return;
    if (isMap(target)) findKeys(target.items as { key: Node; value: Node | null }[], into);
    if (!isSeq(target)) return;
    for (const [key, inner] of into.inner) {
      const item = target.items[Number(key)] as Node | null | undefined;
      if (item === undefined) continue;
      inner.offset = item?.range?.[0];
      find(item, inner);
    }
  };

  const findKeys = (pairs: readonly { key: Node; value: Node | null }[], into: SearchTree): void => {
    for (const { key, value } of pairs) {
      const name = meant(key);
      const inner = isScalar(name) && !isMergeKey(key) ? into.inner.get(keyText(name)) : undefined;
      if (!inner) continue;
      inner.offset = key.range?.[0];
      find(value, inner);
    }
    for (const { key, value } of pairs) if (isMergeKey(key)) findMerged(meant(value), into);
  };

  /** Of what is merged, only what the map and those before it do not have. */
  const findMerged = (node: Node | null, into: SearchTree): void => {
    if (isSeq(node)) for (const item of node.items) findMerged(meant(item as Node | null), into);
    const open = [...into.inner].filter(([, { offset }]) => offset === undefined);
    if (isMap(node) && open.length > 0) find(node, { inner: new Map(open), offset: undefined });
  };

  wanted.offset = root?.range?.[0] ?? 0;
  find(root, wanted);
}
