/**
 * node restrictionVariants.ts PORT BACKEND_PORT FOLDER: one gateway that replaces the restrictions of /v1 every 0.6 s.
 * Writes the CPU time and the requests of each variant to FOLDER/figures.json, once a second. SIGUSR2 resets both.
 */

import { join } from 'node:path';
import { snapshotFrom } from '../../gateway/config/load.ts';
import { keepYoungGenerationSmall } from '../../gateway/process/cli/start/process.ts';
import { usageSinkOf } from '../../gateway/process/runtime/ledgerMaintenance.ts';
import { Telemetry } from '../../gateway/process/runtime/telemetry.ts';
import { systemClock } from '../../gateway/shared/clock.ts';
import { ClientIdentification, namingRulesIdOf } from '../../gateway/usage/counting/identification.ts';
import { Ledger } from '../../gateway/usage/ledger/ledger.ts';
import { brownoutKey } from '../../gateway/versions/lifecycle/brownouts.ts';
import { freezeKey } from '../../gateway/versions/restrictions/knownClients.ts';
import { alternate, type Variant } from '../support/alternation.ts';
import { clients as clientCount, dates } from '../support/workload.ts';

const noSalt = '';
const [port = '', backendPort, folder = ''] = process.argv.slice(2);
const upstream = `http://127.0.0.1:${backendPort}`;
const hourMs = 3_600_000;
const knownClients = 50_000;

keepYoungGenerationSmall();
const notice = (line: string): void => void process.stderr.write(`${line}\n`);

const clients = Array.from({ length: clientCount }, (_one, index) => `client-${index + 1}`);
const otherClients = (count: number): string[] => Array.from({ length: count }, (_one, index) => `other-${index}`);
const waivers = [...clients, ...otherClients(100 - clients.length)].map((client) => {
  return { client, until: '2029-01-01', reason: 'benchmark' };
});
const freeze = { from: new Date(systemClock.now() - hourMs).toISOString(), mode: 'refuse' };
// The brownout spares all clients of the load, so that every request is forwarded.
const spare = clients;
const brownouts = [{ at: new Date(systemClock.now() - hourMs).toISOString(), for: '24h', clients: '25%' }];

/** Every variant counts in a ledger on disk, as in production. Counting also identifies the client. */
function variant(name: string, v1: object, v2: object = {}): Variant {
  const snapshot = snapshotFrom({
    routes: { '/v1': { upstream, ...dates, ...v1 }, '/v2': { upstream, ...v2 }, '/v3': upstream },
    gateway: { listen: `127.0.0.1:${port}` },
    usage: { store: join(folder, `${name}.db`), identify: ['header:x-client-id'] },
    brownout: { spare },
  });
  const usage = usageSinkOf(Ledger.open(snapshot.usage, { clock: systemClock, onNotice: notice }));
  const identification = new ClientIdentification(snapshot.usage.identify, noSalt);
  const options = { clock: systemClock, notice, usage, logs: false };
  return { name, snapshot, recorder: new Telemetry({ current: snapshot, identification }, options).recorder };
}

const base = variant('no rules', {});
const frozen = variant('a freeze with 50,000 known clients', { freeze });
const brownout = variant('a brownout', { brownouts });
const freezeAndBrownout = { freeze, brownouts, ...dates };
const variants: readonly [Variant, ...Variant[]] = [
  base,
  variant('no rules, but another version has a freeze and a brownout', {}, freezeAndBrownout),
  variant('100 waivers of a retired version', { retired: true, waivers }),
  frozen,
  brownout,
];

const known = [...clients, ...otherClients(knownClients - clients.length)].map((client) => `x-client-id:${client}`);
const freezeKeys = frozen.snapshot.sortedVersions.flatMap(({ name, freeze }) =>
  freeze ? [freezeKey(name, freeze)] : [],
);
const brownoutKeys = brownout.snapshot.sortedVersions.flatMap(({ name, brownouts }) =>
  brownouts.map((window) => brownoutKey(name, window)),
);
await alternate(variants, folder, {
  known: {
    namingRulesId: namingRulesIdOf(base.snapshot.usage.identify, noSalt),
    clientLinesByFreeze: new Map(freezeKeys.map((key) => [key, known.join('\n')])),
  },
  brownouts: new Set(brownoutKeys),
});
