/**
 * node recordingVariants.ts PORT BACKEND_PORT FOLDER: one gateway that changes every 0.6 s what it records, in random
 * order. Writes the CPU time and the requests of each variant to FOLDER/figures.json, once a second. SIGUSR2 resets them.
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
import { dates } from '../support/workload.ts';

// Several times as long as the delay until a request is recorded, which may be in the interval of the next variant. Short
// enough that a slow minute of the machine affects all variants.
const intervalMs = 600;

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
  sinkOf(Ledger.open({ ...snapshot.usage, store: join(folder, name) }, { clock: systemClock, onNotice: notice }));
const telemetry = (options: Partial<ConstructorParameters<typeof Telemetry>[1]>): Telemetry =>
  new Telemetry({ current: snapshot }, { clock: systemClock, notice, usage: undefined, logs: false, ...options });
const recorders: readonly { readonly records: string; readonly recorder: Recorder | undefined }[] = [
  { records: 'nothing', recorder: undefined },
  { records: 'metrics', recorder: telemetry({}).recorder },
  { records: 'metrics and ledger', recorder: telemetry({ usage: usage('ledger.db') }).recorder },
  { records: 'metrics, ledger and access log', recorder: telemetry({ usage: usage('all.db'), logs: true }).recorder },
];
const variants = recorders.map((recorder) => ({ ...recorder, cpuMicros: 0, requests: 0 }));
// The first scrape starts the collection of process metrics, which continues as in production.
await telemetry({}).metrics();

const { context } = new DataPlane(snapshot);
const server = createClientListener(snapshot.gateway, context);
let requestCount = 0;
server.on('request', () => {
  requestCount += 1;
});

let order = variants.toSorted(() => Math.random() - 0.5);
let current = order.shift();
context.recorder = current?.recorder;
let before = { cpu: process.cpuUsage(), requestCount };
setInterval(() => {
  const { user, system } = process.cpuUsage(before.cpu);
  if (current) {
    current.cpuMicros += user + system;
    current.requests += requestCount - before.requestCount;
  }
  current = order.shift();
  if (order.length === 0) order = variants.toSorted(() => Math.random() - 0.5);
  context.recorder = current?.recorder;
  before = { cpu: process.cpuUsage(), requestCount };
}, intervalMs);

process.on('SIGUSR2', () => {
  for (const variant of variants) Object.assign(variant, { cpuMicros: 0, requests: 0 });
});
setInterval(() => {
  const figures = variants.map(({ records, cpuMicros, requests }) => ({ records, cpuMicros, requests }));
  writeFileSync(join(folder, 'figures.tmp'), JSON.stringify(figures));
  renameSync(join(folder, 'figures.tmp'), join(folder, 'figures.json'));
}, 1000);
await listen(server, snapshot.gateway.listen);
