// `npm start`: the gateway and both sample services. A signal, or the end of one of them, stops all three.
// Plain JavaScript that an old Node can run too, so that it prints the message and no stack trace.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const oldest = Number(/\d+/.exec(JSON.parse(readFileSync('package.json', 'utf8')).engines.node)[0]);
// One Ctrl+C arrives twice, from the terminal and from npm: within this time two signals count as one.
const sameSignalMs = 1000;
const flushMs = 1000;
const running = new Map();
let stoppedAt;

if (Number(process.versions.node.split('.')[0]) >= oldest) startAll();
else {
  const remedy = 'install it, or run npm ci with optional dependencies';
  report(`Node ${oldest} or later is needed, and this is ${process.version}; ${remedy}.`);
  process.exitCode = 2;
}

function startAll() {
  // PORT is the gateway's. The services would listen on it as well if they inherited it.
  const { PORT = '', V1_PORT = '3001', V2_PORT = '3002', ...env } = process.env;
  const listen = PORT === '' ? [] : ['--listen', `127.0.0.1:${PORT}`];
  start('v1', ['services/v1/server.ts'], { ...env, PORT: V1_PORT }, 'V1_PORT chooses another port.');
  start('v2', ['services/v2/server.ts'], { ...env, PORT: V2_PORT }, 'V2_PORT chooses another port.');
  start('gateway', ['gateway/main.ts', 'start', ...listen, ...process.argv.slice(2)], {
    V1_URL: `http://127.0.0.1:${V1_PORT}`,
    V2_URL: `http://127.0.0.1:${V2_PORT}`,
    LOG_FORMAT: 'pretty',
    ...env,
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => (stoppedAt ? force() : stop()));
  // Nobody reads on, as in `npm start | head`.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', stop);
  // npm cannot forward SIGKILL. `exec` in the script makes npm the parent, with no shell between.
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && stop(), 500).unref();
}

function start(name, args, env, remedy = '') {
  // In a process group of its own it gets no signal from the terminal, only ours.
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

/** Asks the processes to finish what is in progress. */
function stop() {
  if (stoppedAt !== undefined) return;
  stoppedAt = Date.now();
  for (const child of running.values()) child.kill('SIGTERM');
}

/** For the second signal. */
function force() {
  if (Date.now() - stoppedAt < sameSignalMs) return;
  for (const child of running.values()) child.kill('SIGKILL');
}

/** Lines that nobody reads would keep the process running. */
function exit() {
  setTimeout(() => process.exit(), flushMs).unref();
  process.stdout.write('', () => process.exit());
}

function report(line) {
  process.stderr.write(`npm start: ${line}\n`);
}
