import { InvalidArgumentError } from 'commander';
import { period } from '../config/schema/units.ts';

/** How far back to look, as it was written and in ms. */
export interface Period {
  readonly text: string;
  readonly ms: number;
}

export function periodArgument(text: string): Period {
  const { success, data: ms, error } = period.safeParse(text);
  if (success) return { text, ms };
  const [issue] = error.issues;
  const remedy = issue?.code === 'custom' ? issue.params?.['remedy'] : undefined;
  throw new InvalidArgumentError(`It ${issue?.message ?? 'is not a duration'}. ${remedy ?? 'Write 7d.'}`);
}
