import { createHash, randomUUID } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { makeFolder, readRegularFile, reasonOf } from '../shared/fileSystem.ts';
import { type Apis, type GuardSettings, rootApi, rootBase } from './api.ts';
import type { BrownoutSettings } from './clientRules.ts';
import type { Snapshot, Version } from './snapshot.ts';

/** The settings of a version that are announced to clients. */
export type AcceptedVersion = Pick<
  Version,
  'name' | 'major' | 'deprecation' | 'sunset' | 'afterSunset' | 'retired' | 'successor' | 'brownouts' | 'freeze'
> & {
  readonly waivers: readonly (Pick<Version['waivers'][number], 'client' | 'until'> & {
    /** The names of `client` in the ledger. Undefined in a record that an earlier release has written. */
    readonly clients: readonly string[] | undefined;
  })[];
  /** The ends of single routes. Undefined in a record that an earlier release has written. */
  readonly ends: Version['ends'] | undefined;
};

/** The part of an accepted snapshot that later edits are compared with. */
export interface AcceptedConfig {
  readonly versions: ReadonlyMap<string, AcceptedVersion>;
  /** Lowest major first. */
  readonly sortedVersions: readonly AcceptedVersion[];
  readonly apis: Apis<AcceptedApi>;
}

/** The settings of an API that later edits are compared with. */
export interface AcceptedApi {
  /** `force`: version → the reason why the guard did not protect it. */
  readonly guard: Pick<GuardSettings, 'force'>;
  /** `spared`: the clients that no brownout refuses. */
  readonly brownout: Pick<BrownoutSettings, 'spared'>;
}

/** The record of the configuration that was accepted last. Both members are undefined before the first start. */
export interface AcceptedConfigFile {
  readonly config: AcceptedConfig | undefined;
  /** Why the record cannot be read, in one line. */
  readonly warning: string | undefined;
}

const recordFormat = 1;
const versionName = z.string().regex(/^v\d{1,16}$/);
const optionalInstant = z.int().optional();

const brownoutSchema = z.object({
  at: z.int(),
  end: z.int(),
  // The share of clients that are refused.
  clients: z.number(),
  routes: z.array(z.object({ method: z.string(), path: z.string() })).optional(),
});

// Method and path are printed in terminals, so they must not contain control characters.
const routeEndSchema = z.object({
  method: z.string().regex(/^[A-Z]+$/),
  path: z.string().regex(/^\/\P{Cc}*$/u),
  deprecation: z.int(),
  sunset: optionalInstant,
});

const versionSchema = z.object({
  name: versionName,
  major: z.int().min(0),
  deprecation: optionalInstant,
  sunset: optionalInstant,
  afterSunset: z.enum(['serve', 'gone']),
  retired: z.boolean(),
  successor: versionName.optional(),
  // Left out if there is none, so that a configuration without brownouts has the same hash as in earlier releases.
  brownouts: z.array(brownoutSchema).optional(),
  freeze: z.object({ from: z.int(), mode: z.enum(['report', 'refuse']), allow: z.array(z.string()) }).optional(),
  // Left out if there is none, like brownouts.
  waivers: z
    .array(z.object({ client: z.string(), clients: z.array(z.string()).optional(), until: z.int() }))
    .optional(),
  // Missing in a record that an earlier release has written.
  ends: z.array(routeEndSchema).optional(),
});

// Targets and other settings are not recorded: they were not announced to clients, and URLs may contain secrets.
const recordSchema = z.object({
  format: z.literal(recordFormat),
  // As in a valid routes.yaml, a successor is a higher major, so the chain of successors always ends.
  versions: z.array(
    versionSchema.refine(({ name, major, successor = `v${major + 1}` }) => {
      return name === `v${major}` && Number(successor.slice(1)) > major;
    }),
  ),
  force: z.array(z.tuple([versionName, z.string()])),
  // Left out if no version has a brownout.
  spared: z.array(z.string()).optional(),
});

/** An accepted configuration as plain data, to be stored. */
export type StoredConfig = z.infer<typeof recordSchema>;

/** Reads the configuration that was accepted last from its file beside the usage store. Never throws. */
export function readAccepted(store: string): AcceptedConfigFile {
  const file = recordFileBeside(store);
  let text: string;
  try {
    text = readRegularFile(file).toString('utf8');
  } catch (error) {
    const isFirstStart = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return { config: undefined, warning: isFirstStart ? undefined : unreadableWarning(file, reasonOf(error)) };
  }
  const config = acceptedFrom(parsedJson(text));
  if (!config) return { config: undefined, warning: unreadableWarning(file, 'its content is not a valid record') };
  return { config, warning: undefined };
}

