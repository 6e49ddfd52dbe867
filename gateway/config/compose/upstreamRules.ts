import { nearest } from '../nearest.ts';
import { faultAt } from '../source.ts';
import { brief, type ComposeFinding, faultFinding, listed, warningFinding } from './finding.ts';
import { listensOn, portsInWords, portsOf, type Service } from './service.ts';
import {
  type ComposeContext,
  type ComposeRule,
  type ComposeTarget,
  isLoopback,
  reachableNames,
  servedTargets,
} from './upstreams.ts';

/** If no service has the host name of a target, every request gets 502. */
export const upstreamUnanswered: ComposeRule = (context) =>
  servedTargets(context).flatMap(({ target, resolution }): ComposeFinding[] => {
    const { source, gateway, project } = context;
    const faultWith = (message: string, remedy: string) =>
      faultAt(source, target.path, `${target.url}: ${message}`, `${remedy}${whereSet(target, gateway)}`);
    const host = brief(target.host);
    if (resolution.kind === 'itself') {
      const message = isLoopback(target.host)
        ? `in the container of the gateway, ${host} is the service ${brief(gateway.name)} itself.`
        : 'this is the gateway itself.';
      return [faultFinding(faultWith(message, `${suggestion(target, context)}.`))];
    }
    if (resolution.kind === 'elsewhere') {
      const where = `${brief(resolution.service.name)} is on ${place(resolution.service)}, and ${brief(gateway.name)} on ${place(gateway)}.`;
      return [faultFinding(faultWith(where, 'Put both on one network.'))];
    }
    if (resolution.kind !== 'nothing') return [];
    const external = [...gateway.networks.keys()].filter((network) => project.externalNetworks.has(network));
    if (external.length > 0) {
      const remedy = `Make sure that a container of another project has this name on ${listed(external)}.`;
      return [warningFinding(faultWith(`no service of these files has the name ${host}.`, remedy))];
    }
    const names = reachableNames(gateway, project);
    const best = nearest(target.host, names);
    const known = names.length === 0 ? 'Add the service to one.' : `Services there: ${listed(names)}.`;
    const remedy = best === undefined ? known : `Did you mean ${brief(best)}?`;
    return [faultFinding(faultWith(`no service has the name ${host} on a network of ${brief(gateway.name)}.`, remedy))];
  });

/** A port without a listener refuses every connection. */
export const portDiffers: ComposeRule = (context) =>
  servedTargets(context).flatMap(({ target, resolution }): ComposeFinding[] => {
    // With `network_mode: host`, `resolveHost` has found the service by this port.
    if (resolution.kind !== 'services' || context.gateway.networkMode === 'host') return [];
    const known = resolution.services.map((service) => ({ service, ports: portsOf(service) }));
    if (known.some(({ ports }) => ports.length === 0 || listensOn(ports, target.port))) return [];
    return known.slice(0, 1).map(({ service, ports }) => {
      const published = ports.find((port) => port.published === target.port);
      const message = published
        ? `${target.port} is the published port of the host; in its container ${brief(service.name)} listens on ${portsInWords([published])}.`
        : `${brief(service.name)} listens on ${portsInWords(ports)} (${[...new Set(ports.map(({ key }) => key))].join(', ')}).`;
      const first = published ?? ports[0];
      const remedy = `Write ${portsInWords(first ? [first] : [])}, or add ${target.port} to expose if it is right.`;
      return faultFinding(
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
  servedTargets(context).flatMap(({ target, resolution }): ComposeFinding[] => {
    if (resolution.kind !== 'services' || resolution.services.some(({ notStarted }) => notStarted === undefined))
      return [];
    return resolution.services.slice(0, 1).map(({ name, notStarted }) => {
      const remedy = `Let \`docker compose up\` start it, or retire /${target.version}.`;
      return warningFinding(
        faultAt(context.source, target.path, `${target.url}: ${brief(name)} is ${notStarted}.`, remedy),
      );
    });
  });

function suggestion(target: ComposeTarget, { gateway, project, versions }: ComposeContext): string {
  const names = new Set(reachableNames(gateway, project));
  const near = [...project.services.values()].filter(({ name }) => names.has(name));
  const byPort = near.filter((service) =>
    portsOf(service).some((port) => port.published === target.port || listensOn([port], target.port)),
  );
  const service = byPort.length === 1 ? byPort[0] : near.find(({ name }) => name === target.version);
  const belongsToOtherVersion = versions.some(({ name }) => name === service?.name && name !== target.version);
  const scheme = target.url.slice(0, target.url.indexOf(':'));
  const ports = service ? portsOf(service) : [];
  const port = listensOn(ports, target.port)
    ? target.port
    : (ports[0]?.first ?? (isLoopback(target.host) ? target.port : 'PORT'));
  const url = service && !belongsToOtherVersion ? `${scheme}://${brief(service.name)}:${port}` : 'http://SERVICE:PORT';
  return target.variable === undefined
    ? `Write ${url}`
    : `Set ${target.variable} in the environment of ${brief(gateway.name)}, so that the URL becomes ${url}`;
}

/** The position of a value that comes from the Compose file, where it has to be corrected. */
function whereSet({ variable }: ComposeTarget, gateway: Service): string {
  const setting = variable === undefined ? undefined : gateway.environment.get(variable);
  return setting ? `  ${variable} is set at ${setting.at.file}:${setting.at.line}:${setting.at.column}.` : '';
}

function place({ networks, networkMode }: Service): string {
  if (networkMode !== undefined)
    return networkMode === 'host' ? 'the network of the host' : `network_mode ${networkMode}`;
  return `the network${networks.size === 1 ? '' : 's'} ${listed([...networks.keys()])}`;
}
