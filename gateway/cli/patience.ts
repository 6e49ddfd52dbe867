import { InvalidArgumentError } from 'commander';
import { timer } from '../config/schema/units.ts';

/** How long to wait, as it was written and in ms. */
export interface Patience {
  readonly text: string;
  readonly ms: number;
}

/** Reads the argument of `--timeout`. */
export function patience(text: string): Patience {
  const { success, data: ms, error } = timer.safeParse(text);
  if (success) return { text, ms };
  const [issue] = error.issues;
  const remedy = issue?.code === 'custom' ? issue.params?.['remedy'] : undefined;
  throw new InvalidArgumentError(`It ${issue?.message ?? 'is not a duration'}. ${remedy ?? 'Write 60s.'}`);
}
