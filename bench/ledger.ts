// node bench/ledger.ts [FOLDER] [DAYS]: measures the usage ledger with a SYNTHETIC year of history, 20 versions with 5,000
// clients each. Prints the size of the file, the cost of counting a request, and the time of each query of the dashboard. FOLDER is
// for the ledger (default: a temporary folder, which is removed), DAYS is the length of the history (default 365).
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Collector } from '../gateway/usage/counting/collector.ts';
import { ClientIdentification } from '../gateway/usage/counting/identification.ts';
import { Ledger } from '../gateway/usage/ledger/ledger.ts';
import { LedgerReader } from '../gateway/usage/ledger/reader.ts';
import { hourMs, hoursKeptMs } from '../gateway/usage/ledger/spans.ts';
import type { UsageRow } from '../gateway/usage/usageRow.ts';

const [folder = mkdtempSync(join(tmpdir(), 'ledger-bench-')), days = '365'] = process.argv.slice(2);
const [versions, clients, routes] = [20, 5_000, 40];
const dayMs = 24 * hourMs;
const today = Math.floor(Date.now() / dayMs);
let state = 20_261_121;

/** xorshift with a fixed seed, so that every run has the same history. */
function random(): number {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) / 4_294_967_296;
}

/** Whether a client calls on a day. 5 % of the clients call daily, 15 % on 30 % of the days, the others on 3 %. */
function isActive(client: number): boolean {
  const rank = client / clients;
  return random() < (rank < 0.05 ? 1 : rank < 0.2 ? 0.3 : 0.03);
}

function* rowsOfDay(version: number, day: number): Generator<UsageRow> {
  // A client calls in six hours of a day. The ledger adds up the hours of older days, so one row is enough for them.
  const rowsPerClient = (today - day) * dayMs <= hoursKeptMs ? 6 : 1;
  for (let client = 0; client < clients; client++) {
    if (!isActive(client)) continue;
    for (let nth = 0; nth < rowsPerClient; nth++) {
      const hour = day * dayMs + Math.floor(random() * 24) * hourMs;
      const requests = 1 + Math.floor(random() ** 4 * 5_000);
      yield {
        version: `v${version}`,
        client:
          client % 2 === 0 ? `x-api-key:#${client.toString(16).padStart(8, '0')}` : `x-client-id:client-${client}`,
        route: `GET /resources${Math.floor(random() ** 2 * routes)}/{id}`,
        hour,
        requests,
        errors: Math.floor(requests * 0.02),
        served: requests,
        failing: 0,
        refused: 0,
        used: hour + 3_000_000,
        accepted: hour + 3_000_000,
        first: hour + 1_000,
        last: hour + 3_000_000,
        body: 0,
        target: 20 + Math.floor(random() * 40),
        head: 400 + Math.floor(random() * 200),
      };
    }
  }
}

/** Prints the median and the shortest time of three runs. */
async function printTime(name: string, query: () => Promise<readonly unknown[]> | readonly unknown[]): Promise<void> {
  const times: number[] = [];
  let rows = 0;
  for (let round = 0; round < 3; round++) {
    const start = performance.now();
    rows = (await query()).length;
    times.push(performance.now() - start);
  }
  const [best = 0, middle = 0] = times.sort((a, b) => a - b);
  console.log(`  ${name.padEnd(44)} ${middle.toFixed(1).padStart(8)} ms  (best ${best.toFixed(1)}, ${rows} rows)`);
}

console.log(`collector: ${nsPerCount().toFixed(0)} ns per request (12 header fields, 200 clients, 50 paths)`);

