import { baseOf, nameIn } from '../../config/api.ts';
import type { Snapshot, Version } from '../../config/snapshot.ts';
import { CompareError } from '../../contract/failure.ts';
import type { VersionEnd } from '../../contracts/compat/guide/guide.ts';
import { brownoutsAhead, type CancelledBrownouts } from '../../versions/lifecycle/brownouts.ts';
import { movedTables } from '../../versions/lifecycle/guide.ts';
import { runningWaivers, stageOf } from '../../versions/lifecycle/stage.ts';
import { greaseCurlCommand, versionPath } from './paths.ts';

/** Which guide to write, as plain data that can be sent to a thread. */
export interface GuideRequest {
  readonly from: VersionContract;
  readonly to: VersionContract;
  /** The entries of the `moved` table of each version on the way to `to`, starting with that of `from`. `value`: the new path; null: the route has none. */
  readonly moved: readonly (readonly (readonly [template: string, value: string | null])[])[];
  readonly versionEnd: VersionEnd;
}

interface VersionContract {
  readonly name: string;
  /** Absolute, or relative to the folder that `loadGuide` is given. */
  readonly file: string;
}

/** The pages that a guide links to. A guide in a local file has no links. */
export interface GuideLinks {
  readonly index: string;
  readonly markdown: string;
  readonly contracts: readonly { readonly version: string; readonly href: string }[];
}

/** A message to the thread that writes guides, and contracts of several files as one document. */
export type PageQuestion = { readonly number: number } & (
  | { readonly guide: GuideRequest; readonly links: GuideLinks }
  | { readonly contract: string; readonly format: 'json' | 'yaml' }
);

/** The guide in both formats, the text of the contract, or why it cannot be written. */
export type PageAnswer = { readonly number: number } & (
  | { readonly html: string; readonly markdown: string }
  | { readonly text: string }
  | { readonly problem: string }
);

const noneCancelled: CancelledBrownouts = new Map();

/** The request for the guide from one version to another. @throws CompareError for a version without a contract */
export function guideRequest(
  from: Version,
  to: Version,
  snapshot: Snapshot,
  now: number,
  brownouts = brownoutsAhead(from, noneCancelled, now),
): GuideRequest {
  const { publicUrl = '' } = snapshot.gateway;
  const base = baseOf(from.name);
  return {
    from: contractOf(from, base),
    to: contractOf(to, base),
    moved: movedTables(from, to, snapshot).map((table) => table.entries()),
    versionEnd: {
      deprecation: from.deprecation,
      sunset: from.sunset,
      isGoneAfterSunset: from.afterSunset === 'gone',
      isRetired: stageOf(from, now) === 'retired',
      isWaived: runningWaivers(from, now).length > 0,
      brownouts: brownouts.map(({ at, end }) => ({ at, end })),
      oldBaseUrl: publicUrl + versionPath(from, snapshot),
      newBaseUrl: publicUrl + versionPath(to, snapshot),
      // The guide lists all routes, so the command may contain one.
      grease: greaseCurlCommand(to, publicUrl + versionPath(to, snapshot), { mayNameRoute: true }),
    },
  };
}

function contractOf({ name, contract }: Version, base: string): VersionContract {
  if (contract) return { name: nameIn(base, name), file: contract.file };
  throw new CompareError(`/${name}`, 'has no contract in routes.yaml', `Set routes./${name}.contract.`);
}
