import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { expect, vi } from 'vitest';

/** A step that a page describes: a command, or an edit of routes.yaml. */
type Step = { readonly command: string } | { readonly edit: string };

export interface RunningStack {
  /** Runs a command of the page. */
  readonly run: (command: string) => Promise<{ code: number; stdout: string }>;
  /** The routes.yaml that the running gateway watches. */
  readonly routes: string;
  /** Where the gateway listens for clients. */
  readonly url: string;
}

const waitOptions = { timeout: 90_000, interval: 100 };

/** Follows docs/retire-a-version.md on a running stack with the shipped routes.yaml, and checks the described results. */
export async function followRetirePage(page: string, { run, routes, url }: RunningStack): Promise<void> {
  const statusOfV1 = async () => (await fetch(`${url}/v1/drinks/7`, { headers: { 'user-agent': 'curl/8' } })).status;
  const waitForStatus = (status: number) =>
    vi.waitFor(async () => expect(await statusOfV1()).toBe(status), waitOptions);
  const expected = [200, 200, 410, 200, 410];
  for (const step of stepsOf(page)) {
    if ('edit' in step) {
      edit(routes, step.edit);
      // The first edit announces a brownout, the second one is refused; each of the others changes the answer of v1.
      await waitForStatus(expected.shift() ?? 0);
      continue;
    }
    const { command } = step;
    const result = await run(command);
    const expectsNo = /can-retire|plan|--against-running/.test(command);
    expect([command, result.code, result.stdout]).toEqual([command, expectsNo ? 1 : 0, expect.any(String)]);
    if (command.startsWith('curl')) expect(result.stdout).toMatch(/deprecation: @1782777600/i);
    if (command.includes('can-retire')) {
      expect(result.stdout).toMatch(/not yet/i);
      await vi.waitFor(async () => expect((await run(command)).stdout).toContain('curl'), waitOptions);
    }
    if (command.includes('brownout'))
      await vi.waitFor(async () => expect((await run(command)).stdout).toContain('planned'), waitOptions);
    if (command.includes(' plan ')) expect(result.stdout).toMatch(/clients? would lose .+: .*user-agent:curl/);
    if (command.includes('--against-running')) {
      expect(result.stdout).toContain('/v1 is retired before its announced sunset');
      expect(result.stdout).toMatch(/clients? would lose .+: .*user-agent:curl/);
      expect(await statusOfV1()).toBe(200);
    }
    if (command.includes('--wait')) expect(result.stdout).toContain('/v1: 0 requests in flight, safe to stop');
    if (command.startsWith('sed')) await waitForStatus(404);
  }
  expect(expected, 'statuses of v1 that no edit of the page caused').toEqual([]);
  expect((await fetch(`${url}/v2/cocktails/7`)).status).toBe(200);
}

function stepsOf(page: string): Step[] {
  const blocks = readFileSync(page, 'utf8').matchAll(/^```(sh|diff)\n(.*?)^```$/gms);
  return [...blocks].flatMap(([, language, text = '']): Step[] =>
    language === 'diff'
      ? [{ edit: text }]
      : text
          .trim()
          .split('\n')
          .map((command) => ({ command })),
  );
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
