import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { compatFormats } from '../../../gateway/process/cli/commands/compat.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { gatewayCommand } from '../../support/gatewayMain.ts';
import { contract, Repository, routesFile } from './compatRepository.ts';

interface Action {
  readonly inputs: Record<string, { readonly description: string; readonly default: string }>;
  readonly outputs: Record<string, { readonly value: string }>;
  readonly runs: { readonly steps: readonly Step[] };
}

interface Step {
  readonly name: string;
  readonly id?: string;
  readonly run: string;
  readonly env: Record<string, string>;
  readonly 'working-directory'?: string;
}

const document = parseDocument(readFileSync('action.yml', 'utf8'), { strict: true, uniqueKeys: true });
const action = document.toJS() as Action;
const [, compare] = action.runs.steps;
const sound = contract({ 'GET /drinks': { price: 'string' } });
const broken = contract({ 'GET /drinks': { price: 'number' } });

describe('action.yml', () => {
  it('is a valid composite action', () => {
    expect(document.errors.concat(document.warnings as never[])).toEqual([]);
    const ajv = new Ajv({ strict: false, allErrors: true });
    ajv.validate(composite, action);
    expect(ajv.errors).toBeNull();
  });

  it('puts no expression into a script', () => {
    for (const { run } of action.runs.steps) expect(run).not.toContain('${{');
  });

  it('passes on every input, and no other', () => {
    const text = JSON.stringify([action.runs, action.outputs]);
    const used = [...text.matchAll(/inputs\.([\w-]+)/g)].map(([, name]) => name);
    expect([...new Set(used)].sort()).toEqual(Object.keys(action.inputs).sort());
  });

  it('reads only variables that it sets', () => {
    const own = ['GITHUB_BASE_REF', 'GITHUB_OUTPUT', 'GITHUB_STEP_SUMMARY'];
    const read = [...(compare?.run ?? '').matchAll(/\$\{?([A-Z_]+)/g)].map(([, name]) => name ?? '');
    expect(read.filter((name) => !(name in (compare?.env ?? {})) && !own.includes(name))).toEqual([]);
  });

  it('names all formats', () => {
    for (const format of compatFormats) expect(action.inputs['format']?.description).toContain(format);
  });
});

/** Runs the second step like a runner, with the built program. The first step installs packages that are installed here. */
function runStep(repository: Repository, inputs: Record<string, string>, github: Record<string, string> = {}) {
  const files = temporaryFolder();
  const [output, summary] = [join(files, 'output'), join(files, 'summary')];
  for (const file of [output, summary]) writeFileSync(file, '');
  const evaluated = (expression: string): string =>
    expression.replace(/\$\{\{ (?:inputs\.([\w-]+)|github\.action_path) \}\}/g, (_all, name?: string) =>
      name === undefined ? dirname(dirname(gatewayCommand)) : (inputs[name] ?? action.inputs[name]?.default ?? ''),
    );
  const own = Object.entries(compare?.env ?? {}).map(([name, expression]) => [name, evaluated(expression)]);
  const script = join(files, 'script.sh');
  writeFileSync(script, compare?.run ?? '');
  const { status, stdout, stderr } = spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', script], {
    cwd: join(repository.folder, evaluated(compare?.['working-directory'] ?? '.')),
    env: {
      PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
      HOME: files,
      GITHUB_OUTPUT: output,
      GITHUB_STEP_SUMMARY: summary,
      GITHUB_ACTIONS: 'true',
      ...github,
      ...Object.fromEntries(own),
    },
    encoding: 'utf8',
  });
  return { code: status, stdout, stderr, output: readFileSync(output, 'utf8'), summary: readFileSync(summary, 'utf8') };
}

const changed = (): Repository => Repository.of({ 'api.json': sound }).write({ 'api.json': broken });
const pair = { old: 'HEAD:api.json', new: 'api.json' };

