import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { loadSnapshot } from '../../../gateway/config/load.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import type { EditWatchStatus } from '../../../gateway/versions/editWatch/watchStatus.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { eventually } from '../../support/eventually.ts';
import { fastLane } from '../../support/gateway.ts';

/** Waits until the gateway has counted that many requests: it does so a moment after the client has its response. */
export async function counted(admin: string, requests: number): Promise<void> {
  await eventually(async () => {
    const text = await (await fetch(`${admin}/metrics`)).text();
    const counts = [...text.matchAll(/^version_gateway_requests_total\{.*\} (\d+)$/gm)].map(([, count]) =>
      Number(count),
    );
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(requests);
  });
}

async function statusOfPost(url: string, pauseMs: number): Promise<number> {
  const outgoing = request(url, { method: 'POST', agent: false, headers: { 'Content-Length': 2 } });
  outgoing.write('a');
  if (Number.isFinite(pauseMs)) setTimeout(() => outgoing.end('b'), pauseMs);
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  incoming.resume();
  await once(incoming, 'end');
  outgoing.destroy();
  return incoming.statusCode ?? 0;
}

/** A gateway with its own file and with a clock that only the test moves. */
export async function startWatched(document: Readonly<Record<string, unknown>>) {
  const folder = temporaryFolder();
  const file = join(folder, 'routes.yaml');
  const write = ({ gateway, ...rest }: Readonly<Record<string, unknown>>): void => {
    const ports = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s', ...fastLane };
    writeFileSync(file, stringify({ gateway: { ...ports, ...Object(gateway) }, ...rest }));
  };
  write(document);
  const clock = { time: Date.now(), now: () => clock.time };
  const notices: string[] = [];
  const gateway = await startGateway(loadSnapshot(file), {
    load: () => loadSnapshot(file),
    notice: (line) => notices.push(line),
    clock,
  });
  onTestFinished(async () => {
    await gateway.close();
    rmSync(folder, { recursive: true, maxRetries: 10 });
  });
  const url = `http://127.0.0.1:${gateway.port}`;
  const admin = `http://127.0.0.1:${gateway.adminPort}`;
  const watches = async (): Promise<EditWatchStatus[]> => {
    const status = (await (await fetch(`${admin}/api/status`)).json()) as { edit_watch: EditWatchStatus[] };
    return status.edit_watch;
  };
  let sent = 0;
  return {
    ...{ gateway, url, admin, notices, file, watches },
    /** Moves the clock forward. The gateway notices it within a second of real time. */
    pass: (ms: number): void => {
      clock.time += ms;
    },
    /** Applies an edit. */
    edit: async (edited: Readonly<Record<string, unknown>>) => {
      write(edited);
      const outcome = await gateway.reload('admin');
      expect(outcome).toMatchObject({ kind: 'reloaded' });
    },
    /** The statuses of that many GET requests. */
    send: async (path: string, times: number): Promise<Set<number>> => {
      const statuses = new Set<number>();
      for (let request = 0; request < times; request += 1) {
        const response = await fetch(url + path);
        await response.arrayBuffer();
        statuses.add(response.status);
      }
      sent += times;
      await counted(admin, sent);
      return statuses;
    },
    /** The statuses of that many POST requests, whose bodies pause for `pauseMs`, or until they are answered. */
    post: async (path: string, times: number, pauseMs: number): Promise<Set<number>> => {
      const statuses = new Set<number>();
      for (let request = 0; request < times; request += 1) statuses.add(await statusOfPost(url + path, pauseMs));
      sent += times;
      await counted(admin, sent);
      return statuses;
    },
    /** The watch of the version, once it is as expected. */
    found: async (version: string, expected: Partial<Pick<EditWatchStatus, 'jumped' | 'state'>>) => {
      let found: EditWatchStatus | undefined;
      await eventually(async () => {
        const all = await watches();
        found = all.find(
          (one) =>
            one.version === version && Object.entries(expected).every(([key, value]) => one[key as 'state'] === value),
        );
        expect(all.map((one) => ({ version: one.version, jumped: one.jumped, state: one.state }))).toContainEqual(
          expect.objectContaining({ version, ...expected }),
        );
      });
      return found as EditWatchStatus;
    },
  };
}
