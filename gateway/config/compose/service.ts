import { resolve } from 'node:path';
import { brief } from './finding.ts';
import type { Variables } from './interpolate.ts';
import {
  allTexts,
  child,
  type Entry,
  entriesOf,
  itemsOf,
  type MapNode,
  type Node,
  type Spot,
  textOf,
  textsOf,
} from './node.ts';
import { envFile } from './variables.ts';

/** One service, as far as the gateway has to do with it. */
export interface Service {
  readonly name: string;
  /** Where its name stands. */
  readonly at: Spot;
  readonly node: MapNode;
  readonly environment: ReadonlyMap<string, Setting>;
  readonly lostEnvFiles: readonly Node[];
  /** Its names on each of its networks, in lower case; a service outside of all of them has none. */
  readonly networks: ReadonlyMap<string, ReadonlySet<string>>;
  /** `host`, `none`, `service:NAME` …; undefined for networks of its own. */
  readonly networkMode: string | undefined;
  readonly dependsOn: ReadonlyMap<string, Dependency>;
  /** Why `docker compose up` starts none of it; undefined if it does. */
  readonly idle: string | undefined;
  /** Compose then does as if it were not in the file. */
  readonly isOutOfProfile: boolean;
}

/** Undefined text: the variable is not there at all. */
export interface Setting {
  readonly text: string;
  readonly at: Spot;
  readonly unset: readonly string[];
}

interface Dependency {
  readonly at: Spot;
  readonly required: boolean;
}

export interface Circumstances {
  readonly project: string;
  readonly variables: Variables;
  /** Profiles that are switched on. */
  readonly active: ReadonlySet<string>;
  readonly folders: ReadonlyMap<string, string>;
}

export function serviceOf(name: string, { key, value }: Entry, around: Circumstances): Service {
  const node: MapNode = value.kind === 'map' ? value : { kind: 'map', entries: new Map(), at: key, tag: undefined };
  const lostEnvFiles: Node[] = [];
  return {
    name,
    at: key,
    node,
    environment: environmentOf(node, around, lostEnvFiles),
    lostEnvFiles,
    networks: networksOf(name, node, around.project),
    networkMode: textOf(child(node, 'network_mode')),
    dependsOn: new Map(
      entriesOf(child(node, 'depends_on')).map(([other, entry]) => [
        other,
        { at: entry.key, required: textOf(child(entry.value, 'required')) !== 'false' },
      ]),
    ),
    idle: idleOf(node, around.active),
    isOutOfProfile: isOutOfProfile(node, around.active),
  };
}

/** Every text but its own name in which a service could name another. */
export function mentions(service: Service): readonly string[] {
  const told = ['command', 'entrypoint', 'links', 'volumes_from', 'network_mode'].map((key) =>
    child(service.node, key),
  );
  return [...[...service.environment.values()].map(({ text }) => text), ...told.flatMap(allTexts)];
}

function environmentOf(node: MapNode, { variables, folders }: Circumstances, lost: Node[]): Map<string, Setting> {
  const settings = new Map<string, Setting>();
  for (const item of itemsOf(child(node, 'env_file'))) {
    const path = textOf(item) ?? textOf(child(item, 'path')) ?? '';
    const read = envFile(resolve(folders.get(item.at.file) ?? '.', path));
    if (!read && textOf(child(item, 'required')) !== 'false') lost.push(item);
    for (const [name, text = ''] of Object.entries(read ?? {})) settings.set(name, { text, at: item.at, unset: [] });
  }
  for (const [name, { key, value }] of entriesOf(child(node, 'environment'))) {
    // A name alone hands on what Compose itself was given.
    const handedOn = Object.hasOwn(variables, name) ? variables[name] : undefined;
    const text = textOf(value) ?? handedOn;
    const unset = value.kind === 'scalar' ? value.unset : [];
    if (text !== undefined) settings.set(name, { text, at: key, unset });
    else settings.delete(name);
  }
  return settings;
}

function networksOf(name: string, node: MapNode, project: string): Map<string, ReadonlySet<string>> {
  if (child(node, 'network_mode') !== undefined) return new Map();
  const said = entriesOf(child(node, 'networks'));
  const container = textOf(child(node, 'container_name'));
  const names = [
    name,
    ...(container === undefined ? [`${project}-${name}-1`, `${project}_${name}_1`] : [container]),
    ...textsOf(child(node, 'hostname')),
  ];
  const lower = (all: readonly string[]): Set<string> => new Set(all.map((one) => one.toLowerCase()));
  if (said.length === 0) return new Map([['default', lower(names)]]);
  return new Map(said.map(([key, { value }]) => [key, lower([...names, ...textsOf(child(value, 'aliases'))])]));
}

function idleOf(node: MapNode, active: ReadonlySet<string>): string | undefined {
  if (isOutOfProfile(node, active)) {
    return `only started with the profile ${textsOf(child(node, 'profiles'))
      .map((one) => brief(one))
      .join(' or ')}`;
  }
  const count = textOf(child(node, 'scale')) ?? textOf(child(node, 'deploy', 'replicas'));
  return count !== undefined && Number(count) === 0 ? 'scaled to 0' : undefined;
}

function isOutOfProfile(node: MapNode, active: ReadonlySet<string>): boolean {
  const profiles = textsOf(child(node, 'profiles'));
  return profiles.length > 0 && !active.has('*') && !profiles.some((profile) => active.has(profile));
}
