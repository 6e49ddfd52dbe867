/**
 * node recordingVariants.ts PORT BACKEND_PORT FOLDER: one gateway that changes every 0.6 s what it records, in random
 * order. Writes the CPU time and the requests of each variant to FOLDER/figures.json, once a second. SIGUSR2 resets both.
 */

import { join } from 'node:path';
import { snapshotFrom } from '../../gateway/config/load.ts';
import { keepYoungGenerationSmall } from '../../gateway/process/cli/start/process.ts';
import { usageSinkOf } from '../../gateway/process/runtime/ledgerMaintenance.ts';
import { Telemetry } from '../../gateway/process/runtime/telemetry.ts';
import { systemClock } from '../../gateway/shared/clock.ts';
import { ClientIdentification } from '../../gateway/usage/counting/identification.ts';
import { Ledger } from '../../gateway/usage/ledger/ledger.ts';
import { alternate } from '../support/alternation.ts';
import { dates } from '../support/workload.ts';

const noSalt = '';
const [port = '', backendPort, folder = ''] = process.argv.slice(2);
const upstream = `http://127.0.0.1:${backendPort}`;

keepYoungGenerationSmall();
const snapshot = snapshotFrom({
  routes: { '/v1': { upstream, ...dates }, '/v2': upstream },
  gateway: { listen: `127.0.0.1:${port}` },
  usage: { store: join(folder, `${port}.db`) },
  log: { access: '/dev/null' },
});
const notice = (line: string): void => void process.stderr.write(`${line}\n`);
// A ledger on disk that is written every few seconds, as in production.
const usage = (name: string) =>
  usageSinkOf(Ledger.open({ ...snapshot.usage, store: join(folder, name) }, { clock: systemClock, onNotice: notice }));
const telemetry = (options: Partial<ConstructorParameters<typeof Telemetry>[1]>): Telemetry =>
  new Telemetry(
    { current: snapshot, identification: new ClientIdentification(snapshot.usage.identify, noSalt) },
    { clock: systemClock, notice, usage: undefined, logs: false, ...options },
  );
// The first scrape starts the collection of process metrics, which continues as in production.
await telemetry({}).metrics();

await alternate(
  [
    { name: 'nothing', snapshot, recorder: undefined },
    { name: 'metrics', snapshot, recorder: telemetry({}).recorder },
    { name: 'metrics and ledger', snapshot, recorder: telemetry({ usage: usage('ledger.db') }).recorder },
    {
      name: 'metrics, ledger and access log',
      snapshot,
      recorder: telemetry({ usage: usage('all.db'), logs: true }).recorder,
    },
  ],
  folder,
);