const store = join(folder, 'usage.db');
const ledger = Ledger.open({ store, retention: 400 * dayMs }, { clock: { now: Date.now } });
let written = 0;
const start = performance.now();
for (let day = today - Number(days) + 1; day <= today; day++) {
  for (let version = 1; version <= versions; version++) {
    const batch = [...rowsOfDay(version, day)];
    written += batch.length;
    ledger.add(batch);
  }
  ledger.maintain((day + 1) * dayMs);
}
const writingMs = performance.now() - start;
console.log(`SYNTHETIC history: ${days} days, ${versions} versions × ${clients} clients, ${written} rows counted`);
console.log(
  `  writing: ${((writingMs * 1000) / written).toFixed(1)} µs per row, with maintenance; file ${(statSync(store).size / 2 ** 20).toFixed(0)} MiB`,
);
const reader = LedgerReader.open(store);
const now = Date.now();
for (const [label, since] of [
  ['365 d', now - 365 * dayMs],
  ['30 d', now - 30 * dayMs],
  ['24 h', now - dayMs],
] as const) {
  await printTime(`totals, ${label}`, () => reader.totals(since));
  await printTime(`totals between, ${label} to 6 h ago`, () => reader.totals(since, now - 6 * hourMs));
  await printTime(`byClient, ${label}`, () => reader.byClient('v7', since));
  await printTime(`requestsOfOtherClients, ${label}`, async () => [await reader.requestsOfOtherClients(since)]);
  await printTime(`byRoute, ${label}`, () => reader.byRoute('v7', since));
  await printTime(`movement, ${label}`, () => reader.movement('v7', 'v8', since));
  await printTime(`series by day, ${label}`, () => reader.series('day', since));
  await printTime(`series by hour, one version, ${label}`, () => reader.series('hour', since, 'v7'));
  await printTime(`clientSeries, ${label}`, () => reader.clientSeries('v7', ['x-client-id:client-1'], since));
}
await printTime('series by hour, all versions, 30 d', () => reader.series('hour', now - 30 * dayMs));
await printTime('pastClients, quiet for 7 d', () => reader.pastClients('v7', now - 7 * dayMs, now, 7 * dayMs));
await printTime('coverage', async () => [await reader.coverage()]);
const batch = [...rowsOfDay(7, today)].slice(0, 1_000);
await printTime(`add of ${batch.length} rows`, () => {
  ledger.add(batch);
  return batch;
});
let maintainedAt = now;
await printTime('maintain, at the end of a day', () => {
  maintainedAt += dayMs;
  ledger.maintain(maintainedAt);
  return [];
});
if (ledger.problem !== undefined) console.log(ledger.problem);
await reader.close();
ledger.close();
if (process.argv[2] === undefined) rmSync(folder, { recursive: true });

function nsPerCount(): number {
  const usage = {
    identify: [{ by: 'header', name: 'x-client-id' }, { by: 'header', name: 'x-api-key' }, { by: 'user-agent' }],
  } as const;
  const identification = new ClientIdentification(usage.identify, 'salt');
  const collector = new Collector({ ...usage, maxClients: 50_000, maxRoutes: 500 }, identification);
  const sharedFields = Object.entries({
    Host: 'a',
    Accept: '*/*',
    'Accept-Encoding': 'gzip',
    'Accept-Language': 'en',
    Referer: 'b',
    Cookie: 'c',
    Origin: 'd',
    'Cache-Control': 'e',
    'X-Request-ID': 'f',
    'Content-Type': 'g',
  }).flat();
  const heads = Array.from({ length: 200 }, (_one, n) => [
    ...sharedFields,
    'User-Agent',
    'curl/8.1',
    'X-API-Key',
    `secret-${n}`,
  ]);
  const count = 1_000_000;
  let startedAt = performance.now();
  // The first 200,000 calls only warm the compilers up.
  for (let n = -200_000; n < count; n++) {
    if (n === 0) startedAt = performance.now();
    // A new string for the path of each request, as the parser of a server creates them.
    const rawHeaders = heads[Math.abs(n) % 200] as string[];
    const path = `/drinks/${Math.abs(n) % 50}`;
    collector.count({
      version: 'v1',
      method: 'GET',
      resource: path,
      paths: undefined,
      rawHeaders,
      address: '',
      status: 200,
      served: true,
      at: 3_600_000,
      bodySize: 0,
      targetSize: path.length + 3,
      headSize: 400,
    });
    if (n % 50_000 === 0) collector.take();
  }
  return ((performance.now() - startedAt) * 1e6) / count;
}
