import { openContract } from '../compat/document/open.ts';
import { CompareError } from '../compat/failure.ts';
import { buildGuide } from '../compat/guide/buildGuide.ts';
import type { End, Guide } from '../compat/guide/guide.ts';
import type { Snapshot, Version } from '../config/snapshot.ts';
import { movedTo, renamings } from '../lifecycle/guide.ts';
import { stageOf } from '../lifecycle/stage.ts';
import { PathTable } from '../shared/pathTable.ts';
import { versionPath } from './paths.ts';

/** What a guide is made from, as plain data, so that a thread can be asked for it. */
export interface GuideOrder {
  readonly from: Named;
  readonly to: Named;
  readonly moved: readonly (readonly (readonly [template: string, value: string | null])[])[];
  readonly end: End;
}

interface Named {
  readonly name: string;
  /** Absolute, or relative to the folder that `makeGuide` is told. */
  readonly file: string;
}

/** @throws CompareError for a version without a contract */
export function guideOrder(from: Version, to: Version, snapshot: Snapshot, now: number): GuideOrder {
  const { publicUrl = '' } = snapshot.gateway;
  return {
    from: namedIn(from),
    to: namedIn(to),
    moved: renamings(from, to, snapshot).map((table) => table.entries()),
    end: {
      deprecation: from.deprecation,
      sunset: from.sunset,
      isGoneAfterwards: from.afterSunset === 'gone',
      isRetired: stageOf(from, now) === 'retired',
      oldBase: publicUrl + versionPath(from, snapshot),
      newBase: publicUrl + versionPath(to, snapshot),
    },
  };
}

/** Reads two contracts and holds them against each other. @throws CompareError */
export async function makeGuide({ from, to, moved, end }: GuideOrder, cwd: string): Promise<Guide> {
  // Nobody who asks for a page may make the gateway ask others.
  const options = { cwd, stdin: () => '', allowRemote: false };
  const [old, now] = [await openContract(from.file, options), await openContract(to.file, options)];
  const tables = moved.map((rows) => new PathTable(rows));
  return buildGuide({ old, now, from: from.name, to: to.name, moved: (path) => movedTo(path, tables), end });
}

function namedIn({ name, contract }: Version): Named {
  if (contract) return { name, file: contract.file };
  throw new CompareError(`/${name}`, 'it has no contract in routes.yaml', `Write routes./${name}.contract.`);
}
