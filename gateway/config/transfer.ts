import { PathTable } from '../shared/pathTable.ts';
import { type Contract, deepFreeze, type Snapshot, type Version } from './snapshot.ts';

/** A version as plain data, which a structured clone preserves. */
type PlainVersion = Omit<Version, 'moved' | 'contract'> & {
  readonly moved: readonly (readonly [template: string, value: string | null])[];
  readonly contract: PlainContract | undefined;
};

type PlainContract = Omit<Contract, 'paths'> & {
  /** One line for each path, with template and methods. Cloning one string is much faster than cloning thousands. */
  readonly paths: string;
};

/** A snapshot in the form that is sent to another thread or process. */
export type PlainSnapshot = Omit<Snapshot, 'versions' | 'sortedVersions'> & {
  readonly versions: readonly PlainVersion[];
};

/** The parts of a version that a structured clone does not preserve. */
type Tables = Pick<Version, 'moved' | 'contract'>;

export function toPlain({ sortedVersions, versions: _, ...rest }: Snapshot): PlainSnapshot {
  return {
    ...rest,
    versions: sortedVersions.map(({ moved, contract, ...version }) => ({
      ...version,
      moved: moved.entries(),
      contract: contract && { ...contract, paths: linesOf(contract.paths) },
    })),
  };
}

export function fromPlain(plain: PlainSnapshot): Snapshot {
  const tables = plain.versions.map(({ moved, contract }) => ({
    moved: new PathTable(moved),
    contract: contract && { ...contract, paths: new PathTable(rowsIn(contract)) },
  }));
  return assembled(plain, tables);
}

/**
 * Like `fromPlain`, for a thread that serves requests: it builds large tables in slices, so that requests do not wait, and
 * reuses unchanged contracts of the snapshot `before`.
 */
export async function fromPlainInSlices(plain: PlainSnapshot, before?: Snapshot): Promise<Snapshot> {
  const tables: Tables[] = [];
  for (const { name, moved, contract } of plain.versions) {
    const contractBefore = before?.versions.get(name)?.contract;
    const paths =
      contract &&
      (contractBefore?.digest === contract.digest ? contractBefore.paths : PathTable.inSlices(rowsIn(contract)));
    tables.push({
      moved: await PathTable.inSlices(moved),
      contract: contract && paths && { ...contract, paths: await paths },
    });
  }
  return assembled(plain, tables);
}

function assembled({ versions, ...rest }: PlainSnapshot, tables: readonly Tables[]): Snapshot {
  const sortedVersions = versions.map((version, index) => ({ ...version, ...(tables[index] as Tables) }));
  return deepFreeze({
    ...rest,
    sortedVersions,
    versions: new Map(sortedVersions.map((version) => [version.name, version])),
  });
}

function linesOf(paths: PathTable<string>): string {
  return paths
    .entries()
    .map(([template, methods]) => `${template}\t${methods}`)
    .join('\n');
}

function rowsIn({ paths }: PlainContract): (readonly [template: string, methods: string])[] {
  return paths === '' ? [] : paths.split('\n').map((line) => line.split('\t', 2) as [string, string]);
}
