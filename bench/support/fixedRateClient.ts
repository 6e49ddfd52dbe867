/**
 * node fixedRateClient.ts URL RATE SECONDS [CLIENTS ROUTES]: sends RATE requests per second, whether or not earlier ones are
 * answered. The latency of a request counts from the time at which it is due. So a pause of the proxy delays all requests
 * that are due meanwhile. With a generator that waits for answers, the pause would delay only one request per connection. Every
 * millisecond, one group of requests is due. With CLIENTS and ROUTES, the requests alternate between that many
 * clients and that many routes below the URL. The report then has the number of answers for each pair of client and route:
 * `answers[client + CLIENTS * route]`.
 */
import { connect } from 'node:net';
import { ResponseReader } from './responseReader.ts';

const [address = '', rate = '5000', seconds = '1', clients = '0', routes = '0'] = process.argv.slice(2);
const url = new URL(address);
const mixedHeads = Array.from({ length: Number(clients) * Number(routes) }, (_, index) => {
  const [client, route] = [index % Number(clients), Math.floor(index / Number(clients))];
  return headOf(`${url.pathname}/r${route}`, `X-Client-Id: client-${client}\r\n`);
});
const heads = mixedHeads.length > 0 ? mixedHeads : [headOf(url.pathname, '')];
const answers = heads.map(() => 0);
const requestsPerMs = Number(rate) / 1000;
const durationMs = Number(seconds) * 1000;
/** Opened before the first request. Further connections are opened if all of these are busy. */
const firstConnections = 64;
const maxConnections = 1000;
/** How long the generator waits for answers after the last request. */
const graceMs = 2000;

interface Connection {
  send(dueAt: number): void;
}

/** The number of requests that were written so far, on all connections. */
let written = 0;
const latencies: number[] = [];
/** How late each group was sent: the part of the latencies that the generator itself adds. */
const delays: number[] = [];
/** The times at which the requests that wait for a connection were due. */
const waiting: number[] = [];
const idle: Connection[] = [];
let connections = 0;
/** Responses with a status from 400 on. They are answers, too. */
let errorResponses = 0;
/** Requests whose connection closed before the answer. */
let lostRequests = 0;

function headOf(path: string, field: string): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${url.host}\r\n${field}\r\n`);
}

function open(): void {
  connections += 1;
  const socket = connect({ port: Number(url.port), host: url.hostname, noDelay: true });
  const reader = new ResponseReader();
  let dueAt: number | undefined;
  let headIndex = 0;
  const connection: Connection = {
    send: (due) => {
      dueAt = due;
      headIndex = written % heads.length;
      written += 1;
      socket.write(heads[headIndex] as Buffer);
    },
  };
  const sendNextOrIdle = () => {
    const next = waiting.shift();
    if (next === undefined) idle.push(connection);
    else connection.send(next);
  };
  socket.on('connect', sendNextOrIdle);
  socket.on('data', (chunk: Buffer) => {
    if (dueAt === undefined || !reader.take(chunk)) return;
    latencies.push(performance.now() - dueAt);
    answers[headIndex] = (answers[headIndex] ?? 0) + 1;
    dueAt = undefined;
    if (reader.status >= 400) errorResponses += 1;
    sendNextOrIdle();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    connections -= 1;
    if (dueAt !== undefined) lostRequests += 1;
    const place = idle.indexOf(connection);
    if (place >= 0) idle.splice(place, 1);
  });
}

for (let number = 0; number < firstConnections; number++) open();

let startedAt = 0;
/** How many requests were due so far: written, or waiting for a connection. */
let scheduled = 0;
const total = Math.round(requestsPerMs * durationMs);

const dueTimeOf = (index: number): number => startedAt + Math.ceil((index + 1) / requestsPerMs);

function sendDue(): void {
  const now = performance.now();
  const dueMs = Math.floor(now - startedAt);
  const dueCount = Math.min(total, Math.floor(dueMs * requestsPerMs));
  if (scheduled < dueCount) delays.push(now - dueTimeOf(scheduled));
  for (; scheduled < dueCount; scheduled++) {
    const dueAt = dueTimeOf(scheduled);
    // The connection that is idle for the longest time, so that the proxy closes none as unused.
    const connection = idle.shift();
    if (connection) connection.send(dueAt);
    else {
      waiting.push(dueAt);
      if (connections < maxConnections) open();
    }
  }
  if (scheduled === total) awaitRest(now + graceMs);
  else setTimeout(sendDue, 1);
}

function awaitRest(until: number): void {
  if (latencies.length + lostRequests >= total || performance.now() > until) finish();
  else setTimeout(awaitRest, 10, until);
}

function finish(): void {
  latencies.sort((a, b) => a - b);
  delays.sort((a, b) => a - b);
  const percentile = (values: readonly number[], share: number) => values[Math.floor(values.length * share)] ?? 0;
  const report = {
    requests: latencies.length,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    p999: percentile(latencies, 0.999),
    delay99: percentile(delays, 0.99),
    errors: errorResponses + total - latencies.length,
    ...(mixedHeads.length > 0 && { answers }),
  };
  process.stdout.write(`\n${JSON.stringify(report)}\n`, () => process.exit());
}

// After 200 ms, the first connections are open.
setTimeout(() => {
  startedAt = performance.now();
  sendDue();
}, 200);
