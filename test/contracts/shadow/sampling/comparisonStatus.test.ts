import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { StoppedComparisons } from '../../../../gateway/contracts/shadow/sampling/comparisonStatus.ts';
import { temporaryFolder } from '../../../config/temporary.ts';

it('reports that stops cannot be stored, leaves no other file behind, and stores them once that is possible', () => {
  const folder = temporaryFolder();
  const file = join(folder, 'stopped.json');
  mkdirSync(join(file, 'folder'), { recursive: true });
  const notices: string[] = [];
  const stopped = new StoppedComparisons(file, (line) => notices.push(line));
  expect(stopped.keys).toEqual([]);
  stopped.add('v1 a');
  expect([stopped.save(), stopped.has('v1 a'), readdirSync(folder)]).toEqual([false, true, ['stopped.json']]);
  expect(notices).toEqual([
    expect.stringMatching(
      /stopped\.json cannot be written: .*\. {2}Stopped comparisons start again when the gateway restarts\.$/,
    ),
  ]);
  rmSync(file, { recursive: true });
  expect([stopped.save(), new StoppedComparisons(file, () => {}).keys]).toEqual([true, ['v1 a']]);
});
