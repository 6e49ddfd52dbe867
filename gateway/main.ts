import { enableCompileCache } from 'node:module';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';

// bin/ also enables the cache, but main.ts can be started directly. Without the cache, a short command would spend most of its
// time compiling.
const { directory } = enableCompileCache();
// Threads use the cache only if this variable is set. Without the cache, each thread that runs .ts files would load the
// TypeScript parser, which takes 35 MB.
if (directory !== undefined) process.env['NODE_COMPILE_CACHE'] ??= dirname(directory);
const { run } = await import('./process/cli/run.ts');
const { ignoreClosedPipes } = await import('./process/cli/io.ts');

const { stdout, stderr, env } = process;
ignoreClosedPipes(stdout, stderr);
const stdin = (): Promise<string> => text(process.stdin);
process.exitCode = await run(process.argv.slice(2), {
  stdout,
  stderr,
  env,
  cwd: process.cwd(),
  stdin,
  stdinIsTTY: process.stdin.isTTY,
});
