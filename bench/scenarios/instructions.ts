import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProxyDefinition } from '../proxies/definition.ts';
import { gateway } from '../proxies/gateway.ts';
import { haproxy } from '../proxies/haproxy.ts';
import { nodeRelay } from '../proxies/nodeRelay.ts';
import { startJsonBackend } from '../support/backends.ts';
import { runToEnd, temporaryFolder } from '../support/children.ts';
import { runH2load } from '../support/load.ts';
import { checkResponse } from '../support/response.ts';
import { measureRounds } from '../support/rounds.ts';
import { type RunningProxy, selectProxies, startProxies } from '../support/runningProxies.ts';
import { connections, path } from '../support/workload.ts';
import type { Scenario } from './scenario.ts';

// After the warm-up, V8 has compiled the functions of a request to their final form. A load has a fixed number of requests instead
// of a fixed duration, because a proxy is many times slower under callgrind.
const warmUpRequests = 60_000;
const countedRequests = 5_000;
const outputName = 'callgrind.out';

export const instructions: Scenario = {
  name: 'instructions',
  title: 'How many instructions does a request need?',
  runs: 'only if named',
  needs: ['valgrind', 'h2load'],
  async run(options) {
    const text =
      'The workload of *What does a small request cost?*. callgrind counts the instructions of the proxy itself, without those of the kernel. A round in which V8 compiles functions again has many more instructions.';
    const folderByProxy = new Map<string, string>();
    const proxies = selectProxies([haproxy, gateway, nodeRelay], options.onlyProxies).map((proxy) =>
      underCallgrind(proxy, folderByProxy),
    );
    const started = await startProxies(proxies, await startJsonBackend(), checkResponse);
    const load = ({ port }: RunningProxy, count: number) =>
      runH2load(`http://127.0.0.1:${port}/v1${path}`, 'http/1.1', ['--h1', `-n${count}`, `-c${connections}`]);
    const measure = async (proxy: RunningProxy): Promise<{ count: number }> => {
      await controlCallgrind('--zero', proxy);
      await load(proxy, countedRequests);
      await controlCallgrind('--dump', proxy);
      return { count: countedInstructions(folderByProxy.get(proxy.name) ?? '') / countedRequests };
    };
    const warmUp = async (proxy: RunningProxy) => {
      await load(proxy, warmUpRequests);
      await controlCallgrind('--instr=on', proxy);
      await load(proxy, countedRequests);
    };
    try {
      const samples = await measureRounds(started.running, options.rounds, measure, warmUp);
      const table = { figure: 'instructions per request', digits: 0, rows: samples.rows('count'), goals: [] };
      return { text, tables: [table], notes: [...started.notes, ...samples.notes] };
    } finally {
      await started.stop();
    }
  },
};

/** Nothing is counted until `--instr=on`, so that the start and the warm-up are faster. */
function underCallgrind(definition: ProxyDefinition, folderByProxy: Map<string, string>): ProxyDefinition {
  const folder = temporaryFolder();
  folderByProxy.set(definition.name, folder);
  const options = ['--tool=callgrind', '--smc-check=all-non-file', '--instr-atstart=no', '--quiet'];
  return {
    ...definition,
    command: (start) => {
      const { program, args, ...otherSettings } = definition.command(start);
      const callgrindArgs = [...options, `--callgrind-out-file=${join(folder, outputName)}`, program, ...args];
      return { program: 'valgrind', args: callgrindArgs, ...otherSettings };
    },
  };
}

async function controlCallgrind(action: string, { child }: RunningProxy): Promise<void> {
  await runToEnd({ program: 'callgrind_control', args: [action, String(child.pid)] }, 'onGeneratorCores');
}

/** The instructions in the latest dump, such as `callgrind.out.3`. */
function countedInstructions(folder: string): number {
  const numbers = readdirSync(folder).map((name) => Number(name.slice(outputName.length + 1)));
  const dump = readFileSync(join(folder, `${outputName}.${Math.max(...numbers)}`), 'utf8');
  return Number(/^(?:totals|summary): (\d+)/m.exec(dump)?.[1]);
}
