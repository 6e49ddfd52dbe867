import { majorsBetween } from '../compat/diff/basePaths.ts';
import { Exemptions } from '../compat/exemptions.ts';
import { type Held, holdAgainst, type Judgement } from '../compat/holdAgainst.ts';
import type { Snapshot } from '../config/snapshot.ts';
import { systemClock } from '../shared/clock.ts';
import type { Compared, CompatOptions } from './compat.ts';
import { openForCompat } from './compatOpen.ts';
import type { Progress } from './compatProgress.ts';
import type { Io } from './io.ts';
import { UsageError } from './usageError.ts';

/** Two contracts that the command line names. @throws CompareError, UsageError, UnreadableFileError */
export async function compareNamed(
  old: string,
  now: string,
  options: CompatOptions,
  io: Io,
  progress: Progress,
): Promise<Compared> {
  if (old === '-' && now === '-') throw new UsageError('Only one of the two can come from standard input.');
  const snapshot = options.config === undefined ? undefined : await settingsFrom(options.config, io);
  const [before, after] = [
    await openForCompat(old, options, io, progress),
    await openForCompat(now, options, io, progress),
  ];
  const majors = majorsBetween(before, after);
  const held: Held = majors
    ? { title: `/${majors.old} → /${majors.new}`, between: 'majors', old: before, new: after, versions: majors }
    : { title: '', between: 'past', old: before, new: after, versions: {} };
  const judgement = judgementFrom(snapshot, options);
  progress.tell('comparing');
  const comparing = holdAgainst(held, judgement);
  // An exemption that lets nothing through here may be for another contract.
  const stale = judgement.exemptions.expired;
  return { report: { comparings: [comparing], stale, off: offIn(judgement.levels), notes: [] }, folder: io.cwd };
}

/** Loaded where it is needed only: two files alone are compared without a routes.yaml. */
async function settingsFrom(file: string, io: Io): Promise<Snapshot> {
  const { snapshotForCompat } = await import('./compatSettings.ts');
  return snapshotForCompat(file, io);
}

/** The rules that are switched off. */
export function offIn(levels: Judgement['levels']): string[] {
  return [...levels].flatMap(([id, level]) => (level === 'off' ? [id] : []));
}

/** What a routes.yaml says of rules and exemptions, and the flags over it. */
export function judgementFrom(snapshot: Snapshot | undefined, { rule }: Pick<CompatOptions, 'rule'>): Judgement {
  const { rules, exempt } = snapshot?.compat ?? { rules: new Map<string, never>(), exempt: [] };
  return {
    levels: new Map([...rules, ...rule]),
    exemptions: new Exemptions(exempt, systemClock.now()),
    callsOf: () => undefined,
  };
}
