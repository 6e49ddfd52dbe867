import { createHash, randomUUID } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { makeFolder, readRegularFile, reasonOf } from '../shared/fileSystem.ts';
import { type Apis, baseOf, compareIds, type GuardSettings, isId, majorOf, nextInApi, rootBase } from './api.ts';
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
  /** In the order of `compareIds`. */
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
const versionId = z.string().refine(isId);
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
  name: versionId,
  major: z.int().min(0),
  deprecation: optionalInstant,
  sunset: optionalInstant,
  afterSunset: z.enum(['serve', 'gone']),
  retired: z.boolean(),
  successor: versionId.optional(),
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
const apiSchema = z.object({
  versions: z.array(
    versionSchema.refine(({ name, major, successor }) => {
      // As in a valid routes.yaml: in the same API, a successor is a higher major.
      const isHigher = successor === undefined || baseOf(successor) !== baseOf(name) || majorOf(successor) > major;
      return major === majorOf(name) && isHigher;
    }),
  ),
  force: z.array(z.tuple([versionId, z.string()])),
  // Left out if no version has a brownout.
  spared: z.array(z.string()).optional(),
});

// The API at the root stands where a release that knows no other reads it. Such a release ignores `apis`.
const recordSchema = apiSchema.extend({
  format: z.literal(recordFormat),
  // By base. Left out if there is only the root.
  apis: z.record(z.string(), apiSchema).optional(),
});

type StoredApi = z.infer<typeof apiSchema>;

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
  const forced = [...snapshot.apis.values()].flatMap(({ guard }) => [...guard.force.keys()]);
  const bases = new Set([...snapshot.apis.keys(), ...forced.map(baseOf)]);
  bases.delete(rootBase);
  const others = [...bases].map((base) => [base, storedApi(base, snapshot)] as const);
  return {
    format: recordFormat,
    ...storedApi(rootBase, snapshot),
    ...(others.length > 0 && { apis: Object.fromEntries(others) }),
  };
}

function storedApi(base: string, snapshot: Pick<Snapshot, 'sortedVersions' | 'apis'>): StoredApi {
  const force = [...snapshot.apis.values()].flatMap(({ guard }) => [...guard.force]);
  return {
    versions: announcedVersions(snapshot.sortedVersions.filter(({ name }) => baseOf(name) === base)),
    force: force.filter(([version]) => baseOf(version) === base),
    ...sparedIn(base, snapshot),
  };
}

function sparedIn(base: string, { apis, sortedVersions }: Pick<Snapshot, 'sortedVersions' | 'apis'>) {
  const spared = apis.get(base)?.brownout.spared ?? [];
  const isUsed =
    spared.length > 0 && sortedVersions.some(({ name, brownouts }) => brownouts.length > 0 && baseOf(name) === base);
  return isUsed ? { spared: [...spared] } : {};
}

/** Undefined: `value` is not a valid record. */
export function acceptedFrom(value: unknown): AcceptedConfig | undefined {
  // zod would compile the schema to functions, which does not pay off for one record.
  const record = recordSchema.safeParse(value, { jitless: true });
  if (!record.success || !isInOwnApi(record.data)) return undefined;
  const config = configOf(record.data);
  return chainsEnd(config) ? config : undefined;
}

function isInOwnApi({ versions, apis = {} }: StoredConfig): boolean {
  const recorded: [string, StoredApi['versions']][] = [
    [rootBase, versions],
    ...Object.entries(apis).map(([base, api]): [string, StoredApi['versions']] => [base, api.versions]),
  ];
  return recorded.every(([base, ofApi]) => ofApi.every(({ name }) => baseOf(name) === base));
}

/** As in a valid routes.yaml: whoever follows the successors of a version arrives at a last one. */
function chainsEnd({ versions, sortedVersions }: AcceptedConfig): boolean {
  const ending = new Set<AcceptedVersion>();
  for (const first of sortedVersions) {
    const chain = new Set<AcceptedVersion>();
    let version: AcceptedVersion | undefined = first;
    while (version && !ending.has(version)) {
      if (chain.has(version)) return false;
      chain.add(version);
      version = version.successor === undefined ? nextInApi(version, sortedVersions) : versions.get(version.successor);
    }
    for (const one of chain) ending.add(one);
  }
  return true;
}

/**
 * A hash of what a configuration announces to clients: the base path, and the dates, successor, brownouts, freeze, waivers and
 * route ends of each version. Configurations that announce the same have the same hash.
 */
export function configHash(snapshot: Pick<Snapshot, 'sortedVersions' | 'gateway' | 'apis'>): string {
  const { sortedVersions, gateway, apis } = snapshot;
  // Empty `ends` are left out, so that a configuration without them has the same hash as in earlier releases.
  const versions = announcedVersions(sortedVersions).map(({ ends, ...version }) => ({
    ...version,
    ...(ends?.length && { ends }),
  }));
  const spared = [...apis.keys()].sort().flatMap((base) => {
    const ofApi = sparedIn(base, snapshot).spared;
    if (!ofApi) return [];
    return base === rootBase ? [ofApi] : [[base, ofApi]];
  });
  const announced = JSON.stringify([gateway.basePath, versions, ...spared]);
  return createHash('sha256').update(announced).digest('hex').slice(0, 12);
}

function announcedVersions(sortedVersions: readonly AcceptedVersion[]): StoredApi['versions'] {
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

function configOf({ apis: others = {}, ...root }: StoredConfig): AcceptedConfig {
  const apis = new Map<string, StoredApi>([[rootBase, root], ...Object.entries(others)]);
  const all = [...apis.values()].flatMap(({ versions }) => versions.map(acceptedVersion));
  const byName = new Map(all.map((version) => [version.name, version]));
  return {
    versions: byName,
    sortedVersions: [...byName.values()].sort((a, b) => compareIds(a.name, b.name)),
    apis: new Map(
      [...apis].map(([base, { force, spared = [] }]) => [
        base,
        { guard: { force: new Map(force) }, brownout: { spared } },
      ]),
    ),
  };
}

/** Adds the members that the record leaves out, as empty lists or as undefined. */
function acceptedVersion({
  deprecation,
  sunset,
  successor,
  brownouts = [],
  freeze,
  waivers = [],
  ends,
  ...version
}: StoredApi['versions'][number]): AcceptedVersion {
  return {
    ...version,
    deprecation,
    sunset,
    successor,
    brownouts: brownouts.map(({ at, end, clients: clientShare, routes }) => ({ at, end, clientShare, routes })),
    freeze,
    waivers: waivers.map(({ clients, ...waiver }) => ({ ...waiver, clients })),
    ends: ends?.map(({ sunset, ...end }) => ({ ...end, sunset })),
  };
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
