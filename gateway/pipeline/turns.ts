import { after, unwatch, type Waiting, watch } from '../http1/deadlines.ts';
import type { VersionUse } from '../usage/versionUse.ts';
import type { Exchange } from './exchange.ts';

// A short queue smooths a burst; a long one would only make everybody late.
const mostWaiting = 1000;

/**
 * Keeps `exchange` until one of its version's requests is done, for `limits.queue` at most. Then `go` is called with
 * whether there is room. False: nobody may wait here any more.
 */
export function waitForTurn(exchange: Exchange, go: (room: boolean) => void): boolean {
  const { served, res } = exchange;
  if (!served || served.version.limits.queue === 0 || served.use.waiting.length >= mostWaiting) return false;
  const turn = new Turn(served.use, served.version.limits.queue, go);
  res.once('close', () => turn.leave());
  return true;
}

class Turn implements Waiting {
  deadline: number;
  readonly #use: VersionUse;
  readonly #go: (room: boolean) => void;

  constructor(use: VersionUse, ms: number, go: (room: boolean) => void) {
    this.deadline = after(ms);
    this.#use = use;
    this.#go = go;
    use.waiting.push(this);
    watch(this);
  }

  /** There is room: its turn has come. */
  take(): void {
    if (this.leave()) this.#go(true);
  }

  onDeadline(): void {
    if (this.leave()) this.#go(false);
  }

  /** False when it is out of the queue already. Its client may have left. */
  leave(): boolean {
    const at = this.#use.waiting.indexOf(this);
    if (at === -1) return false;
    this.#use.waiting.splice(at, 1);
    unwatch(this);
    return true;
  }
}
