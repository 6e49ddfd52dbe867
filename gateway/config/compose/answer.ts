import { isIP } from 'node:net';
import { allTexts, child, entriesOf } from './node.ts';
import { portsOf } from './ports.ts';
import type { Project } from './project.ts';
import type { Service } from './service.ts';
import type { Target } from './targets.ts';

/**
 * Who answers to the host of a target, seen from the gateway's container.
 * - `elsewhere`: a service has the name, on networks that the gateway is not on
 * - `outside`: a host of which the files know nothing
 */
export type Answer =
  | { readonly kind: 'services'; readonly services: readonly Service[] }
  | { readonly kind: 'elsewhere'; readonly service: Service }
  | { readonly kind: 'itself' | 'outside' | 'nobody' };

export function answerTo({ host, port }: Target, project: Project, gateway: Service): Answer {
  const all = [...project.services.values()];
  if (isLoopback(host)) return atLoopback(port, project, gateway);
  const isOn = (service: Service, network: string): boolean => service.networks.get(network)?.has(host) === true;
  const services = all.filter((service) => [...gateway.networks.keys()].some((network) => isOn(service, network)));
  if (services.some((service) => service !== gateway)) {
    return { kind: 'services', services: services.filter((service) => service !== gateway) };
  }
  if (services.length > 0) return { kind: 'itself' };
  const links = allTexts(child(gateway.node, 'links')).map((link) => link.toLowerCase().split(':'));
  const linked = project.services.get(links.find((names) => names.at(-1) === host)?.[0] ?? '');
  if (linked) return { kind: 'services', services: [linked] };
  const elsewhere = all.find((service) => [...service.networks.keys()].some((network) => isOn(service, network)));
  if (elsewhere) return { kind: 'elsewhere', service: elsewhere };
  return isOutside(host, gateway) ? { kind: 'outside' } : { kind: 'nobody' };
}

/** The names that would find somebody from the gateway's container. */
export function namesFor(gateway: Service, project: Project): string[] {
  const others = [...project.services.values()].filter((service) => service !== gateway);
  const near = others.filter((service) => [...service.networks.keys()].some((key) => gateway.networks.has(key)));
  return near.map(({ name }) => name);
}

export function isLoopback(host: string): boolean {
  return /^(?:localhost|.+\.localhost|127\..*|0\.0\.0\.0|::1?)$/.test(host);
}

/** Within a network that it shares, the gateway meets other containers at 127.0.0.1. */
function atLoopback(port: number, project: Project, gateway: Service): Answer {
  const all = [...project.services.values()].filter((service) => service !== gateway);
  if (gateway.networkMode === 'host') {
    const there = all.filter((service) => portsOf(service).some(({ published }) => published === port));
    return there.length > 0 ? { kind: 'services', services: there } : { kind: 'outside' };
  }
  const [, shared = gateway.name] = /^service:(.+)$/.exec(gateway.networkMode ?? '') ?? [];
  const mates = all.filter(({ name, networkMode }) => name === shared || networkMode === `service:${shared}`);
  return mates.length > 0 ? { kind: 'services', services: mates } : { kind: 'itself' };
}

/** Addresses, names of the outer DNS, and those that the gateway's hosts file holds. */
function isOutside(host: string, gateway: Service): boolean {
  const extra = child(gateway.node, 'extra_hosts');
  const hosts = [...entriesOf(extra).map(([name]) => name), ...allTexts(extra).map((text) => text.split(/[:=]/)[0])];
  const foreign = allTexts(child(gateway.node, 'external_links')).map((link) => link.split(':').at(-1));
  return isIP(host) !== 0 || host.includes('.') || hosts.includes(host) || foreign.includes(host);
}
