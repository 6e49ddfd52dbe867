import { globSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { defineConfig, type Plugin } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Test files that share processes. To start one for each file, and to load the same modules again, takes longer than most
// of their tests. A file that changes its process or the modules, or that measures them, gets a process of its own. So do those
// that measure pauses: other files leave garbage for the collector.
const ownProcess =
  /\b(vi|globalThis)\b|\bprocess\.(on|once|off|emit|chdir|cpuUsage|memoryUsage|resourceUsage|env\[[^\]]*\] =|execArgv)/;
const measuring = /^test\/(browser|compose|load|operate\/otlp|soak)\/|\/(slow\w+|hostilePeers)\.test\.ts$/;
const sharing = globSync('test/**/*.test.ts', { cwd: import.meta.dirname }).filter(
  (file) => !measuring.test(file) && !ownProcess.test(readFileSync(join(import.meta.dirname, file), 'utf8')),
);

// Everything that a client sees, once more with the parser of node:http for all requests.
const withoutLane = {
  include: ['test/wire/**/*.test.ts', 'test/proxy/pipeline/**/*.test.ts', 'test/faults/faults.test.ts'],
  // These start a gateway of each kind themselves, or are not about HTTP/1.1.
  exclude: [
    'test/proxy/pipeline/fastLane.test.ts',
    'test/proxy/pipeline/laneParity.test.ts',
    'test/proxy/pipeline/http2/**',
  ],
  env: { FAST_LANE: 'off' },
};

// They wait for minutes and compute little. They start first, so that the others run meanwhile.
const waiting = [
  'e2e/retirePage',
  'operate/fleet/evidence',
  'faults/lostCounts',
  'operate/fleet/backups',
  'operate/fleet/questions',
  'operate/fleet/runningFleet',
].map((name) => join(import.meta.dirname, 'test', `${name}.test.ts`));

class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const sorted = await super.sort(files);
    const waits = ({ moduleId }: TestSpecification) => waiting.includes(moduleId);
    return [...sorted.filter(waits), ...sorted.filter((file) => !waits(file))];
  }
}

const packageFiles = join(import.meta.dirname, 'gateway/shared/packageFiles.ts');
const builtThreads = join(import.meta.dirname, 'test/support/builtThreads.ts');

/** Lets the threads of the gateway run from the build of the run. */
const threadsOfBuild: Plugin = {
  name: 'built threads',
  enforce: 'pre',
  resolveId: (source, importer) => {
    if (!source.endsWith('/packageFiles.ts') || importer === undefined || importer === builtThreads) return undefined;
    return resolve(dirname(importer), source) === packageFiles ? builtThreads : undefined;
  },
};

export default defineConfig({
  plugins: [threadsOfBuild],
  test: {
    sequence: { sequencer: WaitingFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'gateway',
          include: ['test/**/*.test.ts'],
          // Container tests need an engine, and soak tests patience: they have commands of their own.
          exclude: ['test/compose/**', 'test/soak/**', ...sharing],
        },
      },
      {
        extends: true,
        test: { name: 'shared processes', include: sharing, isolate: false },
      },
      {
        extends: true,
        test: {
          ...withoutLane,
          name: 'without the fast lane',
          exclude: [...withoutLane.exclude, ...sharing],
        },
      },
      {
        extends: true,
        test: {
          ...withoutLane,
          name: 'without the fast lane, shared processes',
          include: sharing.filter((file) => /^test\/(?:wire|proxy\/pipeline|faults\/faults\.test)\b/.test(file)),
          isolate: false,
        },
      },
    ],
    globalSetup: ['test/support/memoryFolder.ts', 'test/support/builtGateway.ts'],
    // Generous, because a busy machine must not fail a test. Speed is measured as CPU time, or by the soak tests.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 300_000 } },
    // More than five for each of two cores: on average, a file waits for timers and processes for more than three quarters of the time.
    maxWorkers: 11,
    // The gateway compiles into this folder, too, but only from its second file on. Tests start it hundreds of times.
    env: { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(tmpdir(), 'node-compile-cache') },
  },
});