/** Writes the record atomically, for the check at the next start. @returns why it cannot be written, in one line */
export function writeAccepted(snapshot: Snapshot): string | undefined {
  const file = recordFileBeside(snapshot.usage.store);
  const record = acceptedRecord(snapshot);
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

export function acceptedRecord(snapshot: Pick<Snapshot, 'sortedVersions' | 'apis'>): StoredConfig {
  const { sortedVersions } = snapshot;
  return {
    format: recordFormat,
    versions: announcedVersions(sortedVersions),
    force: [...rootApi(snapshot).guard.force],
    ...sparedIn(snapshot),
  };
}

function sparedIn(snapshot: Pick<Snapshot, 'sortedVersions' | 'apis'>): Pick<StoredConfig, 'spared'> {
  const { brownout } = rootApi(snapshot);
  const isUsed = brownout.spared.length > 0 && snapshot.sortedVersions.some(({ brownouts }) => brownouts.length > 0);
  return isUsed ? { spared: [...brownout.spared] } : {};
}

/** Undefined: `value` is not a valid record. */
export function acceptedFrom(value: unknown): AcceptedConfig | undefined {
  // zod would compile the schema to functions, which does not pay off for one record.
  const record = recordSchema.safeParse(value, { jitless: true });
  return record.success ? configOf(record.data) : undefined;
}

/**
 * A hash of what a configuration announces to clients: the base path, and the dates, successor, brownouts, freeze, waivers and
 * route ends of each version. Configurations that announce the same have the same hash.
 */
export function configHash(snapshot: Pick<Snapshot, 'sortedVersions' | 'gateway' | 'apis'>): string {
  const { sortedVersions, gateway } = snapshot;
  // Empty `ends` are left out, so that a configuration without them has the same hash as in earlier releases.
  const versions = announcedVersions(sortedVersions).map(({ ends, ...version }) => ({
    ...version,
    ...(ends?.length && { ends }),
  }));
  const { spared } = sparedIn(snapshot);
  const announced = JSON.stringify([gateway.basePath, versions, ...(spared ? [spared] : [])]);
  return createHash('sha256').update(announced).digest('hex').slice(0, 12);
}

function announcedVersions(sortedVersions: readonly AcceptedVersion[]): StoredConfig['versions'] {
  return sortedVersions.map(
    ({ name, major, deprecation, sunset, afterSunset, retired, successor, brownouts, freeze, waivers, ends }) => ({
      name,
      major,
      deprecation,
      sunset,
      afterSunset,
      retired,
      successor,
      brownouts:
        brownouts.length === 0
          ? undefined
          : brownouts.map(({ at, end, clientShare: clients, routes }) => {
              return { at, end, clients, ...(routes && { routes: [...routes] }) };
            }),
      freeze: freeze && { ...freeze, allow: [...freeze.allow] },
      waivers:
        waivers.length === 0
          ? undefined
          : waivers.map(({ client, clients, until }) => ({ client, clients: clients && [...clients], until })),
      ends: ends?.map(({ method, path, deprecation, sunset }) => ({ method, path, deprecation, sunset })),
    }),
  );
}

function recordFileBeside(store: string): string {
  return join(dirname(store), 'accepted.json');
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Adds the members that the record leaves out, as empty lists or as undefined. */
function configOf({ versions, force, spared = [] }: StoredConfig): AcceptedConfig {
  const byName = new Map(
    versions.map(
      ({
        deprecation,
        sunset,
        successor,
        brownouts = [],
        freeze,
        waivers = [],
        ends,
        ...version
      }): [string, AcceptedVersion] => [
        version.name,
        {
          ...version,
          deprecation,
          sunset,
          successor,
          brownouts: brownouts.map(({ at, end, clients: clientShare, routes }) => ({ at, end, clientShare, routes })),
          freeze,
          waivers: waivers.map(({ clients, ...waiver }) => ({ ...waiver, clients })),
          ends: ends?.map(({ sunset, ...end }) => ({ ...end, sunset })),
        },
      ],
    ),
  );
  const sortedVersions = [...byName.values()].sort((a, b) => a.major - b.major);
  const root = { guard: { force: new Map(force) }, brownout: { spared } };
  return { versions: byName, sortedVersions, apis: new Map([[rootBase, root]]) };
}

function unreadableWarning(file: string, reason: string): string {
  return `${file} cannot be read: ${reason}.  routes.yaml cannot be compared with the configuration that was accepted last.`;
}

function discard(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // The folder may be read-only. The caller reports that the file cannot be written.
  }
}
