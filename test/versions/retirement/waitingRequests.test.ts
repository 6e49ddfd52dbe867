import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { connectTo, get } from '../../support/rawClient.ts';

it('a version with a waiting request may not be retired', async () => {
  const clock = { time: Date.parse('2026-11-18T12:00:00Z'), now: () => clock.time };
  const backend = await startBackend(() => undefined);
  const upstream = backend.url;
  const settings = {
    gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s' },
    defaults: { limits: { in_flight_per_target: 1, queue: '60s' } },
    guard: { quiet: '60s' },
    retire: { quiet: '60s' },
    usage: { store: join(temporaryFolder(), 'usage.db') },
    routes: { '/v1': { upstream, deprecation: '2026-01-01', sunset: '2026-06-30' }, '/v2': upstream },
  };
  const snapshot = snapshotFrom(settings);
  const retired = snapshotFrom({
    ...settings,
    routes: { ...settings.routes, '/v1': { ...settings.routes['/v1'], retired: true } },
  });
  const ledger = Ledger.open(snapshot.usage, { clock });
  const gateway = await startGateway(snapshot, { ledger, clock, load: () => retired });
  onTestFinished(async () => {
    await gateway.close();
    ledger.close();
  });
  const admin = `127.0.0.1:${gateway.adminPort}`;
  const canRetire = async () => (await runIn('/', ['can-retire', '/v1', '--admin', admin])).stdout;
  clock.time += 120_000;
  ledger.add([]);
  expect(await canRetire()).toContain('Can /v1 be retired?  yes');
  const busy = await connectTo(gateway.port);
  busy.send(get('/v2/slow'));
  await eventually(() => expect(backend.requests).toHaveLength(1));
  // Both versions have the same target, and it is busy.
  const waiting = await connectTo(gateway.port);
  waiting.send(get('/v1/drinks'));
  await eventually(async () => {
    const verdict = await canRetire();
    expect(verdict).toContain('Can /v1 be retired?  no');
    expect(verdict).toContain('/v1 has 1 waiting request now, although no client called it in the last 1 min');
  });
  expect(await gateway.reload('admin')).toMatchObject({ kind: 'refused' });
});
