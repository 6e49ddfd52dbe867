import { randomUUID } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { makeFolder, readRegularFile } from '../shared/fileSystem.ts';
import { reasonOf } from './fault.ts';
import type { GuardSettings, Snapshot, Version } from './snapshot.ts';

/** The settings of a version that the gateway announces to clients. */
export type AcceptedVersion = Pick<
  Version,
  'name' | 'major' | 'deprecation' | 'sunset' | 'afterSunset' | 'retired' | 'successor'
>;

/** The part of an accepted snapshot that later edits are compared with. */
export interface AcceptedConfig {
  readonly versions: ReadonlyMap<string, AcceptedVersion>;
  /** Lowest major first. */
  readonly byMajor: readonly AcceptedVersion[];
  readonly guard: Pick<GuardSettings, 'force'>;
}

/** Both are undefined before the first start. */
export interface AcceptedRecord {
  readonly config: AcceptedConfig | undefined;
  /** Why the record cannot be read, in one line. */
  readonly warning: string | undefined;
}

const format = 1;
const segment = z.string().regex(/^v\d{1,15}$/);
const optionalInstant = z.int().optional();

const versionSchema = z.object({
  name: segment,
  major: z.int().min(0),
  deprecation: optionalInstant,
  sunset: optionalInstant,
  afterSunset: z.enum(['serve', 'gone']),
  retired: z.boolean(),
  successor: segment.optional(),
});

// No targets and no settings: clients were not told about them, and their URLs may contain secrets.
const recordSchema = z.object({
  format: z.literal(format),
  // As in a valid routes.yaml, a successor is a higher major, so the chain of successors always ends.
  versions: z.array(
    versionSchema.refine(({ name, major, successor = `v${major + 1}` }) => {
      return name === `v${major}` && Number(successor.slice(1)) > major;
    }),
  ),
  force: z.array(z.tuple([segment, z.string()])),
});

/** Reads the configuration that was accepted last from its file beside the usage store. Never throws. */
export function readAccepted(store: string): AcceptedRecord {
  const file = fileBeside(store);
  let text: string;
  try {
    text = readRegularFile(file).toString('utf8');
  } catch (error) {
    const isFirst = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return { config: undefined, warning: isFirst ? undefined : unreadable(file, reasonOf(error)) };
  }
  const record = recordSchema.safeParse(parsed(text));
  if (!record.success) return { config: undefined, warning: unreadable(file, 'its content is not a valid record') };
  return { config: configOf(record.data), warning: undefined };
}

/** Writes the record atomically, for the check at the next start. @returns why it cannot be written, in one line */
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
  // The name is unique: several gateways may share the folder, and in containers each one has process id 1.
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    makeFolder(dirname(file));
    writeFileSync(temporary, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(temporary, file);
    return undefined;
  } catch (error) {
    discard(temporary);
    return `${file} cannot be written: ${reasonOf(error)}.  The next start cannot compare its routes.yaml with this one.`;
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

function configOf({ versions, force }: z.infer<typeof recordSchema>): AcceptedConfig {
  const byName = new Map(
    versions.map(({ deprecation, sunset, successor, ...rest }): [string, AcceptedVersion] => [
      rest.name,
      { ...rest, deprecation, sunset, successor },
    ]),
  );
  const byMajor = [...byName.values()].sort((a, b) => a.major - b.major);
  return { versions: byName, byMajor, guard: { force: new Map(force) } };
}

function unreadable(file: string, reason: string): string {
  return `${file} cannot be read: ${reason}.  routes.yaml cannot be compared with the configuration that was accepted last.`;
}

function discard(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // The folder may be read-only. The caller reports that the file cannot be written.
  }
}
