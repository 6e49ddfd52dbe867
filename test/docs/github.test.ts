import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { validateAction, validateWorkflow } from '@action-validator/core';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const workflows = readdirSync('.github/workflows').map((file) => join('.github/workflows', file));
const read = (file: string): string => readFileSync(file, 'utf8');

describe('the files for GitHub', () => {
  it.each(workflows)('%s is a valid workflow', (file) => {
    expect(validateWorkflow(read(file))).toEqual({ actionType: 'workflow', errors: [] });
  });

  it('action.yml is a valid action', () => {
    expect(validateAction(read('action.yml'))).toEqual({ actionType: 'action', errors: [] });
  });

  it('finds a mistake in a workflow', () => {
    const broken = read('.github/workflows/ci.yml').replace('runs-on:', 'run-on:');
    expect(validateWorkflow(broken).errors).not.toEqual([]);
  });

  it('CI runs .ci/run', () => {
    const ci = parse(read('.github/workflows/ci.yml')) as { jobs: Record<string, { steps: { run?: string }[] }> };
    expect(Object.values(ci.jobs).flatMap(({ steps }) => steps.map(({ run }) => run))).toContain('.ci/run');
  });

  it.each(['bug_report.yml', 'feature_request.yml'])('%s has a name and several fields', (file) => {
    const form = parse(read(join('.github/ISSUE_TEMPLATE', file))) as { name: string; body: { type: string }[] };
    expect(form.name).not.toBe('');
    expect(form.body.length).toBeGreaterThan(1);
  });

  it('.pre-commit-hooks.yaml runs a program of the package', () => {
    const hooks = parse(read('.pre-commit-hooks.yaml')) as { id: string; entry: string; language: string }[];
    const { bin } = JSON.parse(read('package.json')) as { bin: Record<string, string> };
    expect(hooks.map(({ language }) => language)).toEqual(['node']);
    expect(hooks.filter(({ entry }) => bin[entry] === undefined)).toEqual([]);
  });
});
