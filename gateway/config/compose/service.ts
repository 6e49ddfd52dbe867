import { resolve } from 'node:path';
import { shortened } from '../../shared/text.ts';
import type { Variables } from './interpolate.ts';
import {
  allTexts,
  type ComposeEntry,
  type ComposeNode,
  child,
  type FilePosition,
  listItems,
  type MapNode,
  mapEntries,
  scalarText,
  textsOf,
} from './node.ts';
import { readEnvFile } from './reader.ts';

/** One service, with the properties that the rules use. */
export interface Service {
  readonly name: string;
  /** The position of the service's name. */
  readonly at: FilePosition;
  readonly node: MapNode;
  readonly environment: ReadonlyMap<string, Setting>;
  readonly missingEnvFiles: readonly ComposeNode[];
  /** Network → the host names of the service in this network, in lower case. */
  readonly networks: ReadonlyMap<string, ReadonlySet<string>>;
  /** `host`, `none`, `service:NAME` …; undefined for ordinary networks. */
  readonly networkMode: string | undefined;
  readonly dependsOn: ReadonlyMap<string, Dependency>;
  /** Why `docker compose up` does not start the service, such as `scaled to 0`; undefined if Compose starts it. */
  readonly notStartedReason: string | undefined;
  /** Whether the service has profiles and none of them is active. Compose ignores such a service. */
  readonly isOutOfProfile: boolean;
}

/** The value of one environment variable of a service. */
export interface Setting {
  readonly text: string;
  readonly at: FilePosition;
  /** Variables in the value that are not set. */
  readonly unset: readonly string[];
}

interface Dependency {
  readonly at: FilePosition;
  readonly required: boolean;
}

export interface ServiceContext {
  readonly project: string;
  readonly variables: Variables;
  readonly activeProfiles: ReadonlySet<string>;
  /** `Fault.file` → the folder that relative paths in the file are resolved from. */
  readonly folders: ReadonlyMap<string, string>;
}

export function serviceOf(name: string, { key, value }: ComposeEntry, context: ServiceContext): Service {
  const node: MapNode = value.kind === 'map' ? value : { kind: 'map', entries: new Map(), at: key, tag: undefined };
  const missingEnvFiles: ComposeNode[] = [];
  return {
    name,
    at: key,
    node,
    environment: environmentOf(node, context, missingEnvFiles),
    missingEnvFiles,
    networks: networksOf(name, node, context.project),
    networkMode: scalarText(child(node, 'network_mode')),
    dependsOn: new Map(
      mapEntries(child(node, 'depends_on')).map(([other, entry]) => [
        other,
        { at: entry.key, required: scalarText(child(entry.value, 'required')) !== 'false' },
      ]),
    ),
    notStartedReason: whyNotStarted(node, context.activeProfiles),
    isOutOfProfile: isOutOfProfile(node, context.activeProfiles),
  };
}

/** The texts in which a service could name another service. */
export function referringTexts(service: Service): readonly string[] {
  const nodes = ['command', 'entrypoint', 'links', 'volumes_from', 'network_mode'].map((key) =>
    child(service.node, key),
  );
  return [...[...service.environment.values()].map(({ text }) => text), ...nodes.flatMap(allTexts)];
}

function environmentOf(
  node: MapNode,
  { variables, folders }: ServiceContext,
  missingEnvFiles: ComposeNode[],
): Map<string, Setting> {
  const settings = new Map<string, Setting>();
  for (const item of listItems(child(node, 'env_file'))) {
    const path = scalarText(item) ?? scalarText(child(item, 'path')) ?? '';
    const fromFile = readEnvFile(resolve(folders.get(item.at.file) ?? '.', path));
    if (!fromFile && scalarText(child(item, 'required')) !== 'false') missingEnvFiles.push(item);
    for (const [name, text = ''] of Object.entries(fromFile ?? {}))
      settings.set(name, { text, at: item.at, unset: [] });
  }
  for (const [name, { key, value }] of mapEntries(child(node, 'environment'))) {
    // A name without a value takes the value from the environment of Compose itself.
    const inherited = Object.hasOwn(variables, name) ? variables[name] : undefined;
    const text = scalarText(value) ?? inherited;
    const unset = value.kind === 'scalar' ? value.unset : [];
    if (text !== undefined) settings.set(name, { text, at: key, unset });
    else settings.delete(name);
  }
  return settings;
}

function networksOf(name: string, node: MapNode, project: string): Map<string, ReadonlySet<string>> {
  if (child(node, 'network_mode') !== undefined) return new Map();
  const networks = mapEntries(child(node, 'networks'));
  const container = scalarText(child(node, 'container_name'));
  const hostNames = [
    name,
    ...(container === undefined ? [`${project}-${name}-1`, `${project}_${name}_1`] : [container]),
    ...textsOf(child(node, 'hostname')),
  ];
  const inLowerCase = (names: readonly string[]): Set<string> =>
    new Set(names.map((hostName) => hostName.toLowerCase()));
  if (networks.length === 0) return new Map([['default', inLowerCase(hostNames)]]);
  return new Map(
    networks.map(([network, { value }]) => [network, inLowerCase([...hostNames, ...textsOf(child(value, 'aliases'))])]),
  );
}

