import { availableParallelism } from 'node:os';
import { serveInProcess } from '../runtime/inProcess.ts';
import type { Serve } from '../runtime/serving.ts';
import { WorkerPool } from '../runtime/workerPool.ts';

export interface Staff {
  readonly serve: Serve;
  /** A rolling restart. */
  roll(): void;
}

/** One process serves by itself, several as a worker pool. */
export function serveWith(workers: number | 'auto', notice: (line: string) => void): Staff {
  const size = workers === 'auto' ? availableParallelism() : workers;
  if (size === 1) {
    const why = 'one process cannot take over from itself: set gateway.workers to 2 or more for rolling restarts';
    return { serve: serveInProcess, roll: () => notice(`SIGUSR2 does nothing: ${why}`) };
  }
  let pool: WorkerPool | undefined;
  return {
    serve: async (snapshot, options) => {
      pool = new WorkerPool(snapshot, options);
      await pool.start(size);
      return pool;
    },
    roll: () => void pool?.rollingRestart(),
  };
}
