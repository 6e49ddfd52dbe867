/**
 * node loadProcess.ts PORT CONNECTIONS: one request at a time on each connection, half of them on /v1 and half on /v2,
 * until stdin ends. The answers of /v1 carry the number of their configuration in three fields and in the body.
 */
import { connect } from 'node:net';

const [port = '', connections = '32'] = process.argv.slice(2);
const wrong: string[] = [];
const generations = new Set<number>();
let served = 0;
let over = false;
let busy = 0;

function drive(version: 'v1' | 'v2'): void {
  const request = `GET /${version}/x HTTP/1.1\r\nHost: a\r\n\r\n`;
  const socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true });
  let received = '';
  busy += 1;
  socket.on('connect', () => socket.write(request));
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
    const head = received.indexOf('\r\n\r\n');
    const length = /content-length: (\d+)/i.exec(received)?.[1];
    if (head === -1 || length === undefined || received.length < head + 4 + Number(length)) return;
    const fault = faultOf(version, received);
    if (fault) note(`${fault}: ${received.slice(0, 400)}`);
    served += 1;
    received = '';
    if (over) socket.end();
    else socket.write(request);
  });
  socket.on('error', (error) => note(`${version} ${error.message}`));
  socket.on('close', () => {
    busy -= 1;
    if (over) return report();
    note(`${version}: the connection was closed`);
    setTimeout(drive, 20, version);
  });
}

function faultOf(version: string, answer: string): string | undefined {
  if (!answer.startsWith('HTTP/1.1 200 ')) return `${version} failed`;
  if (version === 'v2') return undefined;
  const dated = (Number(/deprecation: @(\d+)/i.exec(answer)?.[1]) - Date.parse('2020-01-01') / 1000) / 86_400;
  const sunset = (Date.parse(/sunset: (.*)/i.exec(answer)?.[1] ?? '') - Date.parse('2100-01-01')) / 86_400_000;
  const page = Number(/generation-(\d+)>; rel="deprecation"/.exec(answer)?.[1]);
  const target = Number(answer.slice(answer.lastIndexOf('\n') + 1));
  generations.add(page);
  return dated === page && sunset === page && target === page % 2
    ? undefined
    : `mixed ${dated} ${sunset} ${page} ${target}`;
}

function note(fault: string): void {
  if (wrong.length < 5) wrong.push(fault);
}

function report(): void {
  if (busy > 0) return;
  const seconds = (performance.now() - startedAt) / 1000;
  const seen = { served, seconds, wrong, generations: generations.size };
  process.stdout.write(JSON.stringify(seen), () => process.exit());
}

const startedAt = performance.now();
for (let number = 0; number < Number(connections); number += 1) drive(number % 2 === 0 ? 'v1' : 'v2');
process.stdout.write('\n');
process.stdin.resume().on('end', () => {
  over = true;
});
