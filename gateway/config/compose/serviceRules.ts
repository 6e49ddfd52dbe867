import { realPathOf } from '../location.ts';
import { brief, type ComposeFinding, faultIn, serious, warning } from './finding.ts';
import { opaque } from './interpolate.ts';
import { child, textOf } from './node.ts';
import { mentions, mountsOf, type Service } from './service.ts';
import { type ComposeContext, type ComposeRule, isNamedFor, servedTargets, servicesOf } from './upstreams.ts';

/** The gateway is there to outlive its backends. */
export const dependsOnBackend: ComposeRule = ({ gateway, versions, project }) => {
  const backends = servicesOf(versions.flatMap(({ targets }) => targets));
  return [...gateway.dependsOn].flatMap(([name, { at, required }]): ComposeFinding[] => {
    const service = project.services.get(name);
    if (!required) return [];
    const path = ['services', gateway.name, 'depends_on', name];
    if (!service) {
      const remedy = 'Take it out: Compose refuses the whole file otherwise.';
      return [serious(faultIn(at, path, `There is no service ${brief(name)} to depend on.`, remedy))];
    }
    if (service.isOutOfProfile && !gateway.isOutOfProfile) {
      const message = `Compose starts no ${brief(gateway.name)} that depends on ${brief(name)}, which is ${service.idle}.`;
      return [serious(faultIn(at, path, message, 'Take it out.'))];
    }
    if (!backends.has(service)) return [];
    const message = `${brief(gateway.name)} does not start without ${brief(name)}, and starts it whenever it starts.`;
    return [
      warning(faultIn(at, path, message, 'Take it out: the gateway waits for no backend, and serves the others.')),
    ];
  });
};

/** An editor saves by a rename, and the mount of one file goes on showing the old one. */
export const mountedAlone: ComposeRule = ({ gateway, project, routesFile }) =>
  mountsOf(gateway, project.folders)
    .filter((mount) => realPathOf(mount.source) === routesFile)
    .map(({ at }) => {
      const message =
        'routes.yaml is mounted as a single file: once it is saved by a rename, the gateway sees the old one.';
      return warning(faultIn(at, ['services', gateway.name, 'volumes'], message, 'Mount the folder that it is in.'));
    });

/** What the gateway's environment lacks, although the file means to hand it on. */
export const emptyVariables: ComposeRule = ({ gateway }) => {
  const lost = gateway.lostEnvFiles.map((item) => {
    const path = textOf(item) ?? textOf(child(item, 'path')) ?? '';
    const remedy = 'Correct the path, or write required: false.';
    return serious(faultIn(item.at, ['services', gateway.name, 'env_file'], `${brief(path)} cannot be read.`, remedy));
  });
  const unset = [...gateway.environment].flatMap(([name, { at, unset: names }]) =>
    names.map((variable) => {
      const path = ['services', gateway.name, 'environment', name];
      const message = `${variable} is set neither in the environment nor in .env, so Compose puts nothing in its place.`;
      return warning(faultIn(at, path, message, `Set it, or write \${${variable}:-default}.`));
    }),
  );
  return [...lost, ...unset];
};

/** A container whose service was taken out of the file before it was stopped: Compose itself leaves it running. */
export const orphaned: ComposeRule = (pair) => {
  const { project, versions, running = new Set<string>() } = pair;
  // A host that a served version still asks for is a fault of its own, and no container to remove.
  const asked = new Set(servedTargets(pair).map(({ target }) => target.host));
  const lost = [...running].filter((name) => !project.services.has(name) && !asked.has(name.toLowerCase()));
  return lost.map((service): ComposeFinding => {
    const name = brief(service);
    const retired = versions.find((version) => version.isRetired && isNamedFor(service, version.name));
    const message = `A container of ${name} still runs in the project ${brief(project.name)}, and no file here has that service.`;
    const remove =
      'remove it with `docker compose up --detach --remove-orphans`, or with `docker rm --force` and its name';
    const steps = retired
      ? `Wait for \`version-gateway status --wait /${retired.name}\`, then ${remove}`
      : `${remove.charAt(0).toUpperCase()}${remove.slice(1)}`;
    const at = { file: project.files[0] ?? '', line: 1, column: 1 };
    const fault = faultIn(at, ['services', service], message, `${steps}; if another file has it, name that, too.`);
    // There is no line of it.
    return warning({ ...fault, line: undefined, column: undefined });
  });
};

/** The way to say that a service is none of the gateway's. */
export const label = 'version-gateway.backend';

