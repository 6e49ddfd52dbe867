import { availableParallelism } from 'node:os';
import { Crew } from '../cluster/crew.ts';
import { serveInProcess } from '../serving/inProcess.ts';
import type { Serve } from '../serving/serving.ts';

export interface Staff {
  readonly serve: Serve;
  /** A rolling restart. */
  roll(): void;
}

/** One process serves by itself, several as a crew. */
export function serveWith(workers: number | 'auto', notice: (line: string) => void): Staff {
  const size = workers === 'auto' ? availableParallelism() : workers;
  if (size === 1) {
    const why = 'one process cannot take over from itself: set gateway.workers to 2 or more for rolling restarts';
    return { serve: serveInProcess, roll: () => notice(`SIGUSR2 does nothing: ${why}`) };
  }
  let crew: Crew | undefined;
  return {
    serve: async (snapshot, options) => {
      crew = new Crew(snapshot, options);
      await crew.begin(size);
      return crew;
    },
    roll: () => void crew?.roll(),
  };
}