describe('the compare step', () => {
  it('writes annotations and a summary, and fails', () => {
    const { code, stdout, stderr, output, summary } = runStep(changed(), pair);
    expect([code, stderr, output]).toEqual([1, '', 'exit-code=1\n']);
    expect(stdout).toMatch(/^::error file=api\.json,line=\d+,col=\d+,title=response-type-changed::GET \/drinks/);
    expect(summary).toMatch(/^<!-- version-gateway compat -->\n\n### Contracts: 1 error/);
  });

  it('succeeds for compatible contracts', () => {
    const { code, output } = runStep(Repository.of({ 'api.json': sound }), pair);
    expect([code, output]).toEqual([0, 'exit-code=0\n']);
  });

  it('writes no summary and no report if nothing was compared', () => {
    const repository = changed().write({ 'report.sarif': 'of last time' });
    const inputs = { old: 'HEAD:none.json', new: 'api.json', 'sarif-file': 'report.sarif' };
    const { code, stdout, stderr, output, summary } = runStep(repository, inputs);
    expect([code, stdout, output, summary]).toEqual([2, '', 'exit-code=2\n', '']);
    expect(stderr).toContain('The contracts were not compared.');
    expect(existsSync(join(repository.folder, 'report.sarif'))).toBe(false);
  });

  it('writes SARIF with paths from its working directory', () => {
    const repository = Repository.of({ 'a b/api.json': sound }).write({ 'a b/api.json': broken });
    const inputs = { old: 'HEAD:./api.json', new: 'api.json', 'sarif-file': 'r.sarif', 'working-directory': 'a b' };
    expect(runStep(repository, { ...inputs, format: 'text', summary: 'false' })).toMatchObject({
      code: 1,
      summary: '',
    });
    const sarif = JSON.parse(readFileSync(join(repository.folder, 'a b/r.sarif'), 'utf8'));
    expect(JSON.stringify(sarif.runs[0].results[0].locations)).toContain('"a%20b/api.json"');
  });

  it('accepts several rules', () => {
    const rule = 'route-removed=warn\nresponse-type-changed=info\n';
    expect(runStep(changed(), { ...pair, rule }).code).toBe(0);
  });

  it('passes --validate and --allow-remote on', () => {
    const repository = Repository.of({ 'api.json': sound.replace('"title"', '"x"') });
    expect(runStep(repository, pair).code).toBe(0);
    expect(runStep(repository, { ...pair, validate: 'true' }).stderr).toContain('not valid');
    expect(runStep(repository, { ...pair, 'allow-remote': 'true' }).code).toBe(0);
  });

  it.each([
    ['the branch that a pull request is for', { GITHUB_BASE_REF: 'main' }, {}, 1],
    ['the commit before', {}, {}, 0],
    ['the commit that is named', { GITHUB_BASE_REF: 'main' }, { against: 'HEAD~1' }, 0],
  ])('compares routes.yaml with %s', (_name, github, inputs, code) => {
    const files = { 'routes.yaml': routesFile({ v1: 'api.json' }), 'api.json': sound };
    const repository = Repository.of(files, { 'api.json': broken }, { 'other.txt': '' });
    repository.git('update-ref', 'refs/remotes/origin/main', 'HEAD~2');
    const result = runStep(repository, { routes: 'routes.yaml', ...inputs }, github);
    expect([result.code, result.stderr]).toEqual([code, '']);
  });

  it.each(['--rules', '-', '*', '$(touch owned)`touch owned`"; touch owned; "\'; touch owned; \'\ntouch owned'])(
    'takes %j for text, and nothing else',
    (text) => {
      const repository = changed();
      for (const input of ['old', 'new', 'routes', 'config', 'against', 'rule', 'format']) {
        const { code, stdout, summary } = runStep(repository, { ...pair, [input]: text });
        expect([input, code, stdout, summary]).toEqual([input, 2, '', '']);
      }
      expect(existsSync(join(repository.folder, 'owned'))).toBe(false);
    },
  );

  it('writes a report to a file of any name', () => {
    const repository = changed();
    mkdirSync(join(repository.folder, 'out'));
    runStep(repository, { ...pair, 'sarif-file': 'out/$(touch owned) -x.sarif' });
    expect(existsSync(join(repository.folder, 'out/$(touch owned) -x.sarif'))).toBe(true);
    expect(existsSync(join(repository.folder, 'owned'))).toBe(false);
  });
});

/** The part of https://docs.github.com/actions/reference/metadata-syntax-for-github-actions that this action may use. */
const composite = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'description', 'runs'],
  properties: {
    name: { type: 'string' },
    description: { type: 'string', maxLength: 125 },
    author: { type: 'string' },
    inputs: {
      type: 'object',
      propertyNames: { pattern: '^[a-z][a-z-]*$' },
      additionalProperties: {
        type: 'object',
        additionalProperties: false,
        required: ['description', 'default'],
        properties: { description: { type: 'string' }, default: { type: 'string' }, required: { type: 'boolean' } },
      },
    },
    outputs: {
      type: 'object',
      propertyNames: { pattern: '^[a-z][a-z-]*$' },
      additionalProperties: {
        type: 'object',
        additionalProperties: false,
        required: ['description', 'value'],
        properties: {
          description: { type: 'string' },
          value: { type: 'string', pattern: '^\\$\\{\\{ steps\\.[a-z]+\\.outputs\\.[a-z-]+ \\}\\}$' },
        },
      },
    },
    runs: {
      type: 'object',
      additionalProperties: false,
      required: ['using', 'steps'],
      properties: {
        using: { const: 'composite' },
        steps: {
          type: 'array',
          minItems: 1,
          items: {
            type: 'object',
            additionalProperties: false,
            // A composite action has no default shell.
            required: ['name', 'run', 'shell'],
            properties: {
              name: { type: 'string' },
              id: { type: 'string', pattern: '^[a-z]+$' },
              run: { type: 'string' },
              shell: { const: 'bash' },
              'working-directory': { type: 'string' },
              env: {
                type: 'object',
                propertyNames: { pattern: '^[A-Z_]+$' },
                additionalProperties: { type: 'string' },
              },
            },
          },
        },
      },
    },
  },
};
