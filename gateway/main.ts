import { run } from './cli/run.ts';

const { stdout, stderr, env } = process;
process.exitCode = await run(process.argv.slice(2), { stdout, stderr, env, cwd: process.cwd() });
