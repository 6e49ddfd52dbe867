import type { Snapshot, Version } from '../config/snapshot.ts';
import { guidePath } from '../lifecycle/guide.ts';
import { type Stage, stageOf } from '../lifecycle/stage.ts';
import { latestVersion, successorOf } from '../lifecycle/successor.ts';
import { catalogPath, contractPath, versionPath } from './paths.ts';

/** What is known of every version at one instant: the page, the JSON and the catalog are three spellings of it. */
export interface Overview {
  readonly now: number;
  /** `public_url`, or empty: links are root-relative then. */
  readonly origin: string;
  /** Lowest major first. */
  readonly entries: readonly Entry[];
  readonly latest: Version | undefined;
}

export interface Entry {
  readonly version: Version;
  readonly stage: Stage;
  readonly url: string;
  readonly successor: { readonly name: string; readonly url: string } | undefined;
  readonly contract: string | undefined;
  /** The guide to its successor. */
  readonly guide: string | undefined;
}

export function overviewOf(snapshot: Snapshot, now: number): Overview {
  const origin = snapshot.gateway.publicUrl ?? '';
  const urlOf = (version: Version): string => origin + versionPath(version, snapshot);
  const entries = snapshot.byMajor.map((version): Entry => {
    const successor = successorOf(version, snapshot, now);
    const contract = contractPath(version, snapshot);
    const guide = guidePath(version, successor, snapshot);
    return {
      version,
      stage: stageOf(version, now),
      url: urlOf(version),
      successor: successor && { name: successor.name, url: urlOf(successor) },
      contract: contract && origin + contract,
      guide: guide && origin + guide,
    };
  });
  return { now, origin, entries, latest: latestVersion(snapshot, now) };
}

/** The overview for programs. Keys without a value are left out. */
export function overviewJson({ entries, latest, origin }: Overview): object {
  return {
    latest: latest?.name,
    versions: entries.map(({ version, stage, url, successor, contract, guide }) => ({
      version: version.name,
      url,
      stage,
      deprecation: rfc3339(version.deprecation),
      sunset: rfc3339(version.sunset),
      successor,
      contract,
      info: version.info,
      guide,
    })),
    catalog: origin + catalogPath,
  };
}

/** `2026-06-30T00:00:00Z`: RFC 3339 in UTC, without the fraction that no date of the file can have. */
export function rfc3339(instant: number): string;
export function rfc3339(instant: number | undefined): string | undefined;
export function rfc3339(instant: number | undefined): string | undefined {
  return instant === undefined ? undefined : new Date(instant).toISOString().replace(/\.\d+Z$/, 'Z');
}
