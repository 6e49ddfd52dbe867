import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { compatFormats } from '../../../../gateway/process/cli/commands/compat.ts';
import { type Api, compat, contract, Repository, routesFile } from '../compatRepository.ts';

const v1: Api = { 'GET /drinks': { price: 'string' } };
const v2: Api = { 'GET /cocktails': { price: 'string' } };
const broken: Api = { 'GET /drinks': { price: 'number' } };
const routes = { 'routes.yaml': routesFile({ v1: 'v1.json', v2: 'v2.json' }) };
const sound = { ...routes, 'v1.json': contract(v1), 'v2.json': contract(v2) };
const all = ['--routes', 'routes.yaml'];

describe('compat --routes', () => {
  it('compares each contract with its earlier state, and each major with the one before it', async () => {
    const { code, stdout, stderr } = await Repository.of(sound).compat(all);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toBe(`/v1  HEAD:./v1.json → v1.json

/v2  HEAD:./v2.json → v2.json

/v1 → /v2  v1.json → v2.json

2 changes between majors, where breaking changes are allowed.  --all lists them.

No breaking change found within a major: 2 changes between majors.
`);
  });

  it('rejects a breaking change within a major', async () => {
    const repository = Repository.of(sound).write({ 'v1.json': contract(broken) });
    const { code, stdout } = await repository.compat(all);
    expect(code).toBe(1);
    expect(stdout).toContain('/v1  HEAD:./v1.json → v1.json\n\nGET /drinks\n  error  response 200 field `price`');
    repository.commit();
    expect((await repository.compat(all)).code).toBe(0);
    expect((await repository.compat([...all, '--against', 'HEAD~1'])).code).toBe(1);
  });

  it('recognises a version by the prefix in its contract', async () => {
    const prefixed = contract({ 'GET /v1/drinks': { price: 'string' } });
    const { code, stdout } = await Repository.of(sound).write({ 'v1.json': prefixed }).compat(all);
    expect([code, stdout]).toEqual([0, expect.not.stringContaining('error  ')]);
  });

  it('compares the contracts of an API below a base, also if they repeat the segment of their version', async () => {
    const orders = JSON.parse(routesFile({ v1: 'old.json', v2: 'v2.json' })) as object;
    const files = {
      'routes.yaml': JSON.stringify({ apis: { '/orders': orders } }),
      'old.json': contract({ 'GET /v1/drinks': { price: 'string' } }),
      'v2.json': contract({ 'GET /v2/drinks': { price: 'number' } }),
    };
    const moved = files['routes.yaml'].replace('old.json', 'v1.json');
    const repository = Repository.of(files).write({ 'routes.yaml': moved, 'v1.json': contract(v1) });
    const { code, stdout } = await repository.compat(all);
    expect([code, stdout]).toEqual([0, expect.stringContaining('No breaking change found')]);
    expect(stdout).toContain('/orders/v1  HEAD:./old.json → v1.json\n');
    expect(stdout).toContain('/orders/v1 → /orders/v2  v1.json → v2.json\n');
    // Otherwise the route would be removed, and another one added.
    expect(stdout).toContain('1 change between majors');
  });

  it.each(compatFormats)('prints the same in every working directory: %s', async (format) => {
    const files = Object.fromEntries(Object.entries(sound).map(([name, text]) => [`api/${name}`, text]));
    const repository = Repository.of(files).write({ 'api/v1.json': contract(broken) });
    const above = await repository.compat(['--routes', 'api/routes.yaml', '--format', format]);
    const within = await compat(join(repository.folder, 'api'), [...all, '--format', format]);
    const beside = await compat('/', ['--routes', join(repository.folder, 'api/routes.yaml'), '--format', format]);
    expect([above.code, within.code, beside.code]).toEqual([1, 1, 1]);
    expect(above.stdout).toContain('api/v1.json');
    if (format === 'github' || format === 'sarif')
      expect([within.stdout, beside.stdout].join()).toContain('api/v1.json');
  });

  it('uses the rules of another file with --config', async () => {
    const milder = routesFile({ v1: null }, { compat: { rules: { 'response-type-changed': 'info' } } });
    const repository = Repository.of(sound).write({ 'v1.json': contract(broken), 'milder.yaml': milder });
    const { code, stdout } = await repository.compat([...all, '--config', 'milder.yaml']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('/v1 → /v2')]);
  });
});

