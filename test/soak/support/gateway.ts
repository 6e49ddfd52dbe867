import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { gatewayCommand } from '../../../bench/proxies/gateway.ts';
import { startServer, temporaryFolder } from '../../../bench/support/children.ts';
import { freePort } from '../../../bench/support/ports.ts';

export interface GatewayProcess {
  readonly port: number;
  readonly adminPort: number;
  readonly pid: number;
  /** Replaces routes.yaml and reloads it. Returns the kind of the outcome. */
  reload(routes: string): Promise<string>;
}

/** Starts a gateway in its own process, on its own core if the machine has several. */
export async function startGateway(routes: string, { heapMiB = 64 } = {}): Promise<GatewayProcess> {
  const [port, adminPort, folder] = [await freePort(), await freePort(), temporaryFolder()];
  const { program, args } = gatewayCommand({ port, folder, routes });
  // On a large machine V8 collects hundreds of MiB of garbage late, which would look like a leak.
  const env = { NODE_OPTIONS: `--max-old-space-size=${heapMiB}` };
  const command = { program, args: [...args, '--admin', `127.0.0.1:${adminPort}`], env };
  const child = await startServer(command, port, 'onProxyCore');
  onTestFinished(() => child.stop());
  const reload = async (next: string): Promise<string> => {
    writeFileSync(join(folder, 'routes.yaml'), next);
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`http://127.0.0.1:${adminPort}/api/reload`, { method: 'POST', body: '{}', headers });
    const outcome = (await response.json()) as { kind: string };
    return response.ok ? outcome.kind : JSON.stringify(outcome);
  };
  return { port, adminPort, pid: child.pid, reload };
}
