import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { isInstalled } from './programs.ts';
import type { ComposeProject } from './setup.ts';

/** The lines of the `sh` blocks of a page, in order. */
export function commandsOf(page: string): string[] {
  const blocks = readFileSync(page, 'utf8').matchAll(/^```sh\n(.*?)^```$/gms);
  return [...blocks].flatMap(([, text = '']) => text.trim().split('\n'));
}

/** Runs a command of a page. Replaces only the ports, the use of a terminal, and the name of Compose. */
export async function runAsWritten(
  command: string,
  { folder, env }: ComposeProject,
): Promise<{ code: number; stdout: string }> {
  const adapted = command
    .replace('127.0.0.1:8080', `127.0.0.1:${env['GATEWAY_PORT']}`)
    .replace('compose exec', 'compose exec -T')
    .replace(/^docker compose/, isInstalled('docker-compose') ? 'docker-compose' : 'docker compose');
  const options = { cwd: folder, env: { ...process.env, ...env } };
  return promisify(execFile)('sh', ['-c', adapted], options).then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
  );
}