describe('a major without a breaking change', () => {
  const more: Api = { ...v2, 'GET /bars': { name: 'string' } };
  const three = (now: string | null, rest = {}): Repository => {
    const contracts = { v1: 'v1.json', v2: 'v2.json', v3: now === null ? null : 'v3.json' };
    return Repository.of({ ...sound, 'routes.yaml': routesFile(contracts, rest), 'v3.json': now ?? '' });
  };

  it.each([
    ['additions', contract(more), '/v3 only adds to /v2: stay in /v2'],
    ['nothing new', contract(v2), '/v3 does not differ from /v2: stay in /v2'],
  ])('%s', async (_name, text, words) => {
    const { code, stdout } = await three(text).compat(all);
    expect(code).toBe(1);
    expect(stdout).toContain(`  error  ${words}  major-without-breaking-change`);
  });

  it('is judged by the built-in levels, and not by a lower level', async () => {
    const renamed = contract({ 'GET /cocktails': { cost: 'string' } });
    for (const level of ['warn', 'off']) {
      const args = [...all, '--rule', `response-field-removed=${level}`];
      expect((await three(renamed).compat(args)).code).toBe(0);
    }
  });

  it('is not reported if a stricter rule is broken', async () => {
    const args = [...all, '--rule', 'route-added=error'];
    expect((await three(contract(more)).compat(args)).code).toBe(0);
  });

  it('can be exempted by the name of the version', async () => {
    const exempt = [
      { rule: 'major-without-breaking-change', route: '/v3', reason: 'The name was promised.', until: '2999-01-01' },
    ];
    const { code, stdout } = await three(contract(more), { compat: { exempt } }).compat(all);
    expect([code, stdout]).toEqual([0, expect.stringContaining('The name was promised.')]);
  });

  it('can be allowed', async () => {
    const args = [...all, '--rule', 'major-without-breaking-change=off'];
    expect((await three(contract(more)).compat(args)).code).toBe(0);
  });

  it('is compared with the major before it, even if that is retired', async () => {
    const repository = three(contract(more));
    const file = JSON.parse(routesFile({ v1: 'v1.json', v2: 'v2.json', v3: 'v3.json' }));
    file.routes['/v2'] = { contract: 'v2.json', retired: true, deprecation: '2020-01-01', sunset: '2021-01-01' };
    expect((await repository.write({ 'routes.yaml': file }).compat(all)).code).toBe(1);
  });

  it('is not compared across a version without a contract, which is reported', async () => {
    const contracts = routesFile({ v1: 'v1.json', v2: null, v3: 'v3.json' });
    const files = { 'routes.yaml': contracts, 'v1.json': contract(v1), 'v3.json': contract(v1) };
    const { code, stdout } = await Repository.of(files).compat(all);
    expect(code).toBe(0);
    expect(stdout).toContain(
      '/v2 has no contract in routes.yaml: it is not compared, and /v3 cannot be compared with it',
    );
    expect(stdout).not.toContain('/v1 → /v3');
  });

  it('is not searched in two named contracts', async () => {
    expect((await three(contract(more)).compat(['v2.json', 'v3.json'])).code).toBe(0);
  });
});