// What stands beside an API without being one. A list of habits, so it only ever keeps a warning away.
const furniture = new Set(
  `postgres postgresql postgis timescaledb mysql mariadb percona mongo mongodb redis valkey memcached rabbitmq kafka
  zookeeper nats elasticsearch opensearch kibana prometheus alertmanager grafana loki tempo jaeger all-in-one zipkin
  opentelemetry-collector opentelemetry-collector-contrib nginx traefik caddy haproxy minio mailhog mailpit adminer
  pgadmin4 phpmyadmin vault consul etcd cadvisor node-exporter watchtower`.split(/\s+/),
);

/** A version that was started and forgotten. */
export const unreached: ComposeRule = (pair) => {
  // Where a host is still to be set, it may be any of them.
  if (servedTargets(pair).some(({ target }) => target.host.includes(opaque))) return [];
  const reached = servicesOf(pair.versions.flatMap(({ targets }) => targets));
  const doomed = leftovers(pair);
  const astray = ['nobody', 'itself', 'elsewhere'];
  const missed = pair.versions.filter(({ targets }) => targets.some(({ answer }) => astray.includes(answer.kind)));
  return (
    backends(pair)
      .filter((service) => service.idle === undefined && !reached.has(service) && !doomed.has(service))
      // Its route is there and goes astray, which has been said.
      .filter((service) => !missed.some(({ name }) => isNamedFor(service.name, name)))
      .map((service) => {
        const name = brief(service.name);
        const remedy = `Add a route to it, or label it ${label}: "false" if it is no version of the API.`;
        const message = `No route reaches ${name}, though ${brief(pair.gateway.name)} could.`;
        return warning(faultIn(service.at, ['services', service.name], message, remedy));
      })
  );
};

/**
 * A retired version answers 410 without its service. It is a warning, since between the two steps of retiring the
 * service has to run on for a while.
 */
export const stillRuns: ComposeRule = (pair) =>
  [...leftovers(pair)].flatMap(([service, version]): ComposeFinding[] => {
    const isRunning = pair.running?.has(service.name) === true;
    if (service.idle !== undefined && !isRunning) return [];
    const name = brief(service.name);
    const state = isRunning ? 'its container still runs' : `\`docker compose up\` starts it`;
    const steps = [
      ...(isRunning ? [`\`docker compose stop ${name}\``] : []),
      ...(service.idle === undefined ? ['take it out of the file or give it a profile'] : []),
    ];
    const remedy = `Wait for \`version-gateway status --wait /${version}\`, then ${steps.join(', and ')}.`;
    const message = `/${version} is retired and needs ${name} no more, but ${state}.`;
    return [warning(faultIn(service.at, ['services', service.name], message, remedy))];
  });

/** Services that only retired versions have: by their upstream, or, for a bare tombstone, by their name. */
function leftovers(pair: ComposeContext): ReadonlyMap<Service, string> {
  const inUse = servicesOf(servedTargets(pair));
  const candidates = backends(pair);
  const found = new Map<Service, string>();
  for (const { name, isRetired, targets } of pair.versions) {
    if (!isRetired) continue;
    const named = candidates.filter((service) => isNamedFor(service.name, name));
    for (const service of [...servicesOf(targets), ...named]) if (!inUse.has(service)) found.set(service, name);
  }
  return found;
}

/** What shares a network with the gateway, and is neither a part of another service nor in front of the gateway. */
function backends({ project, gateway }: ComposeContext): readonly Service[] {
  const others = [...project.services.values()].filter((service) => service !== gateway);
  const needs = others.map((service) => [service, namedBy(service)] as const);
  const needed = new Set(
    needs.flatMap(([{ name }, hosts]) => [...hosts].filter((host) => host !== name.toLowerCase())),
  );
  return needs.flatMap(([service, hosts]) => {
    const isNear = [...service.networks.keys()].some((network) => gateway.networks.has(network));
    const isNone = textOf(child(service.node, 'labels', label)) === 'false' || furniture.has(imageOf(service));
    const isInFront = hosts.has(gateway.name.toLowerCase());
    return isNear && !isNone && !isInFront && !needed.has(service.name.toLowerCase()) ? [service] : [];
  });
}

/** All that a service depends on, or has where the name of a host would stand; in lower case. */
function namedBy(service: Service): ReadonlySet<string> {
  const host = /(?<=^|\/\/|[@,=\s])[\w.-]+(?=[:/,\s]|$)/g;
  const hosts = mentions(service).flatMap((text) => text.match(host) ?? []);
  return new Set([...service.dependsOn.keys(), ...hosts].map((name) => name.toLowerCase()));
}

/** `docker.io/library/postgres:17` is a postgres. */
function imageOf({ node }: Service): string {
  const last = (textOf(child(node, 'image')) ?? '').split('/').at(-1) ?? '';
  return last.replace(/[:@].*$/s, '');
}
