import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { ThreadedLedger } from '../../../gateway/usage/ledger/threadedLedger.ts';
import type { UsageRow } from '../../../gateway/usage/usageRow.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { fastLane } from '../../support/gateway.ts';
import { coverTenDays } from '../../support/ledgerWith.ts';

/** A backend that answers the paths that `knows` accepts 200, and all others 404. `atEnd` gets the function that closes it. */
export async function startBackend(
  knows: (path: string, req: IncomingMessage) => boolean | number,
  port = 0,
  atEnd: (close: () => void) => void = onTestFinished,
): Promise<{ readonly url: string; readonly requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((req, res) => {
    requests.push(req);
    const known = knows(new URL(req.url ?? '/', 'http://backend').pathname, req);
    res.statusCode = typeof known === 'number' ? known : known ? 200 : 404;
    req.resume().on('end', () => res.end('{}'));
  }).listen(port, '127.0.0.1');
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

type Document = Readonly<Record<string, object>>;

interface EditedLedger {
  /** Whether the ledger covers the last ten days. */
  readonly isCovered?: boolean;
  /** The requests of these days. */
  readonly rows?: readonly UsageRow[];
}

/** A gateway with a ledger whose routes.yaml `edit` replaces. */
export async function startEdited(document: Document, { isCovered = false, rows = [] }: EditedLedger = {}) {
  const usage = { store: join(temporaryFolder(), 'usage.db') };
  if (isCovered) coverTenDays(usage.store, Date.now(), rows);
  const withPorts = ({ gateway, ...rest }: Document) =>
    snapshotFrom({
      usage,
      gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s', ...fastLane, ...gateway },
      ...rest,
    });
  let next = withPorts(document);
  const ledger = await ThreadedLedger.open(next.usage);
  const notices: string[] = [];
  const gateway = await startGateway(next, { ledger, load: () => next, notice: (line) => notices.push(line) });
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    await gateway.close();
    await ledger.close();
  };
  onTestFinished(close);
  const url = `http://127.0.0.1:${gateway.port}`;
  const admin = `http://127.0.0.1:${gateway.adminPort}`;
  const post = async <Answer = Record<string, unknown>>(path: string, body: object): Promise<Answer> => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(admin + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await response.json()) as Answer;
  };
  return {
    ...{ gateway, url, admin, notices, store: usage.store, close, post },
    /** What a reload of the edited document leads to. */
    edit: (edited: Document) => {
      next = withPorts(edited);
      return gateway.reload('admin');
    },
    /** The same as `check --against-running`. */
    preview: (edited: Document) => {
      next = withPorts(edited);
      return post('/api/reload/preview', {});
    },
    /** Statuses of the responses to GET requests of a client with a key. */
    get: async (...paths: string[]): Promise<number[]> => {
      const statuses = [];
      for (const path of paths) {
        const response = await fetch(url + path, { headers: { 'x-api-key': 'secret', cookie: 'session=1' } });
        await response.arrayBuffer();
        statuses.push(response.status);
      }
      return statuses;
    },
  };
}

/** The messages of a refusal, or the faults, in one text. */
export function reasonsOf(outcome: object): string {
  const { refusals = [], faults = [] } = outcome as {
    refusals?: readonly { message: string }[];
    faults?: readonly string[];
  };
  return [...refusals.map(({ message }) => message), ...faults].join('\n');
}
