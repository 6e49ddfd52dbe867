#!/usr/bin/env node
// Plain JavaScript that any Node can run. It runs the gateway in this Node, or in a newer one if this one is too old.
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const oldestNode = 24;
const thisFile = realpathSync(fileURLToPath(import.meta.url));
const root = dirname(dirname(thisFile));
const isCheckout = !root.split(sep).includes('node_modules');

const entry = entryPoint();
if (entry === undefined)
  fail(`neither dist/main.js nor gateway/main.ts is in ${root}; build or install the package again`);
else if (Number(process.versions.node.split('.')[0]) >= oldestNode) await run(entry);
else runInNewerNode(entry);

// A checkout runs its sources, because dist/ may be stale. Below node_modules Node does not run TypeScript.
function entryPoint() {
  const source = join(root, 'gateway', 'main.ts');
  const built = join(root, 'dist', 'main.js');
  return (isCheckout ? [source, built] : [built]).find((file) => existsSync(file));
}

async function run(main) {
  // The cache is enabled before the first TypeScript file is imported, because loading the TypeScript parser takes as long as the
  // rest of the start. The function is imported here, because a static import of it would fail in an old Node.
  const { enableCompileCache } = await import('node:module');
  enableCompileCache();
  stopWithNpx(() => process.kill(process.pid, 'SIGTERM'));
  await import(pathToFileURL(main).href);
}

function runInNewerNode(main) {
  const node = isCheckout ? checkoutNode() : undefined;
  if (node === undefined) {
    const alternative = isCheckout ? ', or run npm ci, which installs it as an optional dependency' : '';
    fail(`Node ${oldestNode} or later is needed, and this is ${process.version}; install it${alternative}`);
    return;
  }
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  const isTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']) {
    // A terminal also signals the child. A second SIGINT would end the child at once.
    const isSentByTerminal = isTerminal && (signal === 'SIGINT' || signal === 'SIGQUIT');
    process.on(signal, () => !isSentByTerminal && child.kill(signal));
  }
  stopWithNpx(() => child.kill('SIGTERM'));
  child.on('error', (error) => fail(`${node} cannot be run: ${error.message}`));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0);
  });
}

// npx runs the command in a shell and signals only that shell, which ends without forwarding the signal.
function stopWithNpx(stop) {
  if (process.env.npm_lifecycle_event !== 'npx') return;
  const shell = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(watch);
    stop();
  }, 500).unref();
}

// The Node installed by tools/node. The published package does not depend on a Node, because npm would then run the scripts
// of the consumer with it.
function checkoutNode() {
  try {
    const name = `node-${process.platform}-${process.arch}`;
    const folder = dirname(createRequire(thisFile).resolve(`${name}/package.json`));
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
