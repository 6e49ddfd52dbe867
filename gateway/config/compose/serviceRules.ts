import { shortened } from '../../shared/text.ts';
import { realPathOf } from '../location.ts';
import { valuePlaceholder } from './interpolate.ts';
import { type ComposeFinding, child, errorFinding, faultIn, scalarText, warningFinding } from './node.ts';
import { mountsOf, referringTexts, type Service } from './service.ts';
import {
  type ComposeContext,
  type ComposeRule,
  type ComposeVersion,
  isNamedFor,
  needsBackend,
  servicesOf,
  targetsInUse,
} from './upstreams.ts';

/** The gateway should start and run without its backends. */
export const dependsOnBackend: ComposeRule = ({ gateway, versions, project }) => {
  const backends = servicesOf(versions.flatMap(({ targets }) => targets));
  return [...gateway.dependsOn].flatMap(([name, { at, required }]): ComposeFinding[] => {
    const service = project.services.get(name);
    if (!required) return [];
    const path = ['services', gateway.name, 'depends_on', name];
    if (!service) {
      const remedy = 'Remove it; otherwise Compose rejects the whole file.';
      return [
        errorFinding(
          faultIn(at, path, `The service ${shortened(name)}, which this one depends on, does not exist.`, remedy),
        ),
      ];
    }
    if (service.isOutOfProfile && !gateway.isOutOfProfile) {
      const message = `Compose does not start ${shortened(gateway.name)}, because it depends on ${shortened(name)}, which is ${service.notStartedReason}.`;
      return [errorFinding(faultIn(at, path, message, 'Remove it.'))];
    }
    if (!backends.has(service)) return [];
    const message = `${shortened(gateway.name)} does not start without ${shortened(name)}, and starting it also starts ${shortened(name)}.`;
    return [warningFinding(faultIn(at, path, message, 'Remove it: the gateway does not need its backends to start.'))];
  });
};

/** Most editors save a file by a rename. A container that mounts only this file keeps the old one. */
export const routesMountedAlone: ComposeRule = ({ gateway, project, routesFile }) =>
  mountsOf(gateway, project.folders)
    .filter((mount) => realPathOf(mount.source) === routesFile)
    .map(({ at }) => {
      const message =
        'routes.yaml is mounted as a single file. When an editor saves it by a rename, the gateway keeps reading the old file.';
      return warningFinding(
        faultIn(at, ['services', gateway.name, 'volumes'], message, 'Mount the folder of the file.'),
      );
    });

/** Variables and env files that the Compose file passes to the gateway, but that are not set or cannot be read. */
export const gatewayEnvironment: ComposeRule = ({ gateway }) => {
  const unreadable = gateway.missingEnvFiles.map((item) => {
    const path = scalarText(item) ?? scalarText(child(item, 'path')) ?? '';
    const remedy = 'Correct the path, or write required: false.';
    return errorFinding(
      faultIn(item.at, ['services', gateway.name, 'env_file'], `${shortened(path)} cannot be read.`, remedy),
    );
  });
  const unset = [...gateway.environment].flatMap(([name, { at, unset: names }]) =>
    names.map((variable) => {
      const path = ['services', gateway.name, 'environment', name];
      const message = `${variable} is set neither in the environment nor in .env, so it is empty in the container.`;
      return warningFinding(faultIn(at, path, message, `Set it, or write \${${variable}:-default}.`));
    }),
  );
  return [...unreadable, ...unset];
};

/** A container that still runs although its service was removed from the file. Compose does not stop it. */
export const orphanStillRuns: ComposeRule = (context) => {
  const { project, versions, running = new Set<string>() } = context;
  // If a version still uses the host, its container must not be removed. Another rule reports the missing service.
  const usedHosts = new Set(targetsInUse(context).map(({ target }) => target.host));
  const orphans = [...running].filter((name) => !project.services.has(name) && !usedHosts.has(name.toLowerCase()));
  return orphans.map((service): ComposeFinding => {
    const name = shortened(service);
    const unusedVersion = versions.find((version) => !needsBackend(version) && isNamedFor(service, version.name));
    const message = `A container of ${name} still runs in the project ${shortened(project.name)}, but none of these files has that service.`;
    const removal =
      'remove it with `docker compose up --detach --remove-orphans`, or with `docker rm --force` and its name';
    const steps = unusedVersion
      ? `Wait for \`version-gateway status --wait /${unusedVersion.name}\`, then ${removal}`
      : `${removal.charAt(0).toUpperCase()}${removal.slice(1)}`;
    const at = { file: project.files[0] ?? '', line: 1, column: 1 };
    const fault = faultIn(
      at,
      ['services', service],
      message,
      `${steps}; if another file has the service, name that file too.`,
    );
    // An orphan has no line in these files.
    return warningFinding({ ...fault, line: undefined, column: undefined });
  });
};

/** A service with this label and the value `false` is not a backend of the gateway. */
export const backendLabel = 'version-gateway.backend';

// Images of services that are not an API, such as databases. The list only suppresses a warning.
const commonImages = new Set(
  `postgres postgresql postgis timescaledb mysql mariadb percona mongo mongodb redis valkey memcached rabbitmq kafka
  zookeeper nats elasticsearch opensearch kibana prometheus alertmanager grafana loki tempo jaeger all-in-one zipkin
  opentelemetry-collector opentelemetry-collector-contrib nginx traefik caddy haproxy minio mailhog mailpit adminer
  pgadmin4 phpmyadmin vault consul etcd cadvisor node-exporter watchtower`.split(/\s+/),
);

