/** node observed.ts PORT BACKEND_PORT FOLDER WHAT: the gateway's own parts, recorded by those that WHAT names. */

import { join } from 'node:path';
import { keepYoungGenerationSmall } from '../../gateway/cli/heap.ts';
import { snapshotFrom } from '../../gateway/config/load.ts';
import { sinkOf } from '../../gateway/keeping.ts';
import { createFrontDoor } from '../../gateway/pipeline/frontDoor.ts';
import { listen } from '../../gateway/pipeline/listener.ts';
import { assemble } from '../../gateway/serving/assembly.ts';
import { Signals } from '../../gateway/serving/signals.ts';
import { systemClock } from '../../gateway/shared/clock.ts';
import { Ledger } from '../../gateway/usage/ledger.ts';
import { dates } from '../support/work.ts';

const [port = '', backendPort, folder = '', what = ''] = process.argv.slice(2);
const upstream = `http://127.0.0.1:${backendPort}`;

keepYoungGenerationSmall();
const snapshot = snapshotFrom({
  routes: { '/v1': { upstream, ...dates }, '/v2': upstream },
  gateway: { listen: `127.0.0.1:${port}` },
  usage: { store: join(folder, `${port}.db`) },
  log: { access: '/dev/null' },
});
const { surroundings } = assemble(snapshot);
const notice = (line: string): void => void process.stderr.write(`${line}\n`);
if (what.includes('metrics')) {
  // On disk, and written every few seconds, as in a gateway that runs.
  const ledger = what.includes('ledger')
    ? Ledger.open(snapshot.usage, { clock: systemClock, onNotice: notice })
    : undefined;
  const logs = what.includes('access log');
  const signals = new Signals(snapshot, { clock: systemClock, notice, usage: ledger && sinkOf(ledger), logs });
  surroundings.recorder = signals.recorder;
  // Once, so that the process is being watched as it is between two scrapes.
  await signals.metrics();
}
await listen(createFrontDoor(snapshot.gateway, surroundings), snapshot.gateway.listen);
