// node bench/fleetCost.ts [ROUNDS]: what a fleet costs, with 500 clients that call 20 routes. Three gateways, one of them in a
// fleet, are loaded at the same time, in ROUNDS rounds (default 4; 0 skips this part). A profile then shows the time that the serving
// thread spends in the code of the fleet. At the end, the counts of 1,000 requests per second are sent to PostgreSQL. Needs wrk.
import { readdirSync, readFileSync } from 'node:fs';
import type { Profiler } from 'node:inspector';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { snapshotFrom } from '../gateway/config/load.ts';
import { Fleet } from '../gateway/operate/fleet/fleet.ts';
import { ledgerSettingsOf } from '../gateway/process/runtime/ledgerMaintenance.ts';
import { ThreadedLedger } from '../gateway/usage/ledger/threadedLedger.ts';
import type { UsageRow } from '../gateway/usage/usageRow.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { startJsonBackend } from './support/backends.ts';
import { temporaryFolder } from './support/children.ts';
import { startGateway } from './support/fleetGateways.ts';
import { runLoad } from './support/load.ts';
import { cpuSeconds, mainThreadSeconds } from './support/proc.ts';

const [rounds = '4'] = process.argv.slice(2);
const mix = { clients: 500, routes: 20 };
// All gateways get requests at the same rate. A gateway that gets fewer requests reads fewer of them at once, and each request
// then costs more.
const rate = 2_000;
// Several times the interval at which a gateway writes its counts.
const seconds = 20;
const [requestsPerSecond, secondsPerBatch, batches] = [1_000, 5, 60];

const postgres = await startPostgres();
try {
  if (Number(rounds) > 0) await measureRequests();
  await profileServingThread();
  await measureStore();
} finally {
  await postgres.stop();
}
process.exit();

/** Measures the CPU time per request of a gateway in a fleet and of two gateways without a fleet. */
async function measureRequests(): Promise<void> {
  const backend = await startJsonBackend();
  const gateways = [
    await startGateway('on its own', backend),
    await startGateway('in a fleet', backend, await postgres.database()),
    // Differs from the first gateway only by chance. The difference shows how much chance changes the figures.
    await startGateway('on its own, again', backend),
  ].map((one) => ({ ...one, serving: 0, all: 0, requests: 0, errors: 0 }));
  for (let round = 0; round <= Number(rounds); round += 1) {
    // At the same time, so that other work on the machine affects all alike.
    await Promise.all(
      gateways.map(async (gateway) => {
        const { pid } = gateway;
        const before = { serving: mainThreadSeconds(pid), all: cpuSeconds(pid) };
        const report = await runLoad({
          url: `http://127.0.0.1:${gateway.port}/v1`,
          connections: 32,
          seconds,
          mix,
          rate,
        });
        // After this wait, the last counts are written, so their cost is included.
        await sleep(5_500);
        // The first round only warms the compilers up.
        if (round === 0) return;
        gateway.serving += mainThreadSeconds(pid) - before.serving;
        gateway.all += cpuSeconds(pid) - before.all;
        gateway.requests += report.requests;
        gateway.errors += report.errors;
      }),
    );
  }
  const micros = (cpu: number, requests: number): string => ((cpu / requests) * 1e6).toFixed(1);
  for (const { name, serving, all, requests, errors } of gateways) {
    const figures = `${micros(serving, requests)} us/request of the serving thread, ${micros(all, requests)} of the process`;
    console.log(`${name.padEnd(18)} ${figures}, ${requests} requests, ${errors} errors`);
  }
  for (const { stop } of gateways) await stop();
}

/**
 * Prints how long the serving thread of a gateway in a fleet runs functions of gateway/operate/fleet and the functions that these call.
 * Unlike the difference between two gateways, this time does not depend on chance. A profile takes samples by the clock, so it also
 * counts the time in which another program interrupts the thread.
 */
