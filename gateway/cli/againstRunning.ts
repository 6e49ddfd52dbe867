import { printable } from '../config/fault.ts';
import { refusalLines } from '../lifecycle/reloadGuard.ts';
import type { ReloadOutcome } from '../runtime/reload.ts';
import { adminAt, isRecord, stranger } from './admin.ts';
import type { AdminTarget } from './adminTarget.ts';
import type { Paint } from './paint.ts';

/** What a running gateway would do with this text of a routes.yaml. @throws UnansweredError */
export async function askRunning(target: AdminTarget, text: string): Promise<ReloadOutcome> {
  const answer = await adminAt(target).post('/api/reload/preview', { routes_yaml: text });
  if (!isOutcome(answer)) throw stranger(target.name);
  return answer;
}

/** Whether it would go on serving as it does. */
export function isRejected({ kind }: ReloadOutcome): boolean {
  return kind === 'faulty' || kind === 'refused';
}

/** A preview for people, line by line; nothing has happened yet. */
export function previewInWords(outcome: ReloadOutcome, paint: Paint): string[] {
  switch (outcome.kind) {
    case 'unchanged':
      return [paint('green', 'The running gateway would change nothing: the file means the same to it.')];
    case 'faulty': {
      const heading = 'The running gateway would not take it over: in its own environment and folder there are faults.';
      return [paint('red', heading), ...indented(outcome.faults)];
    }
    case 'refused': {
      const heading = 'The running gateway would refuse this edit, because it breaks an announcement to clients.';
      return [paint('red', heading), ...indented(refusalLines(outcome.refusals))];
    }
    case 'incomplete':
    case 'reloaded': {
      const changes = outcome.changes.map((change) => `would change: ${change}`);
      const forced = outcome.forced.map((reason) => `would be forced: ${reason}`);
      const lines = [...changes, ...forced];
      const unseen = 'would change: nothing that a client can see';
      return [
        paint('green', 'The running gateway would take it over.'),
        ...indented(lines.length > 0 ? lines : [unseen]),
      ];
    }
  }
}

// Faults have several lines. They come from another process, so nothing in them may move the cursor.
function indented(texts: readonly string[]): string[] {
  return texts.flatMap((text) => text.split('\n').map((line) => `  ${printable(line)}`));
}

const lists: Readonly<Record<string, readonly string[]>> = {
  unchanged: [],
  faulty: ['faults'],
  refused: ['refusals'],
  reloaded: ['changes', 'forced'],
};

function isOutcome(answer: unknown): answer is ReloadOutcome {
  if (!isRecord(answer) || typeof answer['kind'] !== 'string') return false;
  return lists[answer['kind']]?.every((name) => Array.isArray(answer[name])) ?? false;
}
