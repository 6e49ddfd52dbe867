import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { systemClock } from '../../../gateway/shared/clock.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { startBackend } from '../../support/backend.ts';
import { ask, get } from '../../support/rawClient.ts';
import { readLedger } from '../../support/readLedger.ts';

/** The log lines of a gateway with these `log:` and `usage:` settings after these requests, and the clients in its ledger. */
async function linesOf(log: object, usage: object, requests: readonly string[], proxies: readonly string[] = []) {
  const folder = temporaryFolder();
  const file = join(folder, 'access.log');
  const { url } = await startBackend();
  const snapshot = snapshotFrom({
    routes: { '/v1': url },
    gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', trusted_proxies: proxies },
    log: { access: file, ...log },
    usage: { store: join(folder, 'usage.db'), max_clients: 1, ...usage },
  });
  const ledger = Ledger.open(snapshot.usage, { clock: systemClock });
  const gateway = await startGateway(snapshot, { ledger, logs: true });
  for (const request of requests) await ask(gateway.port, request);
  await gateway.close();
  const clients = (await readLedger(ledger).byClient('v1', 0)).map(({ client }) => client);
  ledger.close();
  const text = await readFile(file, 'utf8');
  const lines = text.trimEnd().split('\n');
  return { text, clients, lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

it('a line names the client like the ledger, and contains no secret and no address', async () => {
  const { lines, text, clients } = await linesOf({}, {}, [get('/v1/x', 'X-Api-Key: hunter2'), get('/v9/x')]);
  const [first, second] = lines;
  expect(first?.['client']).toMatch(/^x-api-key:#[0-9a-f]{16}$/);
  expect(clients).toEqual([first?.['client']]);
  expect([first?.['address'], second?.['client']]).toEqual(['127.0.0.0/24', 'unknown']);
  expect(text).not.toMatch(/hunter2|127\.0\.0\.1"/);
});

it("names clients beyond the ledger's limit as well", async () => {
  const asked = ['a', 'b', 'c'].map((client) => get('/v1/x', `X-Client-Id: ${client}`));
  const { lines } = await linesOf({}, {}, asked);
  expect(lines.map(({ client }) => client)).toEqual(['x-client-id:a', 'x-client-id:b', 'x-client-id:c']);
});

it.each([
  ['full', '127.0.0.1'],
  ['network', '127.0.0.0/24'],
  ['none', undefined],
])('`log.address: %s` shows the address as %s', async (address, expected) => {
  const { lines } = await linesOf({ address }, {}, [get('/v1/x')]);
  expect(lines.map((line) => line['address'])).toEqual([expected]);
});

describe('behind a proxy', () => {
  const usage = { identify: ['address'], max_clients: 100 };
  const asked = Array.from({ length: 8 }, (_one, n) => get('/v1/x', `X-Forwarded-For: 198.51.100.9, 203.0.${n}.1`));

  it('that is trusted, the forwarded address is used', async () => {
    const { clients, lines } = await linesOf({ address: 'full' }, usage, asked, ['loopback']);
    expect(clients.sort()).toEqual(asked.map((_one, n) => `address:203.0.${n}.0/24`));
    expect(lines.map(({ address }) => address)).toEqual(asked.map((_one, n) => `203.0.${n}.1`));
  });

  it('that is not trusted, the address of the proxy is used', async () => {
    const { clients, lines } = await linesOf({ address: 'full' }, usage, asked);
    expect(clients).toEqual(['address:127.0.0.0/24']);
    expect(new Set(lines.map(({ address }) => address))).toEqual(new Set(['127.0.0.1']));
  });
});
