import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { Command } from './children.ts';
import { programVersion } from './versions.ts';

/** `onProxyCore`: the core of the measured proxy. `onGeneratorCores`: all other cores, for the load generator and the backend. `onAnyCore`: not pinned. */
export type Core = 'onProxyCore' | 'onGeneratorCores' | 'onAnyCore';

const usableCores = allowedCores();
const canPin = usableCores.length > 1 && programVersion('taskset', ['--version']) !== undefined;

export const coreLayout = canPin
  ? `proxy on core ${usableCores.at(-1)}, load generator and backend on ${usableCores.slice(0, -1).join(', ')}`
  : 'not pinned to cores';

export function pinned(command: Command, core: Core): { program: string; args: string[] } {
  const { program, args } = command;
  if (core === 'onAnyCore' || !canPin) return { program, args: [...args] };
  const cores = core === 'onProxyCore' ? [usableCores.at(-1)] : usableCores.slice(0, -1);
  // taskset calls exec, so its process ID becomes that of the program to measure.
  return { program: 'taskset', args: ['-c', cores.join(','), program, ...args] };
}

function allowedCores(): number[] {
  try {
    const list = /^Cpus_allowed_list:\s*(.+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '';
    return list.split(',').flatMap((range) => {
      const [first = Number.NaN, last = first] = range.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
    });
  } catch {
    return Array.from({ length: availableParallelism() }, (_, core) => core);
  }
}
