import { ConfigError, formatFault } from '../config/fault.ts';
import type { Snapshot } from '../config/snapshot.ts';
import { guardReload, type Refusal, refusalLines, type UseFacts } from '../lifecycle/reloadGuard.ts';
import { changesBetween } from '../lifecycle/snapshotChanges.ts';
import type { ConfigStatus, Trigger } from '../observability/configStatus.ts';
import type { Clock } from '../shared/clock.ts';

/** What became of a reload. A bad file and a refused edit change nothing. */
export type Outcome =
  | { readonly kind: 'reloaded'; readonly changes: readonly string[]; readonly forced: readonly string[] }
  /** Active, but a worker has not confirmed it: until it does, or is replaced, it may serve the previous configuration. */
  | {
      readonly kind: 'incomplete';
      readonly changes: readonly string[];
      readonly forced: readonly string[];
      readonly unconfirmed: readonly string[];
    }
  /** `reverted`: the edit before this one had been rejected, and is gone from the file. */
  | { readonly kind: 'unchanged'; readonly reverted?: boolean }
  | { readonly kind: 'faulty'; readonly faults: readonly string[] }
  | { readonly kind: 'refused'; readonly refusals: readonly Refusal[] };

export interface ReloaderParts {
  /** Reads and checks the file, or takes `content` for what it holds. @throws ConfigError, or what reading it throws */
  readonly load: (content?: Uint8Array) => Snapshot | Promise<Snapshot>;
  /** The same for a look only, and of `text` where there is one. */
  readonly peek: (text?: string) => Snapshot | Promise<Snapshot>;
  /** Puts a snapshot to work, in one assignment. Returns a line about each worker that has not confirmed it. */
  readonly apply: (snapshot: Snapshot) => Promise<readonly string[]>;
  /** How the versions are used right now. */
  readonly use: () => Promise<UseFacts>;
  readonly clock: Clock;
}

/** Replaces the snapshot at work by what its file says now. */
export class Reloader {
  readonly #parts: ReloaderParts;
  #active: Snapshot;
  #status: ConfigStatus;
  // One after the other, each from reading to replacing: an older load can never land after a newer one.
  #last: Promise<unknown> = Promise.resolve();

  constructor(active: Snapshot, parts: ReloaderParts) {
    this.#parts = parts;
    this.#active = active;
    this.#status = {
      fingerprint: active.fingerprint,
      generation: 1,
      loadedAt: parts.clock.now(),
      trigger: 'start',
      forced: [],
      lastFailure: undefined,
    };
  }

  get status(): ConfigStatus {
    return this.#status;
  }

  /** `content`: in place of what the file holds now. */
  reload(trigger: Trigger, content?: Uint8Array): Promise<Outcome> {
    const outcome = this.#last.then(() => this.#reload(trigger, content));
    this.#last = outcome.catch(() => {});
    return outcome;
  }

  /** What a reload would come to, of the file or of `text`; nothing is changed. */
  async preview(text?: string): Promise<Outcome> {
    return (await this.#judge(() => this.#parts.peek(text))).outcome;
  }

  async #reload(trigger: Trigger, content?: Uint8Array): Promise<Outcome> {
    const { next, outcome } = await this.#judge(() => this.#parts.load(content));
    let unconfirmed: readonly string[] = [];
    const now = this.#parts.clock.now();
    if (outcome.kind === 'reloaded' && next) {
      try {
        unconfirmed = await this.#parts.apply(next);
      } catch (error) {
        const faults = faultsOf(error);
        this.#note(now, trigger, faults);
        return { kind: 'faulty', faults };
      }
      this.#active = next;
      const { generation, failures = 0 } = this.#status;
      const { fingerprint } = next;
      this.#status = {
        fingerprint,
        generation: generation + 1,
        loadedAt: now,
        trigger,
        failures,
        forced: outcome.forced,
        lastFailure: undefined,
      };
      if (unconfirmed.length > 0) return { ...outcome, kind: 'incomplete', unconfirmed };
    }
    if (outcome.kind === 'unchanged' && this.#status.lastFailure !== undefined) {
      this.#status = { ...this.#status, lastFailure: undefined };
      return { kind: 'unchanged', reverted: true };
    }
    if (outcome.kind === 'faulty') this.#note(now, trigger, outcome.faults);
    if (outcome.kind === 'refused')
      this.#note(
        now,
        trigger,
        outcome.refusals.map(({ message }) => message),
      );
    return outcome;
  }

  async #judge(read: () => Snapshot | Promise<Snapshot>): Promise<{ next?: Snapshot; outcome: Outcome }> {
    let next: Snapshot;
    try {
      next = await read();
    } catch (error) {
      return { outcome: { kind: 'faulty', faults: faultsOf(error) } };
    }
    if (next.fingerprint === this.#active.fingerprint) return { outcome: { kind: 'unchanged' } };
    const use = await this.#parts.use();
    const now = this.#parts.clock.now();
    const refusals = guardReload(this.#active, next, use, now);
    if (refusals.length > 0) return { outcome: { kind: 'refused', refusals } };
    const changes = changesBetween(this.#active, next, now);
    return { next, outcome: { kind: 'reloaded', changes, forced: newReasons(this.#active, next) } };
  }

  #note(at: number, trigger: Trigger, reasons: readonly string[]): void {
    const failures = (this.#status.failures ?? 0) + 1;
    this.#status = { ...this.#status, failures, lastFailure: { at, trigger, reasons } };
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
      return outcome.reverted
        ? ['the rejected edit is gone; routes.yaml matches the active configuration again']
        : ['routes.yaml is unchanged; nothing to do'];
    case 'faulty':
      return ['routes.yaml has faults; the previous configuration stays active', ...outcome.faults];
    case 'refused':
      return ['the edit is refused; the previous configuration stays active', ...refusalLines(outcome.refusals)];
    case 'incomplete':
      return ['active, but not in every worker yet', ...outcome.unconfirmed, ...changesInWords(outcome)];
    case 'reloaded':
      return ['reloaded', ...changesInWords(outcome)];
  }
}

function changesInWords({ changes, forced }: Pick<Outcome & { kind: 'reloaded' }, 'changes' | 'forced'>): string[] {
  return [...changes, ...forced.map((reason) => `forced ${reason}`)];
}