/** A service that looks like a version of the API, but has no route. */
export const serviceUnreached: ComposeRule = (context) => {
  // If the host of a target is a variable that is not set, the target may be any service.
  if (targetsInUse(context).some(({ target }) => target.host.includes(valuePlaceholder))) return [];
  const reached = servicesOf(context.versions.flatMap(({ targets }) => targets));
  const unneeded = unneededServices(context);
  // The host names no service, the gateway itself, or a service that the gateway cannot reach.
  const wrongKinds = ['nothing', 'itself', 'elsewhere'];
  const misdirected = context.versions.filter(({ targets }) =>
    targets.some(({ resolution }) => wrongKinds.includes(resolution.kind)),
  );
  return (
    possibleBackends(context)
      .filter((service) => service.notStartedReason === undefined && !reached.has(service) && !unneeded.has(service))
      // If a version of that name has a wrong host, another rule reports the host.
      .filter((service) => !misdirected.some(({ name }) => isNamedFor(service.name, name)))
      .map((service) => {
        const name = shortened(service.name);
        const remedy = `Add a route to it, or label it ${backendLabel}: "false" if it is no version of the API.`;
        const message = `No route leads to ${name}, although ${shortened(context.gateway.name)} can reach it.`;
        return warningFinding(faultIn(service.at, ['services', service.name], message, remedy));
      })
  );
};

/**
 * A retired version needs no service, because its requests are answered 410. A version that an adapter serves uses the
 * service of another version. This is a warning and not a fault, because the service must run until the requests in flight at
 * the retirement have ended.
 */
export const retiredStillRuns: ComposeRule = (context) =>
  [...unneededServices(context)].flatMap(([service, { name: version, from }]): ComposeFinding[] => {
    const isRunning = context.running?.has(service.name) === true;
    if (service.notStartedReason !== undefined && !isRunning) return [];
    const name = shortened(service.name);
    const state = isRunning ? 'its container still runs' : `\`docker compose up\` starts it`;
    const steps = [
      ...(isRunning ? [`\`docker compose stop ${name}\``] : []),
      ...(service.notStartedReason === undefined ? ['remove it from the file or give it a profile'] : []),
    ];
    const remedy = `Wait for \`version-gateway status --wait /${version}\`, then ${steps.join(', and ')}.`;
    const reason = from === undefined ? 'is retired' : `is served by an adapter from /${from}`;
    const message = `/${version} ${reason} and no longer needs ${name}, but ${state}.`;
    const fault = faultIn(service.at, ['services', service.name], message, remedy);
    // An operator may keep the backend of an adapted version, to be able to remove the adapter again.
    return [from === undefined ? warningFinding(fault) : { level: 'note', fault }];
  });

/** Service → the version that no longer needs it. The service is a target of that version, or is named after it. */
function unneededServices(context: ComposeContext): ReadonlyMap<Service, ComposeVersion> {
  const inUse = servicesOf(targetsInUse(context));
  const candidates = possibleBackends(context);
  const unneeded = new Map<Service, ComposeVersion>();
  for (const version of context.versions) {
    if (needsBackend(version)) continue;
    const named = candidates.filter((service) => isNamedFor(service.name, version.name));
    for (const service of [...servicesOf(version.targets), ...named])
      if (!inUse.has(service)) unneeded.set(service, version);
  }
  return unneeded;
}

/**
 * The services that may be backends of the gateway: they are on one of its networks, no other service uses them, they do not use
 * the gateway, and neither their label nor their image excludes them.
 */
function possibleBackends({ project, gateway }: ComposeContext): readonly Service[] {
  const others = [...project.services.values()].filter((service) => service !== gateway);
  const namesByService = others.map((service) => [service, namesUsedBy(service)] as const);
  const namesUsedByOthers = new Set(
    namesByService.flatMap(([{ name }, usedNames]) => [...usedNames].filter((host) => host !== name.toLowerCase())),
  );
  return namesByService.flatMap(([service, usedNames]) => {
    const isReachable = [...service.networks.keys()].some((network) => gateway.networks.has(network));
    const isExcluded =
      scalarText(child(service.node, 'labels', backendLabel)) === 'false' || commonImages.has(imageOf(service));
    const isInFront = usedNames.has(gateway.name.toLowerCase());
    return isReachable && !isExcluded && !isInFront && !namesUsedByOthers.has(service.name.toLowerCase())
      ? [service]
      : [];
  });
}

/** The services that a service depends on, and all texts in the position of a host name; in lower case. */
function namesUsedBy(service: Service): ReadonlySet<string> {
  const hostPattern = /(?<=^|\/\/|[@,=\s])[\w.-]+(?=[:/,\s]|$)/g;
  const hosts = referringTexts(service).flatMap((text) => text.match(hostPattern) ?? []);
  return new Set([...service.dependsOn.keys(), ...hosts].map((name) => name.toLowerCase()));
}

/** The name of an image: `postgres` for `docker.io/library/postgres:17`. */
function imageOf({ node }: Service): string {
  const last = (scalarText(child(node, 'image')) ?? '').split('/').at(-1) ?? '';
  return last.replace(/[:@].*$/s, '');
}
