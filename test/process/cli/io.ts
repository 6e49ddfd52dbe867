import { run } from '../../../gateway/process/cli/run.ts';

/** Runs a command line and collects what it prints. */
export async function runIn(cwd: string, args: string[], env: NodeJS.ProcessEnv = {}, isTTY = false, input?: string) {
  const printed = { stdout: '', stderr: '' };
  const output = (name: 'stdout' | 'stderr') => ({
    isTTY,
    write: (text: string) => {
      printed[name] += text;
    },
  });
  const stdin = input === undefined ? {} : { stdin: async () => input };
  const code = await run(args, { stdout: output('stdout'), stderr: output('stderr'), env, cwd, ...stdin });
  return { code, ...printed };
}
