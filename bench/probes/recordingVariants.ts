/**
 * node observed.ts PORT BACKEND_PORT FOLDER: the gateway's own parts, watched by other recorders every moment, in random
 * order. What a request took under each is in FOLDER/observed.json, written once a second; SIGUSR2 begins anew.
 */

import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keepYoungGenerationSmall } from '../../gateway/cli/start/process.ts';
import { snapshotFrom } from '../../gateway/config/load.ts';
import type { Recorder } from '../../gateway/observability/exchangeRecord.ts';
import { createClientListener, listen } from '../../gateway/pipeline/clientListener.ts';
import { DataPlane } from '../../gateway/runtime/dataPlane.ts';
import { sinkOf } from '../../gateway/runtime/ledgerMaintenance.ts';
import { Telemetry } from '../../gateway/runtime/telemetry.ts';
import { systemClock } from '../../gateway/shared/clock.ts';
import { Ledger } from '../../gateway/usage/ledger/ledger.ts';
import { dates } from '../support/work.ts';

// Several times as long as what is recorded may wait to be counted and written, since that may be in a later moment; short
// enough that a slow minute of the machine falls on all of them.
const momentMs = 600;

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
// On disk, and written every few seconds, as in a gateway that runs.
const usage = (name: string) =>
  sinkOf(Ledger.open({ ...snapshot.usage, store: join(folder, name) }, { clock: systemClock, onNotice: notice }));
const telemetry = (options: Partial<ConstructorParameters<typeof Telemetry>[1]>): Telemetry =>
  new Telemetry({ current: snapshot }, { clock: systemClock, notice, usage: undefined, logs: false, ...options });
const watched = [
  { by: 'nothing', telemetry: undefined },
  { by: 'metrics', telemetry: telemetry({}) },
  { by: 'metrics and ledger', telemetry: telemetry({ usage: usage('ledger.db') }) },
  { by: 'metrics, ledger and access log', telemetry: telemetry({ usage: usage('all.db'), logs: true }) },
].map(({ by, telemetry: its }) => ({ by, recorder: its?.recorder as Recorder | undefined, cpuMicros: 0, requests: 0 }));
// Once, so that the process is being watched as it is between two scrapes.
await telemetry({}).metrics();

const { context } = new DataPlane(snapshot);
let begun = 0;
const { now } = context;
// Asked once a request.
const counting = (): number => {
  begun += 1;
  return now();
};
Object.assign(context, { now: counting });

let order = watched.toSorted(() => Math.random() - 0.5);
let current = order.shift();
context.recorder = current?.recorder;
let before = { cpu: process.cpuUsage(), begun };
setInterval(() => {
  const { user, system } = process.cpuUsage(before.cpu);
  if (current) {
    current.cpuMicros += user + system;
    current.requests += begun - before.begun;
  }
  current = order.shift();
  if (order.length === 0) order = watched.toSorted(() => Math.random() - 0.5);
  context.recorder = current?.recorder;
  before = { cpu: process.cpuUsage(), begun };
}, momentMs);

process.on('SIGUSR2', () => {
  for (const one of watched) Object.assign(one, { cpuMicros: 0, requests: 0 });
});
setInterval(() => {
  const figures = watched.map(({ by, cpuMicros, requests }) => ({ by, cpuMicros, requests }));
  writeFileSync(join(folder, 'observed.tmp'), JSON.stringify(figures));
  renameSync(join(folder, 'observed.tmp'), join(folder, 'observed.json'));
}, 1000);
await listen(createClientListener(snapshot.gateway, context), snapshot.gateway.listen);
