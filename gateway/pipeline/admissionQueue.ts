import { deadlineIn, type Timed, unwatchDeadline, watchDeadline } from '../http1/deadlines.ts';

// A short queue absorbs a burst; a long one only delays every client.
const maxLength = 1000;

/** The requests of a version that wait because a limit is reached, oldest first. */
export class AdmissionQueue {
  readonly #requests: QueuedRequest[] = [];

  get length(): number {
    return this.#requests.length;
  }

  /** `onDecision` is called with true once there is room, or with false after `ms`. Undefined if the queue is full. */
  add(ms: number, onDecision: (admitted: boolean) => void): QueuedRequest | undefined {
    return this.#requests.length < maxLength ? new QueuedRequest(this.#requests, ms, onDecision) : undefined;
  }

  admitNext(): void {
    this.#requests[0]?.admit();
  }
}

class QueuedRequest implements Timed {
  deadline: number;
  readonly #queue: QueuedRequest[];
  readonly #onDecision: (admitted: boolean) => void;

  constructor(queue: QueuedRequest[], ms: number, onDecision: (admitted: boolean) => void) {
    this.deadline = deadlineIn(ms);
    this.#queue = queue;
    this.#onDecision = onDecision;
    queue.push(this);
    watchDeadline(this);
  }

  admit(): void {
    if (this.leave()) this.#onDecision(true);
  }

  onDeadline(): void {
    if (this.leave()) this.#onDecision(false);
  }

  /** False if it has left the queue already. */
  leave(): boolean {
    const at = this.#queue.indexOf(this);
    if (at === -1) return false;
    this.#queue.splice(at, 1);
    unwatchDeadline(this);
    return true;
  }
}
