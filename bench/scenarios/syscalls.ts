import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { standaloneProxies } from '../proxies/index.ts';
import { startJsonBackend } from '../support/backends.ts';
import { temporaryFolder } from '../support/children.ts';
import { runLoad } from '../support/load.ts';
import { processTree } from '../support/proc.ts';
import { checkResponse } from '../support/response.ts';
import { measureRounds } from '../support/rounds.ts';
import { type RunningProxy, selectProxies, startProxies } from '../support/runningProxies.ts';
import { connections, path } from '../support/workload.ts';
import type { Scenario } from './scenario.ts';

const seconds = 1;

export const syscalls: Scenario = {
  name: 'syscalls',
  title: 'How many system calls does a request need?',
  runs: 'unless quick',
  needs: ['strace'],
  async run(options) {
    const text =
      'The workload of *What does a small request cost?*, counted by strace. strace slows every proxy down, so this section has no times.';
    const started = await startProxies(
      selectProxies(standaloneProxies, options.onlyProxies),
      await startJsonBackend(),
      checkResponse,
    );
    try {
      // If the machine forbids tracing, no proxy can be measured. The run must not fail because of that.
      const optional = started.running.map((proxy) => ({ ...proxy, required: false }));
      const samples = await measureRounds(optional, options.rounds, measure);
      const table = { figure: 'system calls per request', digits: 2, rows: samples.rows('calls'), goals: [] };
      return { text, tables: [table], notes: [...started.notes, ...samples.notes] };
    } finally {
      await started.stop();
    }
  },
};

async function measure({ port, child }: RunningProxy): Promise<{ calls: number }> {
  const output = join(temporaryFolder(), 'strace');
  const processes = processTree(child.pid).flatMap((pid) => ['-p', String(pid)]);
  const args = ['-c', '-f', '-U', 'calls,name', '-o', output, ...processes];
  const strace = spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(strace, 'close');
  // strace reports when it has attached, or why it cannot.
  const [message] = await Promise.race([once(strace.stderr, 'data'), ended]);
  if (!String(message).includes('attached')) throw new Error(`strace cannot trace: ${String(message).trim()}`);
  const { requests } = await runLoad({ url: `http://127.0.0.1:${port}/v1${path}`, connections, seconds });
  strace.kill('SIGINT');
  await ended;
  return { calls: Number(/^ *(\d+) +total$/m.exec(readFileSync(output, 'utf8'))?.[1]) / requests };
}
