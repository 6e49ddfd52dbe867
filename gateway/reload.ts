import { ConfigError, formatFault } from './config/fault.ts';
import type { Snapshot } from './config/snapshot.ts';
import { changesBetween } from './lifecycle/changes.ts';
import { guard, type Refusal, type UseFacts } from './lifecycle/guard.ts';
import type { Clock } from './shared/clock.ts';

export type Trigger = 'start' | 'file' | 'signal' | 'admin';

/** What became of a reload. A bad file and a refused edit change nothing. */
export type Outcome =
  | { readonly kind: 'reloaded'; readonly changes: readonly string[]; readonly forced: readonly string[] }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'faulty'; readonly faults: readonly string[] }
  | { readonly kind: 'refused'; readonly refusals: readonly Refusal[] };

/** How the active configuration came to be, and the last one that did not. */
export interface ConfigStatus {
  readonly fingerprint: string;
  /** From 1, one more with each reload that changed something. */
  readonly generation: number;
  readonly loadedAt: number;
  readonly trigger: Trigger;
  readonly lastFailure:
    | { readonly at: number; readonly trigger: Trigger; readonly reasons: readonly string[] }
    | undefined;
}

export interface ReloaderParts {
  /** Reads and checks the file. @throws ConfigError, or what reading it throws */
  readonly load: () => Snapshot;
  /** Puts a snapshot to work, in one assignment. */
  readonly apply: (snapshot: Snapshot) => void;
  readonly use: UseFacts;
  readonly clock: Clock;
}

/**
 * Replaces the snapshot at work by what its file says now. From reading to replacing it is one synchronous step, so that
 * an older load can never land after a newer one.
 */
export class Reloader {
  readonly #parts: ReloaderParts;
  #active: Snapshot;
  #status: ConfigStatus;

  constructor(active: Snapshot, parts: ReloaderParts) {
    this.#parts = parts;
    this.#active = active;
    this.#status = {
      fingerprint: active.fingerprint,
      generation: 1,
      loadedAt: parts.clock.now(),
      trigger: 'start',
      lastFailure: undefined,
    };
  }

  get status(): ConfigStatus {
    return this.#status;
  }

  reload(trigger: Trigger): Outcome {
    const now = this.#parts.clock.now();
    const outcome = this.#attempt(now, trigger);
    if (outcome.kind === 'faulty') this.#note(now, trigger, outcome.faults);
    if (outcome.kind === 'refused')
      this.#note(
        now,
        trigger,
        outcome.refusals.map(({ message }) => message),
      );
    return outcome;
  }

  #attempt(now: number, trigger: Trigger): Outcome {
    let next: Snapshot;
    try {
      next = this.#parts.load();
    } catch (error) {
      return { kind: 'faulty', faults: faultsOf(error) };
    }
    if (next.fingerprint === this.#active.fingerprint) return { kind: 'unchanged' };
    const refusals = guard(this.#active, next, this.#parts.use, now);
    if (refusals.length > 0) return { kind: 'refused', refusals };
    const before = this.#active;
    this.#parts.apply(next);
    this.#active = next;
    const { generation } = this.#status;
    this.#status = {
      fingerprint: next.fingerprint,
      generation: generation + 1,
      loadedAt: now,
      trigger,
      lastFailure: undefined,
    };
    return { kind: 'reloaded', changes: changesBetween(before, next, now), forced: newReasons(before, next) };
  }

  #note(at: number, trigger: Trigger, reasons: readonly string[]): void {
    this.#status = { ...this.#status, lastFailure: { at, trigger, reasons } };
  }
}

function faultsOf(error: unknown): string[] {
  if (error instanceof ConfigError) return error.faults.map(formatFault);
  return [error instanceof Error ? error.message : String(error)];
}

/** The reasons that let this edit pass, for the log. */
function newReasons(before: Snapshot, after: Snapshot): string[] {
  return [...after.guard.force]
    .filter(([name, reason]) => before.guard.force.get(name) !== reason)
    .map(([name, reason]) => `/${name}: ${reason}`);
}

/** An outcome for people, line by line. */
export function outcomeInWords(outcome: Outcome): string[] {
  switch (outcome.kind) {
    case 'unchanged':
      return ['routes.yaml means the same as before: nothing to do'];
    case 'faulty':
      return ['routes.yaml cannot be served; the last good one serves on', ...outcome.faults];
    case 'refused':
      return [
        'the edit is refused, and the last good one serves on',
        ...outcome.refusals.map(({ message, force }) => `${message}  If it is right all the same, add: ${force}`),
      ];
    case 'reloaded':
      return ['reloaded', ...outcome.changes, ...outcome.forced.map((reason) => `forced ${reason}`)];
  }
}
