import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { WebSocketServer } from 'ws';
import { loadSnapshot } from '../../../gateway/config/load.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { fastLane } from '../../support/gateway.ts';

interface VersionStatus {
  readonly in_flight: number;
  readonly safe_to_stop: boolean;
  readonly unreachable: boolean;
  readonly stopped_before_retired: boolean;
  readonly targets: readonly { readonly health: string }[];
}

/** A gateway with its own file and a guard that allows retiring a version at once. */
export async function startEditable(routes: Readonly<Record<string, unknown>>, drain = '5s') {
  const folder = mkdtempSync(join(tmpdir(), 'retire-'));
  const file = join(folder, 'routes.yaml');
  let edits = 0;
  const edit = (next: Readonly<Record<string, unknown>>): void => {
    edits += 1;
    const force = { '/v1': `a test, edit ${edits}` };
    const gateway = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain, ...fastLane };
    // JSON is valid YAML.
    writeFileSync(file, JSON.stringify({ gateway, guard: { force }, routes: next }));
  };
  edit(routes);
  const notices: string[] = [];
  const gateway = await startGateway(loadSnapshot(file), {
    load: () => loadSnapshot(file),
    notice: (line) => notices.push(line),
  });
  onTestFinished(async () => {
    await gateway.close();
    rmSync(folder, { recursive: true, maxRetries: 10 });
  });
  const status = async (index = 0): Promise<VersionStatus> => {
    const { versions } = (await (await fetch(`http://127.0.0.1:${gateway.adminPort}/api/status`)).json()) as {
      versions: VersionStatus[];
    };
    return versions[index] as VersionStatus;
  };
  return { gateway, edit, status, notices, url: `http://127.0.0.1:${gateway.port}` };
}

/** Echoes over WebSockets, streams events at /events, and answers /slow once `release` is called. */
export async function startService() {
  const released = Promise.withResolvers<void>();
  const server = createServer((req, res) => {
    if (req.url?.endsWith('/events')) res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    else if (req.url?.endsWith('/slow')) void released.promise.then(() => res.end('slow'));
    else res.end('ok');
  });
  const sockets = new WebSocketServer({ server });
  const closes: number[] = [];
  sockets.on('connection', (socket) => {
    socket.on('message', (data) => socket.send(data.toString()));
    socket.on('close', (code) => closes.push(code));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    sockets.close();
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, closes, release: released.resolve };
}
