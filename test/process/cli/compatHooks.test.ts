import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../config/temporary.ts';
import { gatewayCommand } from '../../support/gatewayMain.ts';
import { contract, Repository, routesFile } from './compatRepository.ts';

const sound = contract({ 'GET /drinks': { price: 'string' } });
const broken = contract({ 'GET /drinks': { price: 'number' } });
const wider = contract({ 'GET /drinks': { price: 'string' }, 'GET /bars': {} });
const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` };

function run(command: string, args: readonly string[], cwd: string) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' });
  return { code: status, printed: `${stdout}${stderr}` };
}

describe('examples/pre-commit', () => {
  function hooked(...commits: readonly Readonly<Record<string, string>>[]): Repository {
    const repository = Repository.of(...commits);
    const hook = join(repository.folder, '.git/hooks/pre-commit');
    mkdirSync(dirname(hook), { recursive: true });
    copyFileSync('examples/pre-commit', hook);
    chmodSync(hook, 0o755);
    mkdirSync(join(repository.folder, 'node_modules/.bin'), { recursive: true });
    symlinkSync(gatewayCommand, join(repository.folder, 'node_modules/.bin/version-gateway'));
    mkdirSync(join(repository.folder, '.git/info'));
    writeFileSync(join(repository.folder, '.git/info/exclude'), 'node_modules\n');
    return repository;
  }

  function commit(repository: Repository, ...args: string[]) {
    const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'commit.gpgsign=false'];
    return run('git', [...who, 'commit', '-m', 'a change', ...args], repository.folder);
  }

  it('refuses a commit that breaks a contract, and allows a compatible one', () => {
    const repository = hooked({ 'api/openapi.json': sound }).write({ 'api/openapi.json': broken });
    const refused = commit(repository, '--all');
    expect(refused.code).toBe(1);
    expect(refused.printed).toContain('field `price` was a string and is now a number');
    expect(refused.printed).toContain('new  api/openapi.json:');
    expect(refused.printed).toContain('The commit is rejected.');
    repository.write({ 'api/openapi.json': wider });
    expect(commit(repository, '--all')).toMatchObject({ code: 0 });
  });

  it('checks the staged files, not those of the working tree', () => {
    const repository = hooked({ 'openapi.json': sound }).write({ 'openapi.json': broken });
    repository.git('add', '.');
    repository.write({ 'openapi.json': sound });
    expect(commit(repository).code).toBe(1);
    repository.git('add', '.');
    repository.write({ 'openapi.json': broken, 'other.txt': 'x' });
    repository.git('add', 'other.txt');
    expect(commit(repository).code).toBe(0);
  });

  it('checks the files that a contract refers to', () => {
    const openapi = sound.replace('"type": "string"\n', '"$ref": "price.json"\n');
    expect(openapi).toContain('price.json');
    const repository = hooked({ 'openapi.json': openapi, 'price.json': '{ "type": "string" }' });
    repository.write({ 'price.json': '{ "type": "number" }' });
    expect(commit(repository, '--all').code).toBe(1);
  });

  it('uses exemptions and levels of routes.yaml, and contracts of any name', () => {
    const rules = { compat: { rules: { 'response-type-changed': 'warn' } } };
    const repository = hooked({ 'my api/$(touch owned).json': sound });
    repository.git('config', '--add', 'version-gateway.contract', 'my api/*.json');
    repository.write({ 'my api/$(touch owned).json': broken });
    expect(commit(repository, '--all').code).toBe(1);
    repository.write({ 'routes.yaml': routesFile({ v1: null }, rules) });
    expect(commit(repository, '--all')).toMatchObject({ code: 0 });
  });

  it('refuses contracts that cannot be compared, and lists those that it does not compare', () => {
    const repository = hooked({ 'a/openapi.json': sound, 'b/openapi.yaml': sound });
    repository.write({ 'a/openapi.json': '{' });
    expect(commit(repository, '--all')).toMatchObject({ code: 1, printed: expect.stringContaining('not compared') });
    repository.git('rm', '-q', '--cached', 'a/openapi.json');
    repository.write({ 'c/openapi.yml': sound });
    repository.git('add', 'c');
    const { code, printed } = commit(repository);
    expect(code).toBe(0);
    expect(printed).toContain('a/openapi.json was removed: not compared.');
    expect(printed).toContain('c/openapi.yml is new: there is nothing to compare it with.');
  });

  it('allows the first commit', () => {
    const repository = hooked().write({ 'openapi.json': broken });
    repository.git('add', '.');
    expect(commit(repository).code).toBe(0);
  });
});

it('the hook of the pre-commit framework finds the program that the framework installed', () => {
  const repository = Repository.of({ 'openapi.json': sound }).write({ 'openapi.json': broken });
  repository.git('add', '.');
  const installed = temporaryFolder();
  symlinkSync(gatewayCommand, join(installed, 'version-gateway'));
  symlinkSync(resolve('examples/pre-commit'), join(installed, 'version-gateway-pre-commit'));
  const { status, stdout } = spawnSync('version-gateway-pre-commit', {
    cwd: repository.folder,
    env: { ...env, PATH: `${installed}:${env.PATH}` },
    encoding: 'utf8',
  });
  expect(stdout).toContain('field `price` was a string and is now a number');
  expect(status).toBe(1);
});

describe('.ci/contracts', () => {
  const files = { 'config/routes.yaml': routesFile({ v1: '../services/v1.json' }), 'services/v1.json': sound };

  /** A copy of the script beside the program, as in this project. */
  function check(folder: string) {
    mkdirSync(join(folder, '.ci'), { recursive: true });
    copyFileSync('.ci/contracts', join(folder, '.ci/contracts'));
    symlinkSync(dirname(gatewayCommand), join(folder, 'bin'));
    return run(join(folder, '.ci/contracts'), [], folder);
  }

  function cloneOf(repository: Repository, ...args: string[]): string {
    const folder = join(temporaryFolder(), 'clone');
    repository.git('clone', '-q', ...args, pathToFileURL(repository.folder).href, folder);
    return folder;
  }

  it('compares a commit with the one before it', () => {
    expect(check(Repository.of(files, { 'services/v1.json': wider }).folder)).toMatchObject({ code: 0 });
    expect(check(Repository.of(files, { 'services/v1.json': broken }).folder)).toMatchObject({ code: 1 });
  });

  it('compares uncommitted changes with the last commit', () => {
    const repository = Repository.of(files, { 'services/v1.json': broken }).write({ 'services/v1.json': sound });
    expect(check(repository.folder).printed).toContain('was a number and is now a string');
  });

  it('fetches the missing history of a shallow checkout', () => {
    const folder = cloneOf(Repository.of(files, { 'services/v1.json': broken }), '--depth=1');
    expect(check(folder)).toMatchObject({ code: 1, printed: expect.stringContaining('The checkout is shallow') });
  });

  it('reports that the history cannot be fetched', () => {
    const folder = cloneOf(Repository.of(files, { 'services/v1.json': broken }), '--depth=1');
    run('git', ['remote', 'set-url', 'origin', 'file:///nowhere'], folder);
    const { code, printed } = check(folder);
    expect(code).toBe(0);
    expect(printed).toContain('The contracts were not compared: the commit before this one cannot be fetched.');
  });

  it('reports a first commit, and a copy without history', () => {
    const first = check(Repository.of(files).folder);
    expect(first).toEqual({ code: 0, printed: 'The contracts were not compared: this is the first commit.\n' });
    const copy = check(new Repository().write(files).folder);
    expect(copy).toMatchObject({ code: 0, printed: expect.stringContaining('a copy without its history') });
  });

  it('fails if git cannot read the history', () => {
    const repository = Repository.of(files);
    writeFileSync(join(repository.folder, '.git/HEAD'), 'broken');
    expect(check(repository.folder).code).not.toBe(0);
  });

  it('is a step of .ci/run', () => {
    const text = readFileSync('.ci/run', 'utf8');
    expect(text).toContain('\nstep .ci/contracts\n');
  });
});
