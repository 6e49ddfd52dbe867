import { resolve } from 'node:path';
import { brief } from './finding.ts';
import type { Variables } from './interpolate.ts';
import {
  allTexts,
  type ComposeEntry,
  type ComposeNode,
  child,
  entriesOf,
  type FilePosition,
  itemsOf,
  type MapNode,
  textOf,
  textsOf,
} from './node.ts';
import { envFile } from './reader.ts';

/** One service, with what the rules need of it. */
export interface Service {
  readonly name: string;
  /** The position of its name. */
  readonly at: FilePosition;
  readonly node: MapNode;
  readonly environment: ReadonlyMap<string, Setting>;
  readonly missingEnvFiles: readonly ComposeNode[];
  /** Its host names on each of its networks, in lower case. */
  readonly networks: ReadonlyMap<string, ReadonlySet<string>>;
  /** `host`, `none`, `service:NAME` …; undefined for ordinary networks. */
  readonly networkMode: string | undefined;
  readonly dependsOn: ReadonlyMap<string, Dependency>;
  /** Why `docker compose up` does not start it; undefined if it does. */
  readonly idle: string | undefined;
  /** Compose then ignores it. */
  readonly isOutOfProfile: boolean;
}

/** One variable of the environment of a service. */
export interface Setting {
  readonly text: string;
  readonly at: FilePosition;
  readonly unset: readonly string[];
}

interface Dependency {
  readonly at: FilePosition;
  readonly required: boolean;
}

export interface ServiceContext {
  readonly project: string;
  readonly variables: Variables;
  /** The active profiles. */
  readonly active: ReadonlySet<string>;
  readonly folders: ReadonlyMap<string, string>;
}

export function serviceOf(name: string, { key, value }: ComposeEntry, around: ServiceContext): Service {
  const node: MapNode = value.kind === 'map' ? value : { kind: 'map', entries: new Map(), at: key, tag: undefined };
  const missingEnvFiles: ComposeNode[] = [];
  return {
    name,
    at: key,
    node,
    environment: environmentOf(node, around, missingEnvFiles),
    missingEnvFiles,
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

/** The texts in which a service could name another service. */
export function mentions(service: Service): readonly string[] {
  const told = ['command', 'entrypoint', 'links', 'volumes_from', 'network_mode'].map((key) =>
    child(service.node, key),
  );
  return [...[...service.environment.values()].map(({ text }) => text), ...told.flatMap(allTexts)];
}

function environmentOf(
  node: MapNode,
  { variables, folders }: ServiceContext,
  lost: ComposeNode[],
): Map<string, Setting> {
  const settings = new Map<string, Setting>();
  for (const item of itemsOf(child(node, 'env_file'))) {
    const path = textOf(item) ?? textOf(child(item, 'path')) ?? '';
    const read = envFile(resolve(folders.get(item.at.file) ?? '.', path));
    if (!read && textOf(child(item, 'required')) !== 'false') lost.push(item);
    for (const [name, text = ''] of Object.entries(read ?? {})) settings.set(name, { text, at: item.at, unset: [] });
  }
  for (const [name, { key, value }] of entriesOf(child(node, 'environment'))) {
    // A name without a value passes on the variable of Compose itself.
    const inherited = Object.hasOwn(variables, name) ? variables[name] : undefined;
    const text = textOf(value) ?? inherited;
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

/** A path of the host that is mounted into a container. */
export interface Mount {
  /** Absolute. */
  readonly source: string;
  readonly target: string;
  readonly at: FilePosition;
}

/** Bind mounts only. */
export function mountsOf(service: Service, folders: ReadonlyMap<string, string>): readonly Mount[] {
  return itemsOf(child(service.node, 'volumes')).flatMap((item): Mount[] => {
    const [source, target = ''] =
      item.kind === 'map'
        ? [textOf(child(item, 'source')), textOf(child(item, 'target'))]
        : (textOf(item)?.split(':') ?? []);
    const isBind = source !== undefined && (/^[./~]/.test(source) || textOf(child(item, 'type')) === 'bind');
    return isBind ? [{ source: resolve(folders.get(item.at.file) ?? '.', source), target, at: item.at }] : [];
  });
}

/** A port that a service listens on, according to the file. */
export interface Port {
  readonly first: number;
  readonly last: number;
  /** The published port of the host; undefined if there is none, or Docker chooses it. */
  readonly published: number | undefined;
  /** The key that names the port. */
  readonly said: string;
  readonly at: FilePosition;
}

/** The ports that a service listens on, according to the file; none if the file does not say. An image may differ. */
export function portsOf(service: Service): readonly Port[] {
  return [
    ...itemsOf(child(service.node, 'ports')).flatMap(published),
    ...itemsOf(child(service.node, 'expose')).flatMap((item) => range(textOf(item), 'expose', item.at)),
    ...['PORT', 'HTTP_PORT', 'SERVER_PORT'].flatMap((name) => {
      const setting = service.environment.get(name);
      return setting ? range(setting.text, name, setting.at) : [];
    }),
    ...probed(child(service.node, 'healthcheck', 'test')),
  ];
}

export function listensOn(ports: readonly Port[], port: number): boolean {
  return ports.some(({ first, last }) => first <= port && port <= last);
}

/** `[address:][published:]target[/protocol]`, with ranges; or the long form. */
function published(item: ComposeNode): Port[] {
  if (item.kind === 'map') {
    if (textOf(child(item, 'protocol')) === 'udp') return [];
    return range(textOf(child(item, 'target')), 'ports', item.at, textOf(child(item, 'published')));
  }
  const text = textOf(item) ?? '';
  // Longer than any address with ports; it would cost the pattern too much time.
  if (text.length > 200) return [];
  const [, host, target] = /^(?:.*?:)??(?:([\d-]*):)?([\d-]+(?:\/\w+)?)$/.exec(text) ?? [];
  return range(target, 'ports', item.at, host);
}

function range(text: string | undefined, said: string, at: FilePosition, host?: string): Port[] {
  const [, first = '', last = first, protocol = 'tcp'] =
    /^(\d{1,5})(?:-(\d{1,5}))?(?:\/(\w+))?$/.exec(text ?? '') ?? [];
  if (first === '' || protocol === 'udp') return [];
  const published = host !== undefined && /^\d{1,5}$/.test(host) ? Number(host) : undefined;
  return [{ first: Number(first), last: Number(last), published, said, at }];
}

/** A health check calls its own container. */
function probed(test: ComposeNode | undefined): Port[] {
  const urls = allTexts(test)
    .join(' ')
    .matchAll(/(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]):(\d{1,5})/g);
  return test ? [...urls].flatMap(([, port]) => range(port, 'healthcheck', test.at)) : [];
}

/** `3000, 9229-9230` */
export function portsInWords(ports: readonly Port[]): string {
  const words = ports.map(({ first, last }) => (first === last ? String(first) : `${first}-${last}`));
  return [...new Set(words)].join(', ');
}