describe('the earlier state of a contract', () => {
  it('does not exist for a new contract, which is reported', async () => {
    const repository = Repository.of({ ...routes, 'v1.json': contract(v1) }).write({ 'v2.json': contract(v2) });
    const { code, stdout } = await repository.compat(all);
    expect(code).toBe(0);
    expect(stdout).toContain('the contract of /v2 is not in HEAD: there is nothing to compare it with');
    expect(stdout).toContain('0 errors, 2 changes between majors, 1 contract not compared.');
  });

  it('may have another file name', async () => {
    const moved = routesFile({ v1: 'api/one.json', v2: 'v2.json' });
    const repository = Repository.of(sound).write({ 'routes.yaml': moved, 'api/one.json': contract(broken) });
    const { code, stdout } = await repository.compat(all);
    expect(code).toBe(1);
    expect(stdout).toContain('/v1  HEAD:./v1.json → api/one.json');
  });

  it('belongs to the version, not to the file', async () => {
    const swapped = routesFile({ v1: 'v2.json', v2: 'v1.json' });
    const { code, stdout } = await Repository.of(sound).write({ 'routes.yaml': swapped }).compat(all);
    expect(code).toBe(1);
    expect(stdout).toContain('/v1  HEAD:./v1.json → v2.json');
  });

  it('is not that of another version whose file a new version takes over', async () => {
    const before = { 'routes.yaml': routesFile({ v1: 'api.json' }), 'api.json': contract(v1) };
    const repository = Repository.of(before).write({
      'routes.yaml': routesFile({ v1: 'api.v1.json', v2: 'api.json' }),
      'api.v1.json': contract(v1),
      'api.json': contract(v2),
    });
    const { code, stdout } = await repository.compat(all);
    expect(code).toBe(0);
    expect(stdout).toContain('/v1  HEAD:./api.json → api.v1.json');
    expect(stdout).toContain('the contract of /v2 is not in HEAD: there is nothing to compare it with');
  });

  it('may be named by a variable', async () => {
    const named = routesFile({ v1: `$${'{API:-v1}'}.json`, v2: 'v2.json' });
    const repository = Repository.of({ ...sound, 'routes.yaml': named }).write({
      'routes.yaml': routesFile({ v1: 'new.json', v2: 'v2.json' }),
      'new.json': contract(broken),
    });
    expect((await repository.compat(all)).stdout).toContain('/v1  HEAD:./v1.json → new.json');
  });

  it('is found even if the earlier routes.yaml was invalid or missing', async () => {
    for (const then of ['routes: [', '', 'routes: 7', '\u0000']) {
      const repository = Repository.of({ ...sound, 'routes.yaml': then });
      repository.write({ ...routes, 'v1.json': contract(broken) });
      expect((await repository.compat(all)).code).toBe(1);
    }
    const { 'routes.yaml': _later, ...earlier } = sound;
    expect(
      (
        await Repository.of(earlier)
          .write({ ...routes, 'v1.json': contract(broken) })
          .compat(all)
      ).code,
    ).toBe(1);
  });

  it.each([
    ['a version', routesFile({ v2: 'v2.json' }), '/v1 had a contract in HEAD and is no longer in routes.yaml'],
    ['a contract', routesFile({ v1: null, v2: 'v2.json' }), '/v1 has no contract in routes.yaml, but had one in HEAD'],
  ])('is reported as missing if %s was removed', async (_name, text, words) => {
    const { code, stdout } = await Repository.of(sound).write({ 'routes.yaml': text }).compat(all);
    expect([code, stdout]).toEqual([0, expect.stringContaining(words)]);
    expect(stdout).not.toMatch(/no (breaking )?change/i);
  });
});

describe('contracts that cannot be compared', () => {
  const none = { ...sound, 'routes.yaml': routesFile({ v1: null }) };
  const beyond = { ...sound, 'routes.yaml': routesFile({ v1: '../v1.json' }) };

  it.each([
    ['an unknown commit', Repository.of(sound), ['--against', 'no-such'], /"no-such" does not exist/],
    ['no commit', Repository.of(sound), ['--against', ''], /the commit: the revision "" does not exist/],
    ['a folder of a commit', Repository.of(sound), ['--against', 'HEAD:v1.json'], /does not exist in this repository/],
    ['a value that looks like a flag', Repository.of(sound), ['--against=--help'], /"--help" does not exist/],
    ['no repository', new Repository().write(sound), [], /this is not a git repository/],
    ['a repository without a commit', Repository.of().write(sound), [], /"HEAD" does not exist/],
    ['no contract', Repository.of(none), [], /No version in routes\.yaml has a contract/],
    [
      'a contract outside',
      Repository.of({ 'x/routes.yaml': beyond['routes.yaml'] }),
      [],
      /routes\.yaml cannot be read/,
    ],
    ['a broken contract', Repository.of(sound).write({ 'v1.json': '{' }), [], /v1\.json/],
    ['a contract that was broken', Repository.of({ ...sound, 'v1.json': '[' }).write(sound), [], /HEAD:\.\/v1\.json/],
    [
      'a contract with a fault, with --validate',
      Repository.of({ ...sound, 'v2.json': contract(v2).replace('"title"', '"x"') }),
      ['--validate'],
      /v2\.json: the contract is not valid/,
    ],
  ] as const)('%s', async (_name, repository, args, words) => {
    for (const format of compatFormats) {
      const { code, stdout, stderr } = await repository.compat([...all, ...args, '--format', format]);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(words);
    }
  });

  it('deletes its temporary files', () => {
    const repository = Repository.of(sound);
    expect(existsSync(join(repository.folder, '.version-gateway'))).toBe(false);
  });
});
