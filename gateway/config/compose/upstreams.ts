import { isIP } from 'node:net';
import { shortened } from '../../shared/text.ts';
import { pathOfVersion } from '../api.ts';
import type { Path } from '../fault.ts';
import { nearest } from '../nearest.ts';
import type { Snapshot } from '../snapshot.ts';
import { faultAt, hasValue, placeKey, type Source, valueAt } from '../source.ts';
import { allTexts, type ComposeFinding, child, errorFinding, listed, mapEntries, warningFinding } from './node.ts';
import type { Project } from './project.ts';
import { listensOn, portsInWords, portsOf, type Service } from './service.ts';

/** One target of routes.yaml, with variables expanded as in the gateway's container. */
interface ComposeTarget {
  /** `v1` */
  readonly version: string;
  readonly url: string;
  /** In lower case, without the brackets of an IPv6 address and without a dot at the end. */
  readonly host: string;
  readonly port: number;
  /** The path of the target in routes.yaml. */
  readonly path: Path;
  /** The environment variable with which the target begins in routes.yaml, if any. */
  readonly variable: string | undefined;
}

export function composeTargets(snapshot: Snapshot, source: Source, text: string): readonly ComposeTarget[] {
  const lines = text.split(/\r\n?|\n/);
  return snapshot.sortedVersions.flatMap(({ name, targets }) =>
    targets.map((target, index): ComposeTarget => {
      const { hostname, port, protocol } = new URL(target.url);
      const path = pathOf(source, pathOfVersion(name), index);
      const place = source.places.get(placeKey(path))?.value;
      const written = place ? (lines[place.line - 1] ?? '').slice(place.column - 1) : '';
      return {
        version: name,
        url: target.url,
        host: hostname.toLowerCase().replace(/^\[|\]$|\.$/g, ''),
        port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
        path,
        variable: /^["']?\$\{?([A-Za-z_]\w*)/.exec(written)?.[1],
      };
    }),
  );
}

/** The path of a target. An upstream is a list of maps, a list of URLs, one URL, or the URL in place of the whole route. */
function pathOf(source: Source, route: Path, index: number): Path {
  const forms = [
    [...route, 'upstream', index, 'url'],
    [...route, 'upstream', index],
    [...route, 'upstream'],
  ];
  const isText = (path: Path): boolean => hasValue(source, path) && !Array.isArray(valueAt(source.tree, path));
  return forms.find(isText) ?? route;
}

/**
 * What the host of a target means in the gateway's container.
 * - `services`: these services of the project
 * - `itself`: the gateway's own container
 * - `elsewhere`: a service of that name, on networks that the gateway is not on
 * - `outside`: a host outside of the project
 * - `nothing`: neither a service nor a known host outside of the project
 */
export type HostResolution =
  | { readonly kind: 'services'; readonly services: readonly Service[] }
  | { readonly kind: 'elsewhere'; readonly service: Service }
  | { readonly kind: 'itself' | 'outside' | 'nothing' };

export function resolveHost({ host, port }: ComposeTarget, project: Project, gateway: Service): HostResolution {
  const projectServices = [...project.services.values()];
  if (isLoopback(host)) return atLoopback(port, project, gateway);
  const hasHostOn = (service: Service, network: string): boolean => service.networks.get(network)?.has(host) === true;
  const servicesWithHost = projectServices.filter((service) =>
    [...gateway.networks.keys()].some((network) => hasHostOn(service, network)),
  );
  if (servicesWithHost.some((service) => service !== gateway)) {
    return { kind: 'services', services: servicesWithHost.filter((service) => service !== gateway) };
  }
  if (servicesWithHost.length > 0) return { kind: 'itself' };
  // A link is `SERVICE:ALIAS` or `SERVICE`.
  const links = allTexts(child(gateway.node, 'links')).map((link) => link.split(':'));
  const linked = project.services.get(links.find((names) => names.at(-1)?.toLowerCase() === host)?.[0] ?? '');
  if (linked) return { kind: 'services', services: [linked] };
  const elsewhere = projectServices.find((service) =>
    [...service.networks.keys()].some((network) => hasHostOn(service, network)),
  );
  if (elsewhere) return { kind: 'elsewhere', service: elsewhere };
  return isOutside(host, gateway) ? { kind: 'outside' } : { kind: 'nothing' };
}

/** The names of the services that the gateway's container can reach. */
function reachableNames(gateway: Service, project: Project): string[] {
  const others = [...project.services.values()].filter((service) => service !== gateway);
  const reachable = others.filter((service) => [...service.networks.keys()].some((key) => gateway.networks.has(key)));
  return reachable.map(({ name }) => name);
}

function isLoopback(host: string): boolean {
  return /^(?:localhost|.+\.localhost|127\..*|0\.0\.0\.0|::1?)$/.test(host);
}

/** Services at 127.0.0.1 of the gateway's container: those that share its network. */
function atLoopback(port: number, project: Project, gateway: Service): HostResolution {
  const otherServices = [...project.services.values()].filter((service) => service !== gateway);
  if (gateway.networkMode === 'host') {
    const matching = otherServices.filter((service) => portsOf(service).some(({ published }) => published === port));
    return matching.length > 0 ? { kind: 'services', services: matching } : { kind: 'outside' };
  }
  const [, networkOwner = gateway.name] = /^service:(.+)$/.exec(gateway.networkMode ?? '') ?? [];
  const sharing = otherServices.filter(
    ({ name, networkMode }) => name === networkOwner || networkMode === `service:${networkOwner}`,
  );
  return sharing.length > 0 ? { kind: 'services', services: sharing } : { kind: 'itself' };
}

/** Whether the host is an IP address, a DNS name with a dot, or a name from `extra_hosts` or `external_links`. */
function isOutside(host: string, gateway: Service): boolean {
  const extraHosts = child(gateway.node, 'extra_hosts');
  const names = [
    ...mapEntries(extraHosts).map(([name]) => name),
    ...allTexts(extraHosts).map((text) => text.split(/[:=]/)[0]),
    ...allTexts(child(gateway.node, 'external_links')).map((link) => link.split(':').at(-1)),
  ];
  return isIP(host) !== 0 || host.includes('.') || names.some((name) => name?.toLowerCase() === host);
}

/** Everything that a rule compares. */
export interface ComposeContext {
  /** The parsed routes.yaml. */
  readonly source: Source;
  /** The absolute path of routes.yaml. */
  readonly routesFile: string;
  readonly project: Project;
  readonly gateway: Service;
  readonly versions: readonly ComposeVersion[];
  /** Names of the services that run, according to the engine; undefined if no engine answers. */
  readonly running: ReadonlySet<string> | undefined;
}

export interface ComposeVersion {
  /** `v1` */
  readonly name: string;
  readonly isRetired: boolean;
  /** The version whose backend serves this one through an adapter: `v2`. Then the targets of this version are not used. */
  readonly from: string | undefined;
  readonly targets: readonly ResolvedTarget[];
}

interface ResolvedTarget {
  readonly target: ComposeTarget;
  readonly resolution: HostResolution;
}

/** Returns the differences between routes.yaml and the project; never throws. */
export type ComposeRule = (context: ComposeContext) => ComposeFinding[];

/** The targets that get requests. Targets of retired versions, and of versions that an adapter serves, do not. */
export function targetsInUse({ versions }: ComposeContext): readonly ResolvedTarget[] {
  return versions.flatMap((version) => (needsBackend(version) ? version.targets : []));
}

export function needsBackend({ isRetired, from }: ComposeVersion): boolean {
  return !isRetired && from === undefined;
}

export function servicesOf(targets: readonly ResolvedTarget[]): ReadonlySet<Service> {
  return new Set(targets.flatMap(({ resolution }) => (resolution.kind === 'services' ? resolution.services : [])));
}

/** Whether a service is named after a version: `v1`, `api-v1`, `v1.api`; after `orders/v1`: `orders-v1`, `api-orders-v1`. */
export function isNamedFor(service: string, version: string): boolean {
  const [name, id] = [service, version].map((text) => `-${text.toLowerCase().replace(/[/_.]/g, '-')}-`);
  return name?.includes(id ?? '') === true;
}

/** If no service has the host name of a target, every request gets 502. */
export const upstreamUnanswered: ComposeRule = (context) =>
  targetsInUse(context).flatMap(({ target, resolution }): ComposeFinding[] => {
    const { source, gateway, project } = context;
    const faultWith = (message: string, remedy: string) =>
      faultAt(source, target.path, `${target.url}: ${message}`, `${remedy}${whereSet(target, gateway)}`);
    const host = shortened(target.host);
    if (resolution.kind === 'itself') {
      const message = isLoopback(target.host)
        ? `in the container of the gateway, ${host} is the container itself.`
        : 'this is the gateway itself.';
      return [errorFinding(faultWith(message, `${suggestion(target, context)}.`))];
    }
    if (resolution.kind === 'elsewhere') {
      const where = `${shortened(resolution.service.name)} is on ${networksInWords(resolution.service)}, and ${shortened(gateway.name)} on ${networksInWords(gateway)}.`;
      return [errorFinding(faultWith(where, 'Put both services on one network.'))];
    }
    if (resolution.kind !== 'nothing') return [];
    const externalNetworks = [...gateway.networks.keys()].filter((network) => project.externalNetworks.has(network));
    if (externalNetworks.length > 0) {
      const remedy = `Make sure that a container of another project has this name on ${listed(externalNetworks)}.`;
      return [warningFinding(faultWith(`no service of these files has the name ${host}.`, remedy))];
    }
    const names = reachableNames(gateway, project);
    const best = nearest(target.host, names);
    const remedyWithoutGuess =
      names.length === 0
        ? `Add the service to a network of ${shortened(gateway.name)}.`
        : `Services there: ${listed(names)}.`;
    const remedy = best === undefined ? remedyWithoutGuess : `Did you mean ${shortened(best)}?`;
    return [
      errorFinding(faultWith(`no service has the name ${host} on a network of ${shortened(gateway.name)}.`, remedy)),
    ];
  });

/** A port without a listener refuses every connection. */
export const portDiffers: ComposeRule = (context) =>
  targetsInUse(context).flatMap(({ target, resolution }): ComposeFinding[] => {
    // With `network_mode: host`, `resolveHost` has found the service by this port.
    if (resolution.kind !== 'services' || context.gateway.networkMode === 'host') return [];
    const candidates = resolution.services.map((service) => ({ service, ports: portsOf(service) }));
    if (candidates.some(({ ports }) => ports.length === 0 || listensOn(ports, target.port))) return [];
    return candidates.slice(0, 1).map(({ service, ports }) => {
      const published = ports.find((port) => port.published === target.port);
      const message = published
        ? `${target.port} is the published port of the host; in its container ${shortened(service.name)} listens on ${portsInWords([published])}.`
        : `${shortened(service.name)} listens on ${portsInWords(ports)} (${[...new Set(ports.map(({ key }) => key))].join(', ')}).`;
      const rightPort = published ?? ports[0];
      const remedy = `Write ${portsInWords(rightPort ? [rightPort] : [])}, or add ${target.port} to expose if that port is right.`;
      return errorFinding(
        faultAt(
          context.source,
          target.path,
          `${target.url}: ${message}`,
          `${remedy}${whereSet(target, context.gateway)}`,
        ),
      );
    });
  });

/** A service that is not started does not answer. */
export const backendNotStarted: ComposeRule = (context) =>
  targetsInUse(context).flatMap(({ target, resolution }): ComposeFinding[] => {
    if (
      resolution.kind !== 'services' ||
      resolution.services.some(({ notStartedReason }) => notStartedReason === undefined)
    )
      return [];
    const adapted = context.versions.filter(({ isRetired, from }) => !isRetired && from === target.version);
    return resolution.services.slice(0, 1).map(({ name, notStartedReason }) => {
      const adaptedNames = listed(adapted.map((version) => `/${version.name}`));
      const remedyEnd =
        adaptedNames === '' ? `, or retire /${target.version}` : `: it also answers for ${adaptedNames}`;
      const remedy = `Let \`docker compose up\` start it${remedyEnd}.`;
      return warningFinding(
        faultAt(context.source, target.path, `${target.url}: ${shortened(name)} is ${notStartedReason}.`, remedy),
      );
    });
  });

function suggestion(target: ComposeTarget, { gateway, project, versions }: ComposeContext): string {
  const names = new Set(reachableNames(gateway, project));
  const reachable = [...project.services.values()].filter(({ name }) => names.has(name));
  const byPort = reachable.filter((service) =>
    portsOf(service).some((port) => port.published === target.port || listensOn([port], target.port)),
  );
  const service = byPort.length === 1 ? byPort[0] : reachable.find(({ name }) => name === target.version);
  const belongsToOtherVersion = versions.some(({ name }) => name === service?.name && name !== target.version);
  const scheme = target.url.slice(0, target.url.indexOf(':'));
  const ports = service ? portsOf(service) : [];
  const port = listensOn(ports, target.port)
    ? target.port
    : (ports[0]?.first ?? (isLoopback(target.host) ? target.port : 'PORT'));
  const url =
    service && !belongsToOtherVersion ? `${scheme}://${shortened(service.name)}:${port}` : 'http://SERVICE:PORT';
  return target.variable === undefined
    ? `Write ${url}`
    : `Set ${target.variable} in the environment of ${shortened(gateway.name)}, so that the URL becomes ${url}`;
}

/** Where the Compose file sets the variable of a target, because the value must be corrected there. */
function whereSet({ variable }: ComposeTarget, gateway: Service): string {
  const setting = variable === undefined ? undefined : gateway.environment.get(variable);
  return setting ? `  ${variable} is set at ${setting.at.file}:${setting.at.line}:${setting.at.column}.` : '';
}

function networksInWords({ networks, networkMode }: Service): string {
  if (networkMode !== undefined)
    return networkMode === 'host' ? 'the network of the host' : `network_mode ${networkMode}`;
  return `the network${networks.size === 1 ? '' : 's'} ${listed([...networks.keys()])}`;
}