async function profileServingThread(): Promise<void> {
  const folder = temporaryFolder();
  const options = ['--cpu-prof', '--cpu-prof-interval=200', `--cpu-prof-dir=${folder}`];
  const backend = await startJsonBackend();
  const gateway = await startGateway('profiled', backend, await postgres.database(), options);
  const url = `http://127.0.0.1:${gateway.port}/v1`;
  const { requests } = await runLoad({ url, connections: 32, seconds: 3 * seconds, mix, rate });
  await gateway.stop();
  // Named `CPU.date.time.pid.thread.number`; the main thread is 0.
  const main = readdirSync(folder).find((name) => /\.0\.\d+\.cpuprofile$/.test(name));
  if (main === undefined) throw new Error('the gateway has written no profile');
  const micros = microsInFolder(JSON.parse(readFileSync(join(folder, main), 'utf8')), '/gateway/operate/fleet/');
  console.log(
    `the code of the fleet takes ${(micros / requests).toFixed(2)} us/request of the serving thread, by a profile of ${requests} requests`,
  );
}

/** The time in functions of a folder and in the functions that these call. Leaves out the first seconds, in which the gateway starts. */
function microsInFolder({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile, folder: string): number {
  const startUpMicros = 3e6;
  const below = new Set<number>();
  // A parent is listed before its children.
  for (const { id, callFrame, children = [] } of nodes) {
    if (callFrame.url.includes(folder)) below.add(id);
    if (below.has(id)) for (const child of children) below.add(child);
  }
  let [at, micros] = [0, 0];
  for (const [index, id] of samples.entries()) {
    const delta = timeDeltas[index] ?? 0;
    at += delta;
    if (at > startUpMicros && below.has(id)) micros += delta;
  }
  return micros;
}

/** Measures the CPU time of PostgreSQL for the counts of one gateway, and the time from the ledger's write until PostgreSQL has them. */
async function measureStore(): Promise<void> {
  const snapshot = snapshotFrom({
    routes: { '/v1': 'http://127.0.0.1:1' },
    usage: { store: join(temporaryFolder(), 'usage.db') },
    fleet: { store: await postgres.database(), name: 'bench' },
  });
  if (!snapshot.fleet) throw new Error('the snapshot has no fleet');
  const ledger = await ThreadedLedger.open(ledgerSettingsOf(snapshot));
  const fleet = await Fleet.start(snapshot.fleet, { ledger });
  let rows = 0;
  let cpu = 0;
  const times: number[] = [];
  for (let number = 0; number < batches; number += 1) {
    const batch = batchOf(requestsPerSecond * secondsPerBatch);
    const [before, start] = [cpuSeconds(postgres.pid), performance.now()];
    ledger.add(batch);
    await ledger.flush();
    while (ledger.outbox?.oldest !== undefined) await sleep(5);
    times.push(performance.now() - start);
    // The first batches create the partitions and the names.
    if (number < 5) continue;
    cpu += cpuSeconds(postgres.pid) - before;
    rows += batch.length;
  }
  const measured = batches - 5;
  const medianMs = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
  const percentOfCore = (cpu / measured / secondsPerBatch) * 100;
  console.log(
    `PostgreSQL: ${Math.round(rows / measured)} rows per batch of ${secondsPerBatch} s, ${((cpu / measured) * 1000).toFixed(0)} ms CPU per batch`,
    `= ${percentOfCore.toFixed(1)} % of a core per 1,000 requests/s; ${((cpu / rows) * 1e6).toFixed(0)} us per row; ${medianMs.toFixed(0)} ms from write to arrival`,
  );
  await fleet.stop(1000);
  await ledger.close();
}

/** The counts of random requests. `requests`: the number of these requests. */
function batchOf(requests: number): UsageRow[] {
  const rows = new Map<string, UsageRow>();
  const now = Date.now();
  for (let number = 0; number < requests; number += 1) {
    const client = `x-client-id:client-${Math.floor(Math.random() * mix.clients)}`;
    const route = `GET /r${Math.floor(Math.random() * mix.routes)}`;
    const known = rows.get(client + route);
    if (known) known.requests += 1;
    else {
      // Every request is answered 2xx.
      const counts = { requests: 1, errors: 0, served: 1, failing: 0, refused: 0 };
      const times = { hour: now - (now % 3_600_000), first: now, last: now, used: now, accepted: now };
      const sizes = { body: 0, target: 40, head: 400 };
      rows.set(client + route, { version: 'v1', client, route, ...counts, ...times, ...sizes });
    }
  }
  return [...rows.values()];
}
