import { realPathOf } from '../../location.ts';
import { brief, type Finding, faultIn, serious, warning } from '../finding.ts';
import { mountsOf } from '../mounts.ts';
import { child, textOf } from '../node.ts';
import { type ComposeRule, servicesOf } from './rule.ts';

/** The gateway is there to outlive its backends. */
export const dependsOnBackend: ComposeRule = ({ gateway, versions, project }) => {
  const backends = servicesOf(versions.flatMap(({ targets }) => targets));
  return [...gateway.dependsOn].flatMap(([name, { at, required }]): Finding[] => {
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