function whyNotStarted(node: MapNode, activeProfiles: ReadonlySet<string>): string | undefined {
  if (isOutOfProfile(node, activeProfiles)) {
    return `only started with the profile ${textsOf(child(node, 'profiles'))
      .map((profile) => shortened(profile))
      .join(' or ')}`;
  }
  const replicas = scalarText(child(node, 'scale')) ?? scalarText(child(node, 'deploy', 'replicas'));
  return replicas !== undefined && Number(replicas) === 0 ? 'scaled to 0' : undefined;
}

function isOutOfProfile(node: MapNode, activeProfiles: ReadonlySet<string>): boolean {
  const profiles = textsOf(child(node, 'profiles'));
  return profiles.length > 0 && !activeProfiles.has('*') && !profiles.some((profile) => activeProfiles.has(profile));
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
  return listItems(child(service.node, 'volumes')).flatMap((item): Mount[] => {
    const [source, target = ''] =
      item.kind === 'map'
        ? [scalarText(child(item, 'source')), scalarText(child(item, 'target'))]
        : (scalarText(item)?.split(':') ?? []);
    const isBind = source !== undefined && (/^[./~]/.test(source) || scalarText(child(item, 'type')) === 'bind');
    return isBind ? [{ source: resolve(folders.get(item.at.file) ?? '.', source), target, at: item.at }] : [];
  });
}

/** A range of ports that a service listens on, according to the Compose file. */
export interface Port {
  readonly first: number;
  readonly last: number;
  /** The published port of the host; undefined if there is none, or Docker chooses it. */
  readonly published: number | undefined;
  /** The key or variable with the port: `ports`, `PORT`. */
  readonly key: string;
  readonly at: FilePosition;
}

/** The ports that a service listens on, according to the Compose file. The image may listen on other ports. */
export function portsOf(service: Service): readonly Port[] {
  return [
    ...listItems(child(service.node, 'ports')).flatMap(portsInMapping),
    ...listItems(child(service.node, 'expose')).flatMap((item) => portRange(scalarText(item), 'expose', item.at)),
    ...['PORT', 'HTTP_PORT', 'SERVER_PORT'].flatMap((name) => {
      const setting = service.environment.get(name);
      return setting ? portRange(setting.text, name, setting.at) : [];
    }),
    ...portsInHealthcheck(child(service.node, 'healthcheck', 'test')),
  ];
}

export function listensOn(ports: readonly Port[], port: number): boolean {
  return ports.some(({ first, last }) => first <= port && port <= last);
}

/** `[address:][published:]target[/protocol]`, with ranges; or the long form. */
function portsInMapping(item: ComposeNode): Port[] {
  if (item.kind === 'map') {
    if (scalarText(child(item, 'protocol')) === 'udp') return [];
    return portRange(scalarText(child(item, 'target')), 'ports', item.at, scalarText(child(item, 'published')));
  }
  const text = scalarText(item) ?? '';
  // Longer than any valid mapping; the pattern below is slow on long texts.
  if (text.length > 200) return [];
  const [, published, target] = /^(?:.*?:)??(?:([\d-]*):)?([\d-]+(?:\/\w+)?)$/.exec(text) ?? [];
  return portRange(target, 'ports', item.at, published);
}

function portRange(text: string | undefined, key: string, at: FilePosition, publishedText?: string): Port[] {
  const [, first = '', last = first, protocol = 'tcp'] =
    /^(\d{1,5})(?:-(\d{1,5}))?(?:\/(\w+))?$/.exec(text ?? '') ?? [];
  if (first === '' || protocol === 'udp') return [];
  const published = publishedText !== undefined && /^\d{1,5}$/.test(publishedText) ? Number(publishedText) : undefined;
  return [{ first: Number(first), last: Number(last), published, key, at }];
}

/** The ports in the URLs of a health check, which runs in the container itself. */
function portsInHealthcheck(test: ComposeNode | undefined): Port[] {
  const urls = allTexts(test)
    .join(' ')
    .matchAll(/(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]):(\d{1,5})/g);
  return test ? [...urls].flatMap(([, port]) => portRange(port, 'healthcheck', test.at)) : [];
}

/** `3000, 9229-9230` */
export function portsInWords(ports: readonly Port[]): string {
  const words = ports.map(({ first, last }) => (first === last ? String(first) : `${first}-${last}`));
  return [...new Set(words)].join(', ');
}
