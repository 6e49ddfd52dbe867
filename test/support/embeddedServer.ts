import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { runIn } from '../process/cli/io.ts';

export interface Host {
  readonly server: Server;
  readonly url: string;
}

/** A server on a free port. It is closed at the end of the test. */
export async function host(listener: RequestListener): Promise<Host> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** A backend that answers with the request target. */
export async function echoBackend(): Promise<string> {
  return (await host((req, res) => res.end(`backend ${req.url}`))).url;
}

export interface UsageRow {
  readonly client?: string;
  readonly route?: string;
  readonly requests: number;
  readonly errors: number;
}

/** The rows that `version-gateway usage` prints for the ledger in a folder. */
export async function usageIn(folder: string, version: string, by: 'client' | 'route'): Promise<readonly UsageRow[]> {
  const args = ['usage', version, '--store', join(folder, 'usage.db'), '--by', by, '--format', 'json'];
  const { stdout, stderr, code } = await runIn(folder, args);
  if (code !== 0) throw new Error(stderr);
  return (JSON.parse(stdout) as { rows: readonly UsageRow[] }).rows;
}
