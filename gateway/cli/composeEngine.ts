import { execFile } from 'node:child_process';

// An engine on this machine answers in a tenth of it; nobody waits for one that is not there.
const patience = 1000;

/** Names of the services of a project that run, as the docker on the PATH says; undefined if none answers. */
export function runningServices(project: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string[] | undefined> {
  const filter = `label=com.docker.compose.project=${project}`;
  const args = ['ps', '--filter', filter, '--format', '{{.Label "com.docker.compose.service"}}'];
  return new Promise((done) => {
    const options = { cwd, env, timeout: patience, killSignal: 'SIGKILL', encoding: 'utf8' } as const;
    execFile('docker', args, options, (error, stdout) => {
      done(
        error
          ? undefined
          : stdout
              .split('\n')
              .map((line) => line.trim())
              .filter((line) => line !== ''),
      );
    });
  });
}
