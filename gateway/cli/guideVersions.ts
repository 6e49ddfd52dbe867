import { relative } from 'node:path';
import { CompareError } from '../compat/failure.ts';
import { UnreadableFileError } from '../config/fault.ts';
import type { Snapshot, Version } from '../config/snapshot.ts';
import { type GuideRequest, guideRequest } from '../discovery/guideThread.ts';
import { systemClock } from '../shared/clock.ts';
import { snapshotForCompat } from './compatSettings.ts';
import type { ExitCode, Io } from './io.ts';
import { UsageError } from './usageError.ts';

/** What two versions of a routes.yaml are compared by. */
export interface TwoVersions {
  readonly from: Version;
  readonly to: Version;
  readonly request: GuideRequest;
}

/** @throws UnreadableFileError, UsageError, CompareError */
export function twoVersions(old: string, now: string, config: string, io: Io): TwoVersions {
  const snapshot = snapshotForCompat(config, io);
  const [from, to] = [find(old, snapshot, config), find(now, snapshot, config)];
  if (from.major >= to.major)
    throw new UsageError(`/${to.name} is not later than /${from.name}. Write the older one first.`);
  const request = guideRequest(from, to, snapshot, systemClock.now());
  return { from, to, request: { ...request, from: near(request.from, io), to: near(request.to, io) } };
}

function find(name: string, { versions, byMajor }: Snapshot, config: string): Version {
  const version = versions.get(name);
  if (version) return version;
  const known = byMajor.map((one) => `/${one.name}`).join(', ');
  throw new UsageError(`${config} has no /${name}. It has ${known}.`);
}

/** As somebody in this folder would call it. */
function near(named: GuideRequest['from'], { cwd }: Io): GuideRequest['from'] {
  const file = relative(cwd, named.file);
  return { ...named, file: file.startsWith('..') ? named.file : file };
}

/** What stands in the way of a comparison is said, and is wrong usage. */
export async function orExplain(io: Io, command: () => Promise<ExitCode>): Promise<ExitCode> {
  try {
    return await command();
  } catch (error) {
    const isExplained =
      error instanceof CompareError || error instanceof UsageError || error instanceof UnreadableFileError;
    if (!isExplained) throw error;
    io.stderr.write(`${error.message}\n`);
    return 2;
  }
}
