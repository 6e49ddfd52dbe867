import { brief, type Finding, faultIn, warning } from '../finding.ts';
import { opaque } from '../interpolate.ts';
import { child, textOf } from '../node.ts';
import { mentions, type Service } from '../service.ts';
import { type ComposeRule, isNamedFor, type Pair, servedTargets, servicesOf } from './rule.ts';

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
  [...leftovers(pair)].flatMap(([service, version]): Finding[] => {
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
function leftovers(pair: Pair): ReadonlyMap<Service, string> {
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
function backends({ project, gateway }: Pair): readonly Service[] {
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
