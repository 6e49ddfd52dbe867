import { Random } from '../support/random.ts';

// Generated histories of a gateway: calls, faults of its processes, its disk, its clock and its files, and restarts. The same seed
// makes the same events.

export type FaultEvent =
  | { readonly kind: 'start' }
  /** `count` calls, one after the other. */
  | {
      readonly kind: 'call';
      readonly version: string;
      readonly path: string;
      readonly client: string;
      readonly count: number;
    }
  | { readonly kind: 'pause'; readonly ms: number }
  /** Asks every place that answers. */
  | { readonly kind: 'ask' }
  | { readonly kind: 'end'; readonly signal: 'SIGKILL' | 'SIGTERM' }
  /** Kills one worker, or all of them. */
  | { readonly kind: 'kill workers'; readonly all: boolean }
  /** Stops processes with SIGSTOP, and continues them after `ms`. */
  | { readonly kind: 'stop'; readonly who: 'gateway' | 'worker'; readonly ms: number }
  | { readonly kind: 'rolling restart' }
  | { readonly kind: 'full disk'; readonly isFull: boolean }
  | { readonly kind: 'read-only disk'; readonly isReadOnly: boolean }
  | { readonly kind: 'clock'; readonly ms: number }
  /** Copies the folder of the ledger, with its marks and its journal. */
  | { readonly kind: 'backup' }
  | { readonly kind: 'restore'; readonly how: 'new files' | 'in place' | 'ledger only' }
  | { readonly kind: 'files'; readonly file: '' | '-wal' | '.calls'; readonly damage: Damage; readonly part: number };

/** `part` of the event, 0 to 1, is the place of the damage in the file. */
type Damage = 'removed' | 'truncated' | 'zeros' | 'other bytes' | 'a folder';

export interface FaultHistory {
  readonly seed: number;
  readonly workers: number;
  /** `retire.quiet` and `guard.quiet`. */
  readonly quiet: '5s' | '10m';
  readonly events: readonly FaultEvent[];
}

type Choice = readonly [weight: number, event: () => FaultEvent];

/** A history of one to three runs. */
export function faultHistory(seed: number): FaultHistory {
  const random = new Random(seed);
  const choose = (choices: readonly Choice[]): FaultEvent => {
    let left = random.below(choices.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, event] of choices) {
      if (left < weight) return event();
      left -= weight;
    }
    throw new Error('no event was chosen');
  };
  const workers = random.of([1, 1, 2, 3]);
  // With a short period, calls leave it within the history. With a long one, a restart is shorter than a tenth of it.
  const quiet = random.below(6) === 0 ? '5s' : '10m';
  const part = (): number => random.below(1000) / 1000;
  const call = (count: number): FaultEvent => ({
    kind: 'call',
    version: random.of(['v1', 'v1', 'v1', 'v2']),
    path: random.of(['x', 'x', 'x', 'missing', 'slow', 'wait']),
    client: random.of(['a', 'a', 'b', 'probe']),
    count,
  });
  const damage = (): FaultEvent => ({
    kind: 'files',
    file: random.of(['', '-wal', '.calls', '.calls']),
    damage: random.of(['removed', 'truncated', 'zeros', 'other bytes', 'a folder']),
    part: part(),
  });
  const pause = (...ms: readonly number[]): FaultEvent => ({ kind: 'pause', ms: random.of(ms) });
  const clock = (): FaultEvent => {
    const ms = random.of([0, 2_000, -2_000, 20_000, -20_000, 3_600_000, -3_600_000]);
    return { kind: 'clock', ms: quiet === '10m' ? ms : 0 };
  };
  const fullDisk = (): FaultEvent => ({ kind: 'full disk', isFull: random.below(2) === 0 });
  const restore = (): FaultEvent => ({ kind: 'restore', how: random.of(['new files', 'in place', 'ledger only']) });
  const whileRunning: readonly Choice[] = [
    [30, () => call(1)],
    [4, () => call(20)],
    [14, () => pause(20, 100, 400, 1_100)],
    [quiet === '5s' ? 6 : 1, () => pause(5_500)],
    [5, () => ({ kind: 'ask' })],
    [6, fullDisk],
    [workers > 1 ? 6 : 0, () => ({ kind: 'kill workers', all: random.below(2) === 0 })],
    [3, () => ({ kind: 'stop', who: workers > 1 ? 'worker' : 'gateway', ms: random.of([200, 1_500, 4_500]) })],
    [workers > 1 ? 2 : 0, () => ({ kind: 'rolling restart' })],
    [2, clock],
    [4, () => ({ kind: 'backup' })],
    [3, damage],
  ];
  const whileStopped: readonly Choice[] = [
    [4, () => ({ kind: 'ask' })],
    [6, restore],
    [3, () => ({ kind: 'backup' })],
    [4, damage],
    [2, fullDisk],
    [2, () => ({ kind: 'read-only disk', isReadOnly: random.below(3) > 0 })],
    [2, clock],
    [3, () => pause(20, 400, 1_100)],
  ];
  const events: FaultEvent[] = [{ kind: 'start' }];
  const some = (most: number, choices: readonly Choice[]): void => {
    for (let left = random.below(most + 1); left > 0; left -= 1) events.push(choose(choices));
  };
  for (let runs = random.of([1, 1, 1, 2, 2]); runs > 0; runs -= 1) {
    some(6, whileRunning);
    events.push({ kind: 'end', signal: random.of(['SIGKILL', 'SIGKILL', 'SIGTERM']) });
    some(2, whileStopped);
    events.push({ kind: 'start' });
  }
  some(3, whileRunning);
  return { seed, workers, quiet, events };
}

export function eventInWords({ kind, ...rest }: FaultEvent): string {
  const details = Object.entries(rest).map(([name, value]) => `${name} ${value}`);
  return details.length === 0 ? kind : `${kind} (${details.join(', ')})`;
}
