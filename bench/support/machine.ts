import { availableParallelism, cpus, release } from 'node:os';
import type { Options } from '../options.ts';
import { jsonBackendName } from './backends.ts';
import { coreLayout } from './cores.ts';
import { generator } from './load.ts';
import { packageVersion } from './versions.ts';

/** The head of the results: date, machine and versions. */
export function machine({ rounds, seconds }: Options): string {
  return `# Results

- ${new Date().toISOString().slice(0, 10)}: medians of ${rounds} interleaved rounds of ${seconds} s; \`×\` is the ratio to the first row
- ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), Linux ${release()}; ${coreLayout}
- Node ${process.version}, Express ${packageVersion('express')}, Fastify ${packageVersion('fastify')}
- load generator: ${generator}; backend: ${jsonBackendName}`;
}
