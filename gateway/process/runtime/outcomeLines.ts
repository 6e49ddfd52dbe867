import type { ReloadOutcome } from '../../operate/admin/adminApi.ts';
import { refusalLines } from '../../versions/lifecycle/reloadGuard.ts';

/** An outcome as lines of text for the operator. */
export function outcomeLines(outcome: ReloadOutcome): string[] {
  switch (outcome.kind) {
    case 'unchanged':
      return outcome.reverted
        ? ['the rejected edit was undone; routes.yaml matches the active configuration again']
        : ['routes.yaml is unchanged; nothing to do'];
    case 'faulty':
      return ['routes.yaml has errors; the previous configuration stays active', ...outcome.faults];
    case 'refused':
      return ['the edit is refused; the previous configuration stays active', ...refusalLines(outcome.refusals)];
    case 'incomplete':
      return [
        'the new configuration is active, but not everywhere yet',
        ...outcome.unconfirmed,
        ...changeLines(outcome),
      ];
    case 'reloaded':
      return ['reloaded', ...changeLines(outcome)];
  }
}

function changeLines({
  changes,
  forced,
  warnings = [],
}: Pick<ReloadOutcome & { kind: 'reloaded' }, 'changes' | 'forced' | 'warnings'>): string[] {
  return [...changes, ...forced.map((reason) => `forced ${reason}`), ...warnings.map((one) => `warning: ${one}`)];
}
