import { execFileSync } from 'node:child_process';
import { getPriority } from 'node:os';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';

const module = pathToFileURL(resolve('gateway/shared/threadPriority.ts')).href;
const program = `import { lowerThreadPriority } from '${module}';
  import { getPriority } from 'node:os';
  lowerThreadPriority();
  console.log(getPriority());`;

it.runIf(process.platform === 'linux').each([0, 3, 10, 17])(
  'a thread is nicer than the gateway, which was started with a niceness of %i',
  (niceness) => {
    const args = ['-n', String(niceness), process.execPath, '--input-type=module', '-e', program];
    const text = execFileSync('nice', args, { encoding: 'utf8' });
    expect(Number(text)).toBe(Math.min(19, getPriority() + niceness + 5));
  },
);
