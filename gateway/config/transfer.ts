import { PathTable } from '../shared/pathTable.ts';
import { deepFreeze } from './freeze.ts';
import type { Contract, Snapshot, Version } from './snapshot.ts';

type Entries<Value> = readonly (readonly [template: string, value: Value])[];

/** A version as plain data: what a structured clone keeps. */
type PlainVersion = Omit<Version, 'moved' | 'contract'> & {
  readonly moved: Entries<string | null>;
  readonly contract: (Omit<Contract, 'paths'> & { readonly paths: Entries<true> }) | undefined;
};

/** A snapshot on its way to another process. */
export type PlainSnapshot = Omit<Snapshot, 'versions' | 'byMajor'> & { readonly versions: readonly PlainVersion[] };

export function toPlain({ byMajor, versions: _, ...rest }: Snapshot): PlainSnapshot {
  return {
    ...rest,
    versions: byMajor.map(({ moved, contract, ...version }) => ({
      ...version,
      moved: moved.entries(),
      contract: contract && { ...contract, paths: contract.paths.entries() },
    })),
  };
}

export function fromPlain({ versions, ...rest }: PlainSnapshot): Snapshot {
  const byMajor = versions.map(({ moved, contract, ...version }) => ({
    ...version,
    moved: new PathTable(moved),
    contract: contract && { ...contract, paths: new PathTable(contract.paths) },
  }));
  return deepFreeze({ ...rest, byMajor, versions: new Map(byMajor.map((version) => [version.name, version])) });
}
