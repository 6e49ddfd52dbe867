import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { below, itemsOf } from '../../../gateway/contract/document/located.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { drinkOf, errorMessage, open, referring, write } from '../document/openContract.ts';

const repository = temporaryFolder();
const path = process.env['PATH'];

function git(...args: string[]): void {
  const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.com'];
  execFileSync('git', [...who, ...args], { cwd: repository, stdio: 'pipe' });
}

beforeAll(() => {
  git('init', '-q', '-b', 'main');
  write(repository, {
    'api/x.json': referring('../shared/schemas.yaml#/Price'),
    'api/out.json': referring('../../secret.yaml'),
    'api/absolute.json': referring('/etc/passwd'),
    'api/missing.json': referring('none.yaml'),
    'api/linked.json': referring('../link.yaml'),
    'api/escaping.json': referring('../escaping.yaml'),
    'api/large.json': referring('../large.yaml'),
    'api/not text.yaml': Buffer.from([0x61, 0xff]),
    'shared/schemas.yaml': 'Price: { $ref: money.yaml }\n',
    'shared/money.yaml': 'type: number\n',
    'odd:name.json': referring('#/info'),
  });
  symlinkSync('shared/money.yaml', join(repository, 'link.yaml'));
  symlinkSync('../secret.yaml', join(repository, 'escaping.yaml'));
  symlinkSync('api/x.json', join(repository, 'current.json'));
  writeFileSync(join(repository, 'large.yaml'), '');
  truncateSync(join(repository, 'large.yaml'), 3 * 1024 * 1024);
  git('add', '.');
  git('commit', '-q', '-m', 'first: with a colon');
  git('tag', 'v1');
  write(repository, { 'shared/money.yaml': 'type: string\n' });
  git('commit', '-q', '-a', '-m', 'second');
  // A change that is not committed must not be read.
  write(repository, { 'shared/money.yaml': 'type: boolean\n' });
});

afterEach(() => {
  process.env['PATH'] = path;
});

describe('a contract in a commit', () => {
  it.each([
    ['main:api/x.json', '', { type: 'string' }],
    ['v1:api/x.json', '', { type: 'number' }],
    ['HEAD~1:./x.json', 'api', { type: 'number' }],
    ['HEAD:../api/x.json', 'shared', { type: 'string' }],
    ['HEAD^{/first: with}:api/x.json', '', { type: 'number' }],
    ['v1:current.json', '', undefined],
    ['v1:api/linked.json', '', { type: 'number' }],
    ['api/x.json', '', { type: 'boolean' }],
  ])('%s, from /%s, with its other files in the same commit', async (reference, folder, expected) => {
    const documents = await open(reference, join(repository, folder));
    expect(documents.root.place.file.name).toBe(reference);
    if (expected === undefined) expect(() => drinkOf(documents)).toThrow('lies outside the repository');
    else expect(drinkOf(documents).value).toEqual(expected);
  });

  it('has the commit in the names of its files', async () => {
    expect(drinkOf(await open('v1:api/x.json', repository)).place.file.name).toBe('v1:shared/money.yaml');
  });

  it('is not read if a file of that name exists', async () => {
    expect((await open('odd:name.json', repository)).root.place.file.name).toBe('odd:name.json');
  });

  it.each([
    ['mian:api/x.json', 'the revision "mian" does not exist in this repository'],
    ['--output=pwned:api/x.json', 'the revision "--output=pwned" does not exist in this repository'],
    ['-h:api/x.json', 'the revision "-h" does not exist in this repository'],
    ['a\nb:api/x.json', 'the revision "a\\nb" does not exist in this repository'],
    ['HEAD:none.json', 'does not exist in that commit'],
    ['HEAD:--help', 'does not exist in that commit'],
    ['HEAD:a\nb', 'does not exist in that commit'],
    ['HEAD:x.json', 'does not exist in that commit'],
    ['HEAD:api/x.json/y', 'does not exist in that commit'],
    ['HEAD:api', 'is a folder, not a file'],
    ['HEAD:escaping.yaml', 'is a link that leads out of the repository'],
    ['HEAD:../x.json', 'lies outside the repository'],
    ['HEAD:/etc/passwd', 'lies outside the repository'],
    ['HEAD:large.yaml', 'is 3.0 MiB long, but at most 2.0 MiB are read'],
    ['HEAD:api/not text.yaml', 'is not UTF-8: the first invalid bytes are in line 1'],
  ])('%j is rejected: %s', async (reference, said) => {
    const opened = open(reference, repository, { maxBytes: 2 * 1024 * 1024 });
    expect(await errorMessage(opened)).toBe(`${reference}: ${said}`);
  });

  it('suggests ./ for a file in the current folder', async () => {
    const opened = open('HEAD:x.json', join(repository, 'api'));
    await expect(opened).rejects.toThrow('Write HEAD:./x.json: without ./ a path begins at the top of the repository.');
  });

  it.each([
    ['out', 'lies outside the repository'],
    ['absolute', 'lies outside the repository'],
    ['missing', 'does not exist in that commit'],
    ['escaping', 'is a link that leads out of the repository'],
    ['large', 'is 3.0 MiB long, but at most 2.0 MiB are read'],
  ])('has a $ref that is rejected: %s', async (name, said) => {
    const documents = await open(`HEAD:api/${name}.json`, repository, { maxBytes: 2 * 1024 * 1024 });
    expect(await errorMessage(() => drinkOf(documents))).toContain(`, which ${said}`);
  });

  it('needs a repository', async () => {
    const said = 'HEAD:x.json: cannot be read from git: this is not a git repository';
    expect(await errorMessage(open('HEAD:x.json', temporaryFolder()))).toBe(said);
  });

  it('needs git', async () => {
    const empty = join(temporaryFolder(), 'bin');
    mkdirSync(empty);
    process.env['PATH'] = empty;
    const said = 'HEAD:api/x.json: must be read from git, which is not installed';
    expect(await errorMessage(open('HEAD:api/x.json', repository))).toBe(said);
  });

  it('reads hundreds of files in a few calls of git', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `many/f${index}.yaml`);
    write(repository, Object.fromEntries(names.map((name) => [name, 'type: number\n'])));
    const all = names.map((name) => ({ $ref: `../${name}` }));
    write(repository, {
      'api/many.json': JSON.stringify({ openapi: '3.1.0', components: { schemas: { Drink: { all } } } }),
    });
    git('add', '.');
    git('commit', '-q', '-m', 'third');
    const documents = await open('HEAD:api/many.json', repository);
    // From here on, git cannot be run again.
    const [first, ...others] = itemsOf(below(drinkOf(documents), 'all'));
    expect(first && documents.resolve(first).value).toEqual({ type: 'number' });
    process.env['PATH'] = '';
    for (const one of others) expect(documents.resolve(one).value).toEqual({ type: 'number' });
  });
});
