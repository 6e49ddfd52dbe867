// `npm start`: runs the gateway and both sample services. A signal, or the end of one of them, stops all three.
// Plain JavaScript, so that an old Node can run this file and print which version of Node is needed.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const oldestNode = Number(/\d+/.exec(JSON.parse(readFileSync('package.json', 'utf8')).engines.node)[0]);
// The signal of Ctrl+C arrives twice, from the terminal and from npm. Two signals within this time count as one.
const sameSignalMs = 1000;
// How long the reader of the output may take to read the last lines.
const lastLinesMs = 1000;
/** The running child processes by name: v1, v2 and gateway. */
const running = new Map();
/** When this process began to stop the others, epoch ms. */
let stoppedAt;

const options = process.argv.slice(2);
const wrongPort = ['PORT', 'V1_PORT', 'V2_PORT'].find((name) => !isPort(process.env[name]));

if (Number(process.versions.node.split('.')[0]) < oldestNode) {
  const remedy = 'install it, or run npm ci, which installs it as an optional dependency';
  refuse(`Node ${oldestNode} or later is needed, and this is ${process.version}; ${remedy}.`);
} else if (options.includes('--help') || options.includes('-h')) {
  process.stdout.write('PORT, V1_PORT and V2_PORT set the ports. npm start passes these options to the gateway:\n\n');
  spawn(process.execPath, ['bin/version-gateway.js', 'start', '--help'], { stdio: 'inherit' });
} else if (wrongPort !== undefined) {
  refuse(`${wrongPort}=${process.env[wrongPort]} is not a port.  Set it to a number from 0 to 65535.`);
} else startAll();

function startAll() {
  // PORT is the port of the gateway. The services must not inherit it, because they would listen on the same port.
  const { PORT = '', V1_PORT = '3001', V2_PORT = '3002', ...env } = process.env;
  const listen = PORT === '' ? [] : ['--listen', `127.0.0.1:${PORT}`];
  start(
    'v1',
    ['services/v1/server.ts'],
    { ...env, PORT: V1_PORT },
    'If its port is in use, set V1_PORT to another one.',
  );
  start(
    'v2',
    ['services/v2/server.ts'],
    { ...env, PORT: V2_PORT },
    'If its port is in use, set V2_PORT to another one.',
  );
  start('gateway', ['bin/version-gateway.js', 'start', ...listen, ...options], {
    V1_URL: `http://127.0.0.1:${V1_PORT}`,
    V2_URL: `http://127.0.0.1:${V2_PORT}`,
    LOG_FORMAT: 'pretty',
    ...env,
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => (stoppedAt ? force() : stop()));
  // The reader has closed the pipe, as in `npm start | head`.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', stop);
  // npm cannot forward SIGKILL. npm is the parent of this process, because the script in package.json uses `exec`. If npm is killed,
  // this process gets another parent.
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && stop(), 500).unref();
}

function start(name, args, env, remedy = '') {
  // In its own process group, the child gets signals only from this process and not from the terminal.
  const child = spawn(process.execPath, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  running.set(name, child);
  for (const output of ['stdout', 'stderr'])
    createInterface({ input: child[output] }).on('line', (line) => process[output].write(`[${name}] ${line}\n`));
  child.on('error', (error) => report(`${name} cannot be started: ${error.message}`));
  child.on('close', (code, signal) => {
    running.delete(name);
    if (stoppedAt === undefined) {
      report(
        `${name} ended ${signal ? `by ${signal}` : `with exit code ${code}`}; stopping the others.  ${remedy}`.trimEnd(),
      );
      process.exitCode = code || 1;
      stop();
    }
    if (running.size === 0) exit();
  });
}

/** Lets the processes finish their requests in flight. */
function stop() {
  if (stoppedAt !== undefined) return;
  stoppedAt = Date.now();
  for (const child of running.values()) child.kill('SIGTERM');
}

/** On the second signal. */
function force() {
  if (Date.now() - stoppedAt < sameSignalMs) return;
  for (const child of running.values()) child.kill('SIGKILL');
}

/** Exits even if output is pending: a pipe that is not read would keep the process running. */
function exit() {
  setTimeout(() => process.exit(), lastLinesMs).unref();
  process.stdout.write('', () => process.exit());
}

/** Unset, empty, or a number from 0 to 65535. */
function isPort(text = '') {
  return text === '' || (/^\d{1,5}$/.test(text) && Number(text) <= 65535);
}

function refuse(line) {
  report(line);
  process.exitCode = 2;
}

function report(line) {
  process.stderr.write(`npm start: ${line}\n`);
}
