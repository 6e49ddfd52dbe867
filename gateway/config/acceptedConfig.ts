import { randomUUID } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { makeFolder, readRegularFile } from '../shared/fileSystem.ts';
import { reasonOf } from './fault.ts';
import type { GuardSettings, Snapshot, Version } from './snapshot.ts';

/** What clients have been told about a version. */
export type AcceptedVersion = Pick<
  Version,
  'name' | 'major' | 'deprecation' | 'sunset' | 'afterSunset' | 'retired' | 'successor'
>;

/** As much of a snapshot as the next one is held against. */
export interface AcceptedConfig {
  readonly versions: ReadonlyMap<string, AcceptedVersion>;
  /** Lowest major first. */
  readonly byMajor: readonly AcceptedVersion[];
  readonly guard: Pick<GuardSettings, 'force'>;
}

/** Both undefined: nothing was accepted yet. */
export interface Accepted {
  readonly promises: AcceptedConfig | undefined;
  /** Why nothing could be read, in one line. */
  readonly warning: string | undefined;
}

const format = 1;
const segment = z.string().regex(/^v\d{1,15}$/);
const instant = z.int().optional();

const promisedSchema = z.object({
  name: segment,
  major: z.int().min(0),
  deprecation: instant,
  sunset: instant,
  afterSunset: z.enum(['serve', 'gone']),
  retired: z.boolean(),
  successor: segment.optional(),
});

// No targets and no settings: they promise nothing, and their URLs may hold secrets.
const recordSchema = z.object({
  format: z.literal(format),
  // As in every routes.yaml, successors lead upwards: whoever follows them must come to an end.
  versions: z.array(
    promisedSchema.refine(({ name, major, successor = `v${major + 1}` }) => {
      return name === `v${major}` && Number(successor.slice(1)) > major;
    }),
  ),
  force: z.array(z.tuple([segment, z.string()])),
});

/** What was accepted last, as it is kept beside the usage store. Never throws. */
export function readAccepted(store: string): Accepted {
  const file = fileBeside(store);
  let text: string;
  try {
    text = readRegularFile(file).toString('utf8');
  } catch (error) {
    const isFirst = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return { promises: undefined, warning: isFirst ? undefined : unknownPromises(file, reasonOf(error)) };
  }
  const record = recordSchema.safeParse(parsed(text));
  if (!record.success) return { promises: undefined, warning: unknownPromises(file, 'it is not of this release') };
  return { promises: promisesOf(record.data), warning: undefined };
}

/** Keeps what the next start is held against, in one step. @returns why it could not, in one line */
export function writeAccepted({ byMajor, guard, usage }: Snapshot): string | undefined {
  const file = fileBeside(usage.store);
  const versions = byMajor.map(({ name, major, deprecation, sunset, afterSunset, retired, successor }) => ({
    name,
    major,
    deprecation,
    sunset,
    afterSunset,
    retired,
    successor,
  }));
  const record: z.infer<typeof recordSchema> = { format, versions, force: [...guard.force] };
  // A name of its own: several gateways may share the folder, and in a container each of them is process 1.
  const unfinished = `${file}.${randomUUID()}.tmp`;
  try {
    makeFolder(dirname(file));
    writeFileSync(unfinished, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(unfinished, file);
    return undefined;
  } catch (error) {
    discard(unfinished);
    return `${file} cannot be written: ${reasonOf(error)}.  The next start will not know what was promised before it.`;
  }
}

function fileBeside(store: string): string {
  return join(dirname(store), 'accepted.json');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function promisesOf({ versions, force }: z.infer<typeof recordSchema>): AcceptedConfig {
  const byName = new Map(
    versions.map(({ deprecation, sunset, successor, ...rest }): [string, AcceptedVersion] => [
      rest.name,
      { ...rest, deprecation, sunset, successor },
    ]),
  );
  const byMajor = [...byName.values()].sort((a, b) => a.major - b.major);
  return { versions: byName, byMajor, guard: { force: new Map(force) } };
}

function unknownPromises(file: string, reason: string): string {
  return `${file} cannot be read: ${reason}.  What was promised before this start is not known.`;
}

function discard(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // It could not be written, so it may well not be removed.
  }
}
