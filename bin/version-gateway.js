#!/usr/bin/env node
// Plain JavaScript for whatever Node is installed: it finds one that can run the gateway, and hands over to it.
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const oldest = 24;
const here = realpathSync(fileURLToPath(import.meta.url));
const root = dirname(dirname(here));
const isCheckout = !root.split(sep).includes('node_modules');

const entry = entryPoint();
if (entry === undefined)
  fail(`neither dist/main.js nor gateway/main.ts is in ${root}; build or install the package again`);
else if (Number(process.versions.node.split('.')[0]) >= oldest) await run(entry);
else handOver(entry);

// In a checkout the sources are what counts, for dist/ may be stale; below node_modules Node does not run TypeScript.
function entryPoint() {
  const source = join(root, 'gateway', 'main.ts');
  const built = join(root, 'dist', 'main.js');
  return (isCheckout ? [source, built] : [built]).find((file) => existsSync(file));
}

async function run(main) {
  // Before the first file in TypeScript: without the cache, what reads that is loaded, and takes as long as all the rest.
  // Nodes that are too old do not have it, so it is not named at the top.
  const { enableCompileCache } = await import('node:module');
  enableCompileCache();
  stopWithNpx(() => process.kill(process.pid, 'SIGTERM'));
  await import(pathToFileURL(main).href);
}

function handOver(main) {
  const node = isCheckout ? checkoutNode() : undefined;
  if (node === undefined) {
    const orElse = isCheckout ? ', or run npm ci with optional dependencies' : '';
    fail(`Node ${oldest} or later is needed, and this is ${process.version}; install it${orElse}`);
    return;
  }
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  const isTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']) {
    // A terminal sends its own signals to the child as well, and a second SIGINT would mean "at once".
    const isSentByTerminal = isTerminal && (signal === 'SIGINT' || signal === 'SIGQUIT');
    process.on(signal, () => !isSentByTerminal && child.kill(signal));
  }
  stopWithNpx(() => child.kill('SIGTERM'));
  child.on('error', (error) => fail(`${node} cannot be run: ${error.message}`));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0);
  });
}

// npx runs the command in a shell and sends signals to that shell alone, which ends without passing them on.
function stopWithNpx(stop) {
  if (process.env.npm_lifecycle_event !== 'npx') return;
  const shell = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(watch);
    stop();
  }, 500).unref();
}

// The Node that tools/node brings. The published package depends on none: it would replace that of its consumer's scripts.
function checkoutNode() {
  try {
    const name = `node-${process.platform}-${process.arch}`;
    const folder = dirname(createRequire(here).resolve(`${name}/package.json`));
    const node = join(folder, 'bin', 'node');
    return existsSync(node) ? node : undefined;
  } catch {
    return undefined;
  }
}

function fail(reason) {
  process.stderr.write(`version-gateway: ${reason}.\n`);
  process.exitCode = 2;
}
