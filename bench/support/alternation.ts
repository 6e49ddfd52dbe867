import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Snapshot } from '../../gateway/config/snapshot.ts';
import { DataPlane } from '../../gateway/process/runtime/dataPlane.ts';
import { createClientListener, listen } from '../../gateway/proxy/pipeline/clientListener.ts';
import type { Recorder } from '../../gateway/usage/observability/exchangeRecord.ts';
import type { RestrictionUpdate } from '../../gateway/versions/restrictions/restriction.ts';

// A request is recorded some time after it has ended, perhaps in the interval of the next variant. So an interval is several
// times as long as that delay. It is short enough that a slow minute of the machine affects all variants.
const intervalMs = 600;

export interface Variant {
  /** The difference from the other variants, such as `metrics and ledger`. */
  readonly name: string;
  readonly snapshot: Snapshot;
  /** Receives each request that ends; undefined: no metrics and no ledger. */
  readonly recorder: Recorder | undefined;
}

/** What one variant has cost so far. */
export interface VariantFigure {
  /** The name of the variant. */
  readonly name: string;
  /** CPU time of the whole process. */
  readonly cpuMicros: number;
  /** CPU time of the thread that serves requests. */
  readonly threadMicros: number;
  readonly requests: number;
}

/**
 * Serves with one variant after the other, in random order. Writes the figures to `folder`/figures.json once a second;
 * SIGUSR2 resets them.
 */
export async function alternate(
  variants: readonly [Variant, ...Variant[]],
  folder: string,
  restrictions: RestrictionUpdate = {},
): Promise<void> {
  const figures = variants.map((variant) => ({ variant, cpuMicros: 0, threadMicros: 0, requests: 0 }));
  const recorderByFigure = new Map(
    figures.map((figure) => [figure, countingRecorder(figure, figure.variant.recorder)]),
  );
  const dataPlane = new DataPlane(variants[0].snapshot);
  // The same restrictions for all variants: the data plane keeps them when the snapshot changes.
  await dataPlane.restrict(restrictions);
  const server = createClientListener(variants[0].snapshot.gateway, dataPlane.context);
  const shuffled = () => figures.toSorted(() => Math.random() - 0.5);
  let upcoming = shuffled();
  let current = upcoming.shift();
  const cpuTimes = () => ({ cpu: process.cpuUsage(), thread: process.threadCpuUsage() });
  let before = cpuTimes();
  const activate = (figure: (typeof figures)[number]): void => {
    const { snapshot } = figure.variant;
    if (dataPlane.current !== snapshot) dataPlane.apply(snapshot);
    dataPlane.context.recorder = recorderByFigure.get(figure);
  };
  if (current) activate(current);
  setInterval(() => {
    const after = cpuTimes();
    if (current) {
      current.cpuMicros += after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system;
      current.threadMicros += after.thread.user + after.thread.system - before.thread.user - before.thread.system;
    }
    current = upcoming.shift();
    if (upcoming.length === 0) upcoming = shuffled();
    if (current) activate(current);
    before = cpuTimes();
  }, intervalMs);
  process.on('SIGUSR2', () => {
    for (const figure of figures) Object.assign(figure, { cpuMicros: 0, threadMicros: 0, requests: 0 });
  });
  setInterval(() => {
    const written = figures.map(({ variant: { name }, ...counts }): VariantFigure => ({ name, ...counts }));
    writeFileSync(join(folder, 'figures.tmp'), JSON.stringify(written));
    renameSync(join(folder, 'figures.tmp'), join(folder, 'figures.json'));
  }, 1000);
  await listen(server, variants[0].snapshot.gateway.listen);
}

/** Counts the requests that end. So the record of each exchange is created even in the variant that records nothing. */
function countingRecorder(figure: { requests: number }, recorder: Recorder | undefined): Recorder {
  return {
    record(exchange) {
      figure.requests += 1;
      recorder?.record(exchange);
    },
    tunnelOpened: (version) => recorder?.tunnelOpened?.(version),
  };
}
