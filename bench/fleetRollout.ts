// node bench/fleetRollout.ts [RATE [CHANGES]]: three gateways of a fleet answer RATE requests per second in total (default
// 5,000). Meanwhile routes.yaml is changed CHANGES times (default 50), each time on one gateway after the other. Prints the requests
// that were not answered 200, and the CPU time of every program, which shows what limits the rate. Needs wrk and nginx.
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../test/support/postgres.ts';
import { startJsonBackend } from './support/backends.ts';
import { type BenchGateway, queryStore, startGateway, writeRoutes } from './support/fleetGateways.ts';
import { generator, type LoadReport, runLoad } from './support/load.ts';
import { cpuSeconds } from './support/proc.ts';

const [rate = 5_000, changes = 50] = process.argv.slice(2).map(Number);
const secondsPerChange = 3;
// The load continues for 30 s after the last planned change, so that late changes are made under load, too.
const seconds = changes * secondsPerChange + 30;
const mix = { clients: 500, routes: 20 };
const dayMs = 86_400_000;
const firstDate = Date.parse('2020-01-01');

const postgres = await startPostgres();
let polls = 0;
try {
  const store = await postgres.database();
  const backends = [await startJsonBackend(), await startJsonBackend()] as const;
  const gateways = await Promise.all(['gw-1', 'gw-2', 'gw-3'].map((name) => startGateway(name, backends[0], store)));
  const load = (duration: number) =>
    gateways.map(({ port }) =>
      runLoad({
        url: `http://127.0.0.1:${port}/v1`,
        connections: 64,
        seconds: duration,
        mix,
        rate: rate / gateways.length,
      }),
    );
  const warmUp = await Promise.all(load(10));

  const start = cpuUsage(gateways);
  const loads = load(seconds);
  // The CPU time of wrk can be read only while wrk runs.
  const usageAtEnd = sleep((seconds - 1) * 1000).then(() => cpuUsage(gateways));
  let slowestMs = 0;
  let reloadsUnderLoad = 0;
  for (let change = 1; change <= changes; change += 1) {
    const beganAt = performance.now();
    for (const gateway of gateways) {
      await applyChange(gateway, change, backends[change % 2] as number);
      if (performance.now() - start.at < seconds * 1000) reloadsUnderLoad += 1;
    }
    slowestMs = Math.max(slowestMs, performance.now() - beganAt);
    await sleep(Math.max(0, start.at + change * secondsPerChange * 1000 - performance.now()));
  }
  const end = await usageAtEnd;
  const reports = await Promise.all(loads);
  console.log(
    `${generator} on ${cpus().length} cores: ${sumOf(reports, (one) => one.requests / one.seconds).toFixed(0)} of ${rate} requests/s for ${seconds} s,`,
    `${reloadsUnderLoad} of ${3 * changes} reloads in this time, at most ${(slowestMs / 1000).toFixed(1)} s for the three gateways`,
  );
  const [answered, failed] = [sumOf(reports, (one) => one.requests), sumOf(reports, (one) => one.errors)];
  const p99 = Math.max(...reports.map((one) => one.p99));
  console.log(`${answered} requests, ${failed} of them not answered 200; p99 ${p99.toFixed(0)} ms`);
  const cores = (name: string): number =>
    ((end.cpu[name] ?? 0) - (start.cpu[name] ?? 0)) / ((end.at - start.at) / 1000);
  const names = Object.keys(end.cpu);
  console.log(`CPU, in cores: ${names.map((name) => `${name} ${cores(name).toFixed(2)}`).join(', ')}`);
  // wrk does not wait for its last answers, so the store may have up to one more request for each connection.
  const expected = answered + sumOf(warmUp, (one) => one.requests) + polls;
  const deadline = performance.now() + 60_000;
  let counted = await countedIn(store);
  while (counted < expected && performance.now() < deadline) {
    await sleep(500);
    counted = await countedIn(store);
  }
  console.log(`${counted} requests counted in the store, at least ${expected} expected`);
  for (const { stop } of gateways) await stop();
} finally {
  await postgres.stop();
}
process.exit();

function sumOf(reports: readonly LoadReport[], figure: (one: LoadReport) => number): number {
  return reports.reduce((sum, one) => sum + figure(one), 0);
}

/** Gives one gateway another backend and another deprecation date. Waits until its responses contain the new date. */
async function applyChange(gateway: BenchGateway, change: number, backend: number): Promise<void> {
  const at = firstDate + change * dayMs;
  const date = new Date(at).toISOString().slice(0, 10);
  writeRoutes(gateway, `{ upstream: "http://127.0.0.1:${backend}", deprecation: ${date}, sunset: 2100-01-01 }`);
  for (;;) {
    polls += 1;
    const response = await fetch(`http://127.0.0.1:${gateway.port}/v1/r1`);
    await response.text();
    if (response.headers.get('deprecation') === `@${at / 1000}`) return;
    await sleep(50);
  }
}

/** The CPU seconds of each program so far, and when they were read. */
function cpuUsage(gateways: readonly BenchGateway[]) {
  const ofGateways = Object.fromEntries(gateways.map(({ name, pid }) => [name, cpuSeconds(pid)]));
  const cpu = { ...ofGateways, PostgreSQL: cpuSeconds(postgres.pid) };
  // `cpuSeconds` includes child processes: here all programs that the benchmark has started.
  const ofAllChildren = cpuSeconds(process.pid);
  const machineMs = cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
  const ofLoad = ofAllChildren - Object.values(cpu).reduce((sum, one) => sum + one, 0);
  const all: Readonly<Record<string, number>> = {
    ...cpu,
    'wrk and nginx': ofLoad,
    'other programs': machineMs / 1000 - ofAllChildren,
  };
  return { at: performance.now(), cpu: all };
}

async function countedIn(store: string): Promise<number> {
  const statement = 'SELECT SUM(requests) AS sum FROM version_gateway.version_day';
  const [row] = await queryStore<{ sum: number | null }>(store, statement);
  return row?.sum ?? 0;
}
