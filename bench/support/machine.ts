import { availableParallelism, cpus, release } from 'node:os';
import type { Options } from '../options.ts';
import { proxies } from '../proxies/index.ts';
import { jsonBackendName } from './backends.ts';
import { coreLayout } from './cores.ts';
import { generator } from './load.ts';
import { packageVersion } from './versions.ts';

/** Date, procedure, machine and versions. */
export function conditions({ rounds, seconds }: Options): string[] {
  const versions = proxies.map(({ name, version }) => `${name} ${version ?? 'not installed'}`);
  return [
    `${new Date().toISOString().slice(0, 10)}: medians of ${rounds} rounds. Every round measures all proxies, one at a time, mostly for ${seconds} s each.`,
    `Compare the figures of one table only. Less is better, unless the table says otherwise. [README.md](README.md) describes how each figure is measured.`,
    `${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), Linux ${release()}; ${coreLayout}`,
    `${versions.join(', ')}; Node ${process.version}, Express ${packageVersion('express')}, Fastify ${packageVersion('fastify')}`,
    `load generator: ${generator}; backend: ${jsonBackendName}`,
  ];
}
