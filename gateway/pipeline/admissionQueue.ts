import { deadlineIn, type Timed, unwatchDeadline, watchDeadline } from '../http1/deadlines.ts';
import type { Exchange } from './exchange.ts';
import type { VersionUse } from './inFlight.ts';

// A short queue smooths a burst; a long one would only make everybody late.
const mostWaiting = 1000;

/**
 * Keeps `exchange` until one of its version's requests is done, for `limits.queue` at most. Then `go` is called with
 * whether there is room. False: nobody may wait here any more.
 */
export function waitForRoom(exchange: Exchange, go: (room: boolean) => void): boolean {
  const { activeVersion, res } = exchange;
  if (!activeVersion || activeVersion.version.limits.queue === 0 || activeVersion.use.queue.length >= mostWaiting)
    return false;
  const turn = new QueueEntry(activeVersion.use, activeVersion.version.limits.queue, go);
  res.once('close', () => turn.leave());
  return true;
}

class QueueEntry implements Timed {
  deadline: number;
  readonly #use: VersionUse;
  readonly #go: (room: boolean) => void;

  constructor(use: VersionUse, ms: number, go: (room: boolean) => void) {
    this.deadline = deadlineIn(ms);
    this.#use = use;
    this.#go = go;
    use.queue.push(this);
    watchDeadline(this);
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
    const at = this.#use.queue.indexOf(this);
    if (at === -1) return false;
    this.#use.queue.splice(at, 1);
    unwatchDeadline(this);
    return true;
  }
}
