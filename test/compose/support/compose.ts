import * as dockerCompose from 'docker-compose';
import { isInstalled, outputOf } from './programs.ts';
import type { ComposeProject } from './setup.ts';

/** Runs Compose in the folder of the project, with `docker-compose` if it is installed, otherwise with `docker compose`. */
export function composeWith({ folder, env }: ComposeProject, files: readonly string[] = []) {
  const options = {
    cwd: folder,
    env: { ...process.env, ...env },
    config: [...files],
    ...(isInstalled('docker-compose') ? { executable: { standalone: true as const } } : {}),
  };
  const projectName = env['COMPOSE_PROJECT_NAME'];
  const outputOfCompose = async (work: Promise<dockerCompose.IDockerComposeResult>): Promise<string> => {
    const { out, err, exitCode } = await work.catch((failed: dockerCompose.IDockerComposeResult) => failed);
    if (exitCode !== 0) throw new Error(`Compose exited with ${exitCode}: ${err}`);
    return out;
  };
  const docker = (...args: string[]): Promise<string> => outputOf('docker', args, options.env);
  const ids = async (service: string): Promise<string[]> => {
    const labels = [`com.docker.compose.project=${projectName}`, `com.docker.compose.service=${service}`];
    const list = await docker('ps', '-q', '--no-trunc', ...labels.flatMap((label) => ['--filter', `label=${label}`]));
    return list.split('\n').filter((id) => id !== '');
  };
  return {
    build: () => outputOfCompose(dockerCompose.buildAll(options)),
    up: (...args: string[]) => outputOfCompose(dockerCompose.upAll({ ...options, commandOptions: args })),
    upOne: (service: string, ...args: string[]) =>
      outputOfCompose(dockerCompose.upOne(service, { ...options, commandOptions: args })),
    stop: (service: string) => outputOfCompose(dockerCompose.stopOne(service, options)),
    kill: (service: string) => outputOfCompose(dockerCompose.execCompose('kill', [service], options)),
    start: (service: string) => outputOfCompose(dockerCompose.execCompose('start', [service], options)),
    /** Removes all containers, networks and volumes. */
    down: (args: readonly string[] = []) =>
      outputOfCompose(
        dockerCompose.downAll({ ...options, commandOptions: ['-v', '--remove-orphans', '--timeout', '5', ...args] }),
      ),
    /** Throws if the Compose file is invalid. */
    config: () => outputOfCompose(dockerCompose.execCompose('config', ['--quiet'], options)),
    logs: (service: string) => outputOfCompose(dockerCompose.logs(service, options)),
    /** Runs a program in a container, without a terminal (the package sets the option). */
    exec: (service: string, command: readonly string[]) =>
      outputOfCompose(dockerCompose.exec(service, [...command], options)),
    docker,
    /** The name of a network in the engine. */
    network: (name: string): string => `${projectName}_${name}`,
    /** The IDs of the running containers of a service. */
    containers: ids,
    /** The start of the newest container of a service, epoch ms. */
    async startedAt(service: string): Promise<number> {
      const times = await docker('inspect', ...(await ids(service)), '-f', '{{.State.StartedAt}}');
      return Math.max(...times.trim().split('\n').map(Date.parse));
    },
  };
}

export type Compose = ReturnType<typeof composeWith>;
