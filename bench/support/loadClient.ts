/**
 * node loadClient.ts URL CONNECTIONS SECONDS: the load generator if wrk is not installed. The environment variable BODY_BYTES
 * is the size of each request body; with 0 or without it, GET requests are sent.
 * Uses plain sockets, because node:http needs more CPU than most of the measured proxies.
 */
import { connect } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { ResponseReader } from './responseReader.ts';

const [urlText = '', connections = '64', seconds = '1'] = process.argv.slice(2);
const bodyBytes = Number(process.env['BODY_BYTES'] ?? 0);
const url = new URL(urlText);
const body = Buffer.alloc(bodyBytes, 'x');
const head = Buffer.from(
  bodyBytes > 0
    ? `POST ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Length: ${bodyBytes}\r\n\r\n`
    : `GET ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`,
);

const latencies: number[] = [];
let bytes = 0;
let errors = 0;
let isOver = false;

function openConnection(): void {
  const endpoint = { port: Number(url.port), host: url.hostname };
  const socket =
    url.protocol === 'https:' ? connectSecurely({ ...endpoint, rejectUnauthorized: false }) : connect(endpoint);
  socket.setNoDelay();
  const reader = new ResponseReader();
  let sentAt = 0;
  const send = () => {
    sentAt = performance.now();
    socket.write(head);
    if (bodyBytes > 0) socket.write(body);
  };
  socket.on(url.protocol === 'https:' ? 'secureConnect' : 'connect', send);
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (isOver || !reader.take(chunk)) return;
    latencies.push(performance.now() - sentAt);
    if (reader.status >= 400) errors++;
    send();
  });
  socket.on('error', () => errors++);
  socket.on('close', () => isOver || setTimeout(openConnection, 10));
}

const startedAt = performance.now();
for (let number = 0; number < Number(connections); number++) openConnection();

setTimeout(() => {
  isOver = true;
  const elapsedSeconds = (performance.now() - startedAt) / 1000;
  latencies.sort((a, b) => a - b);
  const percentile = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0;
  const report = {
    requests: latencies.length,
    seconds: elapsedSeconds,
    bytes,
    p50: percentile(0.5),
    p99: percentile(0.99),
    errors,
  };
  process.stdout.write(`\n${JSON.stringify(report)}\n`, () => process.exit());
}, Number(seconds) * 1000);
