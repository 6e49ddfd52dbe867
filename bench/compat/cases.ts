import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openContract } from '../../gateway/contract/document/open.ts';
import { compareContracts } from '../../gateway/contracts/compat/diff/contracts.ts';
import { findingsOf, hasBreakingFinding } from '../../gateway/contracts/compat/judge/findings.ts';
import { defaultLevelOf } from '../../gateway/contracts/compat/rules/rules.ts';

// Runs the contract check on pairs of contracts and compares each result with the expected one. The file manifest.json of a folder
// lists the pairs. Prints a score for each group of pairs with the same `tier`.

interface Case {
  readonly id: string;
  readonly old: string;
  readonly new: string;
  readonly expect: 'breaking' | 'compatible';
  readonly tier: string;
  readonly rule: string;
}

interface Score {
  right: number;
  missed: number;
  falseAlarms: number;
  notCompared: number;
}

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  process.stderr.write(
    'npm run compat:cases -- DIR\n  DIR contains a manifest.json: [{ id, old, new, expect, rule, tier }]\n',
  );
  process.exitCode = 2;
} else {
  process.exitCode = await score(folder);
}

async function score(folder: string): Promise<number> {
  const cases = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Case[];
  const scores = new Map<string, Score>();
  for (const testCase of cases) {
    const tierScore = scores.get(testCase.tier) ?? { right: 0, missed: 0, falseAlarms: 0, notCompared: 0 };
    scores.set(testCase.tier, tierScore);
    const result = await resultOf(testCase, folder);
    if (result === testCase.expect) tierScore.right += 1;
    else if (result === 'breaking') tierScore.falseAlarms += 1;
    else if (result === 'compatible') tierScore.missed += 1;
    else tierScore.notCompared += 1;
    if (result !== testCase.expect)
      process.stdout.write(`${testCase.id} (${testCase.tier}): ${result}, expected ${testCase.expect}\n`);
  }
  for (const [tier, { right, missed, falseAlarms, notCompared }] of scores) {
    const all = right + missed + falseAlarms + notCompared;
    const percent = ((100 * right) / all).toFixed(1);
    process.stdout.write(
      `${tier.padEnd(6)} ${right} of ${all} right (${percent} %), ${missed} missed, ${falseAlarms} false alarms, ${notCompared} not compared\n`,
    );
  }
  return [...scores.values()].every((one) => one.missed + one.falseAlarms + one.notCompared === 0) ? 0 : 1;
}

async function resultOf(testCase: Case, folder: string): Promise<string> {
  const options = { cwd: folder, stdin: () => '', allowRemote: false };
  try {
    const [old, now] = [await openContract(testCase.old, options), await openContract(testCase.new, options)];
    return hasBreakingFinding(findingsOf(compareContracts(old, now, defaultLevelOf))) ? 'breaking' : 'compatible';
  } catch (error) {
    return `not compared: ${error instanceof Error ? error.message : String(error)}`;
  }
}
