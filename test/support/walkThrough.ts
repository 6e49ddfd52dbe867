import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { commandsIn, type ShownCommand } from '../docs/consoleBlocks.ts';
import { eventually } from './eventually.ts';

/** A step that a page describes: a command, with its output if the page shows it, or an edit of routes.yaml. */
type Step = { readonly command: string; readonly output?: string } | { readonly edit: string };

interface Printed {
  readonly code: number;
  readonly stdout: string;
}

export interface RunningStack {
  /** Runs a command of the page. */
  readonly run: (command: string) => Promise<Printed>;
  /** A cheaper way to ask the same until the answer is the expected one, if there is one. The command is then run, too. */
  readonly ask?: (command: string) => (() => Promise<Printed>) | undefined;
  /** The routes.yaml that the running gateway watches. */
  readonly routes: string;
  /** Where the gateway listens for clients. */
  readonly url: string;
}

/** A check may start a process, and a minute without calls is part of the page. */
const longestPauseMs = 3_000;
const curl = { 'user-agent': 'curl/8' };

/**
 * What each edit of docs/retire-a-version.md causes. Asks the gateway instead of v1: a call would move the time at which the edit is
 * accepted.
 */
const statusesAfterEdits = [
  /was rejected [^\n]*\n[^\n]*\/v1 is retired, and was last called.*\/v1 +sunset /s,
  /\/v1 +sunset /,
  /\/v1 +retired /,
];

/**
 * Follows docs/retire-a-version.md on a running stack with the shipped routes.yaml, without `guard.force`, and checks the described
 * results.
 */
export async function followRetirePage(page: string, stack: RunningStack): Promise<void> {
  const statuses = [...statusesAfterEdits];
  /** Repeats a command until `check` accepts what it prints. */
  const waitFor = async (command: string, check: (printed: Printed) => void): Promise<void> => {
    for (const run of [stack.ask?.(command), () => stack.run(command)]) {
      if (!run) continue;
      await eventually(async () => {
        // On a busy machine, the last call of the page may be more than a minute ago.
        if (command.includes('--against-running')) await fetch(`${stack.url}/v1/drinks/7`, { headers: curl });
        check(await run());
      }, longestPauseMs);
    }
  };
  const waitForStatus = (check: (status: string) => void) =>
    waitFor('npx version-gateway status', ({ stdout }) => check(stdout));
  for (const step of stepsOf(page)) {
    if ('edit' in step) {
      edit(stack.routes, step.edit);
      const pattern = statuses.shift();
      if (!pattern) throw new Error(`the effect of this edit is not checked:\n${step.edit}`);
      await waitForStatus((status) => expect(status).toMatch(pattern));
      continue;
    }
    const { command, output } = step;
    // The page lets the reader wait until the answer is yes, or until the counts of the last seconds are in the ledger.
    await waitFor(command, ({ code, stdout }) => {
      expect([command, code, stdout]).toEqual([command, exitCodeOf(command), expect.any(String)]);
      if (output !== undefined) expect(masked(stdout)).toMatch(patternOf(output));
      if (exitCodeOf(command) === 1) expect(stdout).toContain('user-agent:curl');
      if (command.includes('--wait')) expect(stdout).toContain('/v1: 0 requests in flight, safe to stop');
    });
  }
  expect(statuses, 'statuses that no edit of the page causes').toEqual([]);
  // The page ends with the removal of v1.
  await waitForStatus((status) => expect(status).not.toMatch(/\/v1 +retired /));
  expect((await fetch(`${stack.url}/v1/drinks/7`)).status).toBe(404);
  expect(readFileSync(stack.routes, 'utf8')).not.toContain('force');
  expect((await fetch(`${stack.url}/v2/cocktails/7`)).status).toBe(200);
}

/** As the page says: `can-retire` without `--quiet` and the commands that see a client of the last days say no. */
function exitCodeOf(command: string): number {
  return /can-retire \/v1$|plan|--against-running/.test(command) ? 1 : 0;
}

/**
 * Replaces what differs from run to run: instants, durations, the name, address and file of the gateway, and the clients, because a
 * test may have waited for v1 with other requests.
 */
function masked(text: string): string {
  return text
    .replaceAll('\r', '')
    .replace(/^Gateway \S+ at \S+, with \S*routes\.yaml\.$/gm, 'GATEWAY')
    .replace(/^\S*routes\.yaml is valid\.$/gm, 'VALID')
    .replace(/\d+ clients? made .*/g, 'CLIENTS')
    .replace(/clients: [^.]*\./g, 'CLIENTS.')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, (instant) => (instant.startsWith('2025') ? instant : 'INSTANT'))
    .replace(/\b(?:\d+ (?:s|min|h) ago|just now)/g, 'AGO')
    .replace(/, in \d+ (?:s|min|days?)\b/g, ', in DURATION');
}

/** A line `…` of the page stands for any number of lines. */
function patternOf(shown: string): RegExp {
  const lines = masked(shown)
    .split('\n')
    .map((line) => (line === '…' ? '(?:.*\n)*?' : `${RegExp.escape(line)}\n`));
  return new RegExp(`^${lines.join('')}$`);
}

function stepsOf(page: string): Step[] {
  const blocks = readFileSync(page, 'utf8').matchAll(/^```(sh|diff|console)\n(.*?)^```$/gms);
  return [...blocks].flatMap(([, language, text = '']): (Step | ShownCommand)[] => {
    if (language === 'diff') return [{ edit: text }];
    if (language === 'console') return commandsIn(text);
    return text
      .trim()
      .split('\n')
      .map((command) => ({ command }));
  });
}

/** Applies a block of `+`, `-` and unchanged lines, and saves the file as an editor does. */
function edit(file: string, diff: string): void {
  const lines = diff.split('\n').filter((line) => line !== '');
  const side = (sign: string) =>
    lines
      .filter((line) => line[0] !== sign)
      .map((line) => `${line.slice(1)}\n`)
      .join('');
  const text = readFileSync(file, 'utf8');
  const before = side('+');
  expect(text.split(before).length, `places in routes.yaml where the edit applies:\n${diff}`).toBe(2);
  writeFileSync(
    `${file}.new`,
    text.replace(before, () => side('-')),
  );
  renameSync(`${file}.new`, file);
}
