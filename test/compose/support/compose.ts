import * as dockerCompose from 'docker-compose';
import { isInstalled, outputOf } from './programs.ts';
import type { Site } from './setup.ts';

/** Compose in the project's folder, whichever of its two generations is at hand. */
export function composeWith({ folder, env }: Site, files: readonly string[] = []) {
  const options = {
    cwd: folder,
    env: { ...process.env, ...env },
    config: [...files],
    ...(isInstalled('docker-compose') ? { executable: { standalone: true as const } } : {}),
  };
  const project = env['COMPOSE_PROJECT_NAME'];
  const done = async (work: Promise<dockerCompose.IDockerComposeResult>): Promise<string> => {
    const { out, err, exitCode } = await work.catch((failed: dockerCompose.IDockerComposeResult) => failed);
    if (exitCode !== 0) throw new Error(`Compose ended with ${exitCode}: ${err}`);
    return out;
  };
  const docker = (...args: string[]): Promise<string> => outputOf('docker', args, options.env);
  const ids = async (service: string): Promise<string[]> => {
    const labels = [`com.docker.compose.project=${project}`, `com.docker.compose.service=${service}`];
    const list = await docker('ps', '-q', '--no-trunc', ...labels.flatMap((label) => ['--filter', `label=${label}`]));
    return list.split('\n').filter((id) => id !== '');
  };
  return {
    build: () => done(dockerCompose.buildAll(options)),
    up: (...args: string[]) => done(dockerCompose.upAll({ ...options, commandOptions: args })),
    upOne: (service: string, ...args: string[]) =>
      done(dockerCompose.upOne(service, { ...options, commandOptions: args })),
    stop: (service: string) => done(dockerCompose.stopOne(service, options)),
    kill: (service: string) => done(dockerCompose.execCompose('kill', [service], options)),
    start: (service: string) => done(dockerCompose.execCompose('start', [service], options)),
    /** Ends everything, its volumes and strays included. */
    down: (args: readonly string[] = []) =>
      done(
        dockerCompose.downAll({ ...options, commandOptions: ['-v', '--remove-orphans', '--timeout', '5', ...args] }),
      ),
    /** Whether the file can be read. */
    config: () => done(dockerCompose.execCompose('config', ['--quiet'], options)),
    logs: (service: string) => done(dockerCompose.logs(service, options)),
    /** Runs a program in a container, without a terminal (the package sees to that). */
    exec: (service: string, command: readonly string[]) => done(dockerCompose.exec(service, [...command], options)),
    docker,
    /** The name that the engine knows one of the networks by. */
    network: (name: string): string => `${project}_${name}`,
    /** The ids of a service's containers that run. */
    containers: ids,
    /** Epoch ms at which the latest of them has started. */
    async startedAt(service: string): Promise<number> {
      const times = await docker('inspect', ...(await ids(service)), '-f', '{{.State.StartedAt}}');
      return Math.max(...times.trim().split('\n').map(Date.parse));
    },
  };
}

export type Compose = ReturnType<typeof composeWith>;
