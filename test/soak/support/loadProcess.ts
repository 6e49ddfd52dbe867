/**
 * node loadProcess.ts PORT CONNECTIONS: sends one request at a time on each connection until stdin ends, half of them to
 * /v1 and half to /v2. Responses of /v1 contain the number of their configuration in three fields and in the body.
 */
import { connect } from 'node:net';

const [port = '', connections = '32'] = process.argv.slice(2);
const wrong: string[] = [];
const generations = new Set<number>();
let served = 0;
let over = false;
let open = 0;

function connectAndSend(version: 'v1' | 'v2'): void {
  const request = `GET /${version}/x HTTP/1.1\r\nHost: a\r\n\r\n`;
  const socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true });
  let received = '';
  open += 1;
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
    open -= 1;
    if (over) return report();
    note(`${version}: the connection was closed`);
    setTimeout(connectAndSend, 20, version);
  });
}

function faultOf(version: string, response: string): string | undefined {
  if (!response.startsWith('HTTP/1.1 200 ')) return `${version} failed`;
  if (version === 'v2') return undefined;
  const deprecation = (Number(/deprecation: @(\d+)/i.exec(response)?.[1]) - Date.parse('2020-01-01') / 1000) / 86_400;
  const sunset = (Date.parse(/sunset: (.*)/i.exec(response)?.[1] ?? '') - Date.parse('2100-01-01')) / 86_400_000;
  const info = Number(/generation-(\d+)>; rel="deprecation"/.exec(response)?.[1]);
  const target = Number(response.slice(response.lastIndexOf('\n') + 1));
  generations.add(info);
  return deprecation === info && sunset === info && target === info % 2
    ? undefined
    : `mixed ${deprecation} ${sunset} ${info} ${target}`;
}

function note(fault: string): void {
  if (wrong.length < 5) wrong.push(fault);
}

function report(): void {
  if (open > 0) return;
  const seconds = (performance.now() - startedAt) / 1000;
  const loadReport = { served, seconds, wrong, generations: generations.size };
  process.stdout.write(JSON.stringify(loadReport), () => process.exit());
}

const startedAt = performance.now();
for (let number = 0; number < Number(connections); number += 1) connectAndSend(number % 2 === 0 ? 'v1' : 'v2');
process.stdout.write('\n');
process.stdin.resume().on('end', () => {
  over = true;
});
