// node bench/shadow.ts [SECONDS [RATE]]: what a shadow costs clients. Works even on a machine with other work. One gateway has five
// versions with the same backend. Two have no shadow. The shadows of the other three go to a version that answers, to one that is
// down, and to one that does not answer for 30 s. RATE requests per second (default 1,000) use the same connections for SECONDS
// (default 150). Every 50 ms another version is called, in random order, so that other work slows all alike. Prints the latencies, the
// CPU time per request of the serving thread, and their ratios to the first version, each with its 95 % confidence interval. The
// second version without a shadow shows how exact the ratios are: without disturbance, its ratios are 1.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gatewayCommand } from './proxies/gateway.ts';
import { startJsonBackend } from './support/backends.ts';
import { startServer, temporaryFolder } from './support/children.ts';
import { freePort } from './support/ports.ts';
import { mainThreadSeconds } from './support/proc.ts';
import { ResponseReader } from './support/responseReader.ts';

const [seconds = 150, rate = 1_000] = process.argv.slice(2).map(Number);
const sliceMs = 50;
const connections = 16;
const names = ['no shadow', 'no shadow, again', 'shadow', 'shadow, down', 'shadow, 30 s'] as const;
const silent = createServer(() => {}).listen(0, '127.0.0.1');
await once(silent, 'listening');
const backend = `http://127.0.0.1:${await startJsonBackend()}`;
const until = new Date(Date.now() + 86_400_000).toISOString();
// The default is five samples per second. Each version is called during a fifth of the time only, so its share is one per second.
const shadowTo = (version: string) =>
  `{ upstream: ${backend}, shadow: { to: ${version}, sample: 1%, rate: 1/s, timeout: 30s, until: ${until} } }`;
const routes = `routes:
  /v1: ${backend}
  /v2: ${backend}
  /v3: ${shadowTo('/v6')}
  /v4: ${shadowTo('/v7')}
  /v5: ${shadowTo('/v8')}
  /v6: ${backend}
  /v7: http://127.0.0.1:${await freePort()}
  /v8: http://127.0.0.1:${(silent.address() as AddressInfo).port}
log: { access: off }
`;
const port = await freePort();
const gateway = await startServer(gatewayCommand({ port, folder: temporaryFolder(), routes }), port, 'onProxyCore');

interface Connection {
  readonly send: (version: number) => Promise<void>;
}

async function open(): Promise<Connection> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  const reader = new ResponseReader();
  let answered = (): void => {};
  socket.on('data', (chunk: Buffer) => {
    if (!reader.take(chunk)) return;
    if (reader.status !== 200) throw new Error(`The gateway answered ${reader.status}.`);
    answered();
  });
  return {
    send: (version) =>
      new Promise((resolve) => {
        answered = resolve;
        socket.write(`GET /v${version}/json HTTP/1.1\r\nHost: a\r\n\r\n`);
      }),
  };
}

const idle = await Promise.all(Array.from({ length: connections }, open));

/** What one version has cost in one slice. */
interface SliceFigures {
  readonly latencies: readonly number[];
  /** CPU time of the serving thread for all requests of the slice, µs. */
  readonly cpu: number;
}

/** Calls one version for one slice. A latency includes the time for which a request waits for a connection. */
async function measureSlice(version: number): Promise<SliceFigures> {
  const latencies: number[] = [];
  const pending = new Set<Promise<void>>();
  const waiting: number[] = [];
  /** Sends the request that is due, and then those that wait for a connection. */
  const sendDue = async (connection: Connection, dueAt: number): Promise<void> => {
    for (let due: number | undefined = dueAt; due !== undefined; due = waiting.shift()) {
      await connection.send(version);
      latencies.push(performance.now() - due);
    }
    idle.push(connection);
  };
  const before = mainThreadSeconds(gateway.pid);
  const start = performance.now();
  const count = (rate * sliceMs) / 1000;
  for (let sent = 0; sent < count; ) {
    await sleep(1);
    const now = performance.now();
    for (; sent < Math.min(count, ((now - start) * rate) / 1000); sent += 1) {
      const connection = idle.shift();
      if (connection === undefined) {
        waiting.push(now);
        continue;
      }
      const sending = sendDue(connection, now);
      pending.add(sending);
      void sending.finally(() => pending.delete(sending));
    }
  }
  await Promise.all(pending);
  return { latencies, cpu: (mainThreadSeconds(gateway.pid) - before) * 1e6 };
}

type Round = readonly SliceFigures[];

/** For each figure: a function that returns the values of all versions in some rounds. */
const figures = {
  '50 %, ms': (rounds: readonly Round[]) => latencyOf(rounds, 0.5),
  '99 %, ms': (rounds: readonly Round[]) => latencyOf(rounds, 0.99),
  'CPU, µs': (rounds: readonly Round[]) =>
    names.map((_name, index) => {
      const slices = rounds.flatMap((round) => round[index] ?? []);
      const requests = slices.reduce((sum, one) => sum + one.latencies.length, 0);
      return slices.reduce((sum, one) => sum + one.cpu, 0) / requests;
    }),
};

function latencyOf(rounds: readonly Round[], share: number): number[] {
  return names.map((_name, index) => {
    const all = Float64Array.from(rounds.flatMap((round) => round[index]?.latencies ?? [])).sort();
    return all[Math.floor(all.length * share)] ?? Number.NaN;
  });
}

// Compilers warm up.
for (let round = 0; round < 40; round += 1) for (const index of names.keys()) await measureSlice(index + 1);
const rounds: Round[] = [];
const end = performance.now() + seconds * 1000;
while (performance.now() < end) {
  const round: SliceFigures[] = [];
  for (const index of [...names.keys()].toSorted(() => Math.random() - 0.5))
    round[index] = await measureSlice(index + 1);
  rounds.push(round);
}
console.log(`${rounds.length} rounds of ${sliceMs} ms per version, ${rate} requests/s`);
for (const [figure, valuesOf] of Object.entries(figures)) {
  const ratiosOf = (some: readonly Round[]): number[] => {
    const [first = Number.NaN, ...others] = valuesOf(some);
    return [1, ...others.map((value) => value / first)];
  };
  const values = valuesOf(rounds);
  const ratios = ratiosOf(rounds);
  // Bootstrap: as many rounds as were measured are drawn at random, with replacement, 200 times. The differences between these 200
  // results show how much chance changes the ratios.
  const resampled = Array.from({ length: 200 }, () =>
    ratiosOf(rounds.map(() => rounds[Math.floor(Math.random() * rounds.length)] ?? [])),
  );
  for (const [index, name] of names.entries()) {
    const sorted = resampled.map((one) => one[index] ?? Number.NaN).toSorted((a, b) => a - b);
    const range = [sorted[5], sorted[194]].map((one) => one?.toFixed(3)).join('–');
    console.log(
      `${figure}  ${name.padEnd(17)} ${values[index]?.toFixed(2).padStart(7)}  ${ratios[index]?.toFixed(3)} (${range})`,
    );
  }
}
await gateway.stop();
silent.close();
process.exit();
