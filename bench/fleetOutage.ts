// node bench/fleetOutage.ts [RATE [BEFORE [OUTAGE]]]: three gateways of a fleet, and one without a fleet for comparison, answer
// RATE requests per second in total (default 1,000), from 500 clients to 20 routes. The store fails twice. Each time it answers for
// BEFORE minutes (default 2) and then fails for OUTAGE minutes (default 10). First PostgreSQL crashes, so that connections are
// refused. The second time, the network drops everything. Prints the latencies and the rows that wait for the store in each
// minute, the time until the store has all of them, and whether the sums in the store are exact.
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startPostgres } from '../test/support/postgres.ts';
import { startTcpProxy } from '../test/support/tcpProxy.ts';
import { startJsonBackend } from './support/backends.ts';
import { runToEnd } from './support/children.ts';
import { type BenchGateway, queryStore, startGateway } from './support/fleetGateways.ts';

const [rate = 1_000, minutesBefore = 2, minutesOfOutage = 10] = process.argv.slice(2).map(Number);
const [clients, routes] = [500, 20];
const secondsPerMinute = 60;
const clientScript = fileURLToPath(new URL('support/fixedRateClient.ts', import.meta.url));

interface Report {
  readonly p50: number;
  readonly p99: number;
  /** How late the generator sent its requests: 99th percentile, ms. */
  readonly delay99: number;
  readonly errors: number;
  /** The number of answered requests of each pair of client and route; the index is `client + clients * route`. */
  readonly answers: readonly number[];
}

interface Counts {
  readonly client: string;
  readonly route: string;
  readonly requests: number;
}

const postgres = await startPostgres();
const proxy = await startTcpProxy(postgres.port, () => {});
try {
  const direct = await postgres.database();
  const store = direct.replace(`:${postgres.port}/`, `:${proxy.port}/`);
  const backend = await startJsonBackend();
  const fleet: BenchGateway[] = [];
  for (const name of ['gw-1', 'gw-2', 'gw-3']) fleet.push(await startGateway(name, backend, store));
  const gateways = [...fleet, await startGateway('alone', backend)];
  const answered = Array.from({ length: clients * routes }, () => 0);
  let errors = 0;

  /** Sends requests to all gateways for one minute. Prints the latencies, and the rows that wait at the end. */
  const runMinute = async (phase: string): Promise<void> => {
    const reports = await Promise.all(gateways.map((gateway) => load(gateway)));
    for (const { answers } of reports.slice(0, fleet.length))
      for (const [pair, count] of answers.entries()) answered[pair] = (answered[pair] ?? 0) + count;
    errors += reports.reduce((sum, report) => sum + report.errors, 0);
    const latencies = (key: 'p50' | 'p99' | 'delay99') => reports.map((report) => report[key].toFixed(1)).join(' ');
    const waiting = await Promise.all(fleet.map((gateway) => waitingRows(gateway)));
    const figures = `p50 ${latencies('p50')}; p99 ${latencies('p99')}; generator's delay ${latencies('delay99')} ms`;
    console.log(`${phase}: ${figures}; errors ${errors}; rows that wait ${waiting.join(' ')}`);
  };
  console.log(`the figures of each line, in this order: ${gateways.map(({ name }) => name).join(', ')}`);
  await runMinute('warm-up');
  const failures = [
    { name: 'PostgreSQL has crashed', fail: () => postgres.crash(), recover: () => postgres.start() },
    { name: 'the network drops everything', fail: async () => proxy.blackHole(), recover: async () => proxy.restore() },
  ];
  for (const { name, fail, recover } of failures) {
    for (let number = 1; number <= minutesBefore; number += 1) await runMinute('the store answers');
    const failing = sleep(2_000).then(fail);
    for (let number = 1; number <= minutesOfOutage; number += 1) await runMinute(`${name}, minute ${number}`);
    await failing;
    console.log(`status of ${fleet[0]?.name}: ${await statusOf(fleet[0] as BenchGateway)}`);
    const recoveredAt = performance.now();
    const caughtUp = recover().then(() => Promise.all(fleet.map((gateway) => waitUntilSent(gateway))));
    const minuteAfter = runMinute('the store answers again');
    await caughtUp;
    console.log(`the outboxes are empty after ${((performance.now() - recoveredAt) / 1000).toFixed(1)} s`);
    await minuteAfter;
  }
  for (const { stop } of gateways) await stop();
  await compareSums(direct, answered);
} finally {
  await postgres.stop();
}
process.exit();

async function load({ port }: BenchGateway): Promise<Report> {
  const args = [
    clientScript,
    `http://127.0.0.1:${port}/v1`,
    `${rate / 4}`,
    `${secondsPerMinute}`,
    `${clients}`,
    `${routes}`,
  ];
  return JSON.parse(await runToEnd({ program: process.execPath, args }, 'onAnyCore'));
}

async function waitingRows({ adminPort }: BenchGateway): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  return Number(/^version_gateway_fleet_spooled_rows (\d+)/m.exec(metrics)?.[1]);
}

/** Waits until the outbox of the gateway is empty. */
async function waitUntilSent(gateway: BenchGateway): Promise<void> {
  while ((await waitingRows(gateway)) !== 0) await sleep(50);
}

async function statusOf({ adminPort }: BenchGateway): Promise<string> {
  const args = ['gateway/main.ts', 'fleet', '--admin', `http://127.0.0.1:${adminPort}`];
  return runToEnd({ program: process.execPath, args }, 'onAnyCore');
}

/** Compares the store with the answers, by client and route. All requests are of one version. */
async function compareSums(store: string, answered: readonly number[]): Promise<void> {
  const counted = await queryStore<Counts>(
    store,
    `SELECT clients.name AS client, routes.name AS route, SUM(requests) AS requests FROM version_gateway.pair_day
      JOIN version_gateway.clients ON clients.id = client JOIN version_gateway.routes ON routes.id = route GROUP BY 1, 2`,
  );
  const inStore = new Map(counted.map(({ client, route, requests }) => [`${client} ${route}`, Number(requests)]));
  const wrong = answered.filter((count, pair) => {
    const key = `x-client-id:client-${pair % clients} GET /r${Math.floor(pair / clients)}`;
    return inStore.get(key) !== count;
  });
  const sum = (counts: Iterable<number>): number => [...counts].reduce((total, count) => total + count, 0);
  console.log(`${sum(answered)} requests answered by the fleet, ${sum(inStore.values())} counted in the store;`);
  console.log(`${wrong.length} of ${answered.length} sums by client and route differ`);
}
