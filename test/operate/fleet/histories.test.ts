import { afterAll, beforeAll, expect, it } from 'vitest';
import { cases } from '../../support/cases.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { FleetHistory } from './fleetHistory.ts';

// Generated histories of a fleet: gateways that start, end, die, stop and are cut off, stores that crash and are restored, wrong clocks,
// lost ledgers and edits. No place may say yes if a backend has seen the calls. SEED=7 begins with history 7, HISTORIES=100 plays this
// many.

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

it('no place of a fleet says yes if the calls show that it is wrong', { timeout: 36_000_000 }, async () => {
  const first = Number(process.env['SEED'] ?? 1);
  const histories = Number(process.env['HISTORIES'] ?? cases(2, 60));
  const yeses = new Set<string>();
  for (let seed = first; seed < first + histories; seed += 1) {
    const { wrong, yeses: found } = await FleetHistory.play(seed, server);
    const lines = wrong.map(({ place, events }) => `seed ${seed}: ${place} after ${events.join(', ')}`);
    expect(lines).toEqual([]);
    for (const place of found) yeses.add(place);
  }
  // A fleet that never says yes would be of no use.
  const always = ['can-retire', 'plan', 'the guard', 'digest: nothing blocks', 'digest: not called', 'usage'];
  const alwaysOfStore = [
    'plan --store',
    'digest --store: nothing blocks',
    'digest --store: not called',
    'usage --store',
  ];
  for (const place of [...always, ...alwaysOfStore]) expect(yeses).toContain(place);
});
