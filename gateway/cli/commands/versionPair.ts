import { relative } from 'node:path';
import type { Snapshot, Version } from '../../config/snapshot.ts';
import { type GuideRequest, guideRequest } from '../../discovery/guideRequest.ts';
import { systemClock } from '../../shared/clock.ts';
import { type Io, UsageError } from '../io.ts';
import { snapshotOf } from '../options.ts';

/** Two versions of a routes.yaml, and their contracts. */
export interface VersionPair {
  readonly from: Version;
  readonly to: Version;
  readonly request: GuideRequest;
}

/** @throws UnreadableFileError, UsageError, CompareError */
export function versionPair(old: string, now: string, config: string, io: Io): VersionPair {
  const snapshot = snapshotOf(config, io);
  const [from, to] = [find(old, snapshot, config), find(now, snapshot, config)];
  if (from.major >= to.major)
    throw new UsageError(`/${to.name} is not later than /${from.name}. Give the older version first.`);
  const request = guideRequest(from, to, snapshot, systemClock.now());
  return {
    from,
    to,
    request: { ...request, from: withRelativePath(request.from, io), to: withRelativePath(request.to, io) },
  };
}

function find(name: string, { versions, byMajor }: Snapshot, config: string): Version {
  const version = versions.get(name);
  if (version) return version;
  const known = byMajor.map((one) => `/${one.name}`).join(', ');
  throw new UsageError(`${config} has no version /${name}. It has ${known}.`);
}

/** With a path relative to the working directory, if the file is inside it. */
function withRelativePath(named: GuideRequest['from'], { cwd }: Io): GuideRequest['from'] {
  const file = relative(cwd, named.file);
  return { ...named, file: file.startsWith('..') ? named.file : file };
}
