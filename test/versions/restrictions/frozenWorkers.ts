import { type Agent, request } from 'node:http';
import { join } from 'node:path';
import { tag } from '../../../gateway/usage/counting/identification.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { startWorkers } from '../../process/runtime/startWorkers.ts';
import { startService } from '../../process/runtime/workerCounting.ts';
import { row } from '../../support/ledgerWith.ts';

const minute = 60_000;

/** A ledger that has covered two hours, and knows the clients from before the freeze, which began half an hour ago. */
function ledgerOf(folder: string, knownClients: number): { readonly store: string; readonly from: string } {
  const store = join(folder, 'usage.db');
  const now = Date.now();
  let time = now - 120 * minute;
  const settings = {
    store,
    retention: 400 * 24 * 60 * minute,
    identify: [{ by: 'header', name: 'x-api-key' }] as const,
  };
  const ledger = Ledger.open(settings, { clock: { now: () => time } });
  const at = now - 60 * minute;
  const keys = Array.from({ length: knownClients }, (_one, index) => `x-api-key:${tag(ledger.salt, `old-${index}`)}`);
  ledger.add(keys.map((client) => row('v1', client, at)));
  time = now;
  ledger.add([row('v1', 'x-api-key:#unused', at)]);
  ledger.close();
  return { store, from: new Date(now - 30 * minute).toISOString().replace(/\.\d+Z$/, 'Z') };
}

/**
 * Sends a request for each key, 16 at a time. Without `agent`, every request has a new connection, so that all workers get some.
 * @returns the number of responses with each status
 */
export async function send(
  port: number,
  keys: readonly string[],
  agent: Agent | false = false,
): Promise<Record<number, number>> {
  const seen: Record<number, number> = {};
  const left = [...keys];
  const loops = Array.from({ length: 16 }, async () => {
    for (let key = left.pop(); key !== undefined; key = left.pop()) {
      const status = await statusOf(port, key, agent);
      // A worker that ends may reset a connection that it has not accepted.
      if (status === undefined) left.push(key);
      else seen[status] = (seen[status] ?? 0) + 1;
    }
  });
  await Promise.all(loops);
  return seen;
}

/** Undefined: the connection was reset. */
function statusOf(port: number, key: string, agent: Agent | false): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const options = { host: '127.0.0.1', port, path: '/v1/x', headers: { 'x-api-key': key }, agent };
  request(options, (response) => {
    response.resume();
    response.on('end', () => resolve(response.statusCode));
  })
    .on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? resolve(undefined) : reject(error)))
    .end();
  return promise;
}

/** Two workers with a frozen version, whose ledger knows the keys `old-0`, `old-1`, … Each call of `start` is a run. */
export async function frozenWorkers(knownClients: number) {
  const folder = temporaryFolder();
  const { store, from } = ledgerOf(folder, knownClients);
  const routes = { '/v1': { upstream: await startService(), freeze: { from, mode: 'refuse' } } };
  const usage = { store, identify: ['header:x-api-key'] };
  const start = async () => {
    const gateway = await startWorkers(2, routes, { usage, retire: { quiet: '1h' }, log: { access: 'off' } });
    await gateway.printed(/\/v1 is frozen: [\d,]+ clients known/);
    return gateway;
  };
  return { routes, start };
}
