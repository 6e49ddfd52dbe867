import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { compareWithCompose } from '../../config/compose/compare.ts';
import { readProject } from '../../config/compose/project.ts';
import { parseConfig } from '../../config/load.ts';
import { decode, realPathOf } from '../../config/location.ts';
import { servedStage } from '../../lifecycle/stage.ts';
import type { Io } from '../io.ts';
import type { ComposeCheck } from '../output/checkReport.ts';

interface Options {
  readonly config: string;
  readonly compose: readonly string[];
  readonly composeService?: string;
}

/** Compares a routes.yaml with the Compose files of its gateway. @throws UnreadableFileError */
export async function checkWithCompose(
  options: Options,
  bytes: Uint8Array,
  io: Io,
  now: number,
): Promise<ComposeCheck> {
  const { config, compose, composeService } = options;
  const project = readProject(compose, io.env, io.cwd);
  const text = decode(bytes);
  const running = project.faults.length > 0 ? undefined : await runningServices(project.name, io.cwd, io.env);
  const facts = { files: compose, project: project.name, gateway: null, running: running ?? null };
  const texts = project.texts;
  if (text === undefined) return { result: parseConfig(bytes, config), facts, texts };
  const routes = {
    text,
    file: config,
    path: realPathOf(resolve(io.cwd, config)),
    now,
    isRetired: (version: Parameters<typeof servedStage>[0]) => servedStage(version, now) === 'retired',
  };
  const { result, gateway } = compareWithCompose(routes, project, composeService, running && new Set(running));
  return { result, facts: { ...facts, gateway: gateway ?? null }, texts };
}

// A Docker engine on this machine answers in about 100 ms.
const engineTimeoutMs = 1000;

/** The running services of a Compose project, from `docker ps`; undefined if no engine answers. */
function runningServices(project: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string[] | undefined> {
  const filter = `label=com.docker.compose.project=${project}`;
  const args = ['ps', '--filter', filter, '--format', '{{.Label "com.docker.compose.service"}}'];
  const options = { cwd, env, timeout: engineTimeoutMs, killSignal: 'SIGKILL', encoding: 'utf8' } as const;
  return new Promise((done) => {
    execFile('docker', args, options, (error, stdout) => {
      const names = stdout.split('\n').map((line) => line.trim());
      done(error ? undefined : names.filter((name) => name !== ''));
    });
  });
}
