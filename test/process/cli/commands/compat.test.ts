import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { compatFormats } from '../../../../gateway/process/cli/commands/compat.ts';
import { compat, contract, Repository, routesFile } from '../compatRepository.ts';

const drinks = contract({ 'GET /drinks': { price: 'string' } });
const broken = contract({ 'GET /drinks': { price: 'number' } });
const wider = contract({ 'GET /drinks': { price: 'string', name: 'string' }, 'GET /bars': { name: 'string' } });
const pair = Repository.of({ 'old.json': drinks, 'new.json': drinks }, { 'broken.json': broken, 'wider.json': wider });

describe('compat OLD NEW', () => {
  it.each([
    ['the same', 'new.json', 0, 'No changes found.'],
    ['additions', 'wider.json', 0, 'No breaking change found within a major: 2 compatible changes.'],
    ['a breaking change', 'broken.json', 1, '1 error'],
  ])('%s', async (_name, file, code, words) => {
    const printed = await pair.compat(['old.json', file]);
    expect([printed.code, printed.stderr]).toEqual([code, '']);
    expect(printed.stdout).toContain(words);
  });

  it.each([
    ['standard input as the old one', ['-', 'broken.json'], drinks],
    ['standard input as the new one', ['old.json', '-'], broken],
    ['a commit as the old one', ['HEAD:old.json', 'broken.json'], ''],
    ['commits on both sides', ['HEAD~1:old.json', 'main:./broken.json'], ''],
  ])('takes %s', async (_name, args, stdin) => {
    const { code, stdout, stderr } = await pair.compat(args, { stdin });
    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toContain('response 200 field `price` was a string and is now a number');
  });

  describe('with two majors of one API', () => {
    const at = (servers: string | undefined, prefix: string, price: string) =>
      JSON.stringify({
        ...JSON.parse(contract({ [`GET ${prefix}/drinks`]: { price } })),
        ...(servers && { servers: [{ url: servers }, { url: 'http://localhost:3000' }] }),
      });
    const v67 = at('https://a.example/pay/v67', '', 'string');

    it.each([
      ['the base path', v67, at('https://b.example/pay/v68', '', 'number')],
      ['the paths', at(undefined, '/v67', 'string'), at(undefined, '/v68', 'number')],
    ])('lists what breaks where only the version in %s differs', async (_name, old, now) => {
      const { folder } = new Repository().write({ 'old.json': old, 'new.json': now });
      const { code, stdout } = await compat(folder, ['old.json', 'new.json']);
      expect([code, stdout.split('\n')[0]]).toEqual([
        0,
        'Two majors, /v67 → /v68: breaking changes are allowed.  old.json → new.json',
      ]);
      expect(stdout).toContain('breaks  response 200 field `price` was a string and is now a number');
      expect(stdout).not.toContain('another base path');
      expect(stdout).toContain('The new major is justified: ');
    });

    it('rejects a major without a breaking change', async () => {
      const same = at('https://a.example/pay/v68', '', 'string');
      const { folder } = new Repository().write({ 'old.json': v67, 'new.json': same });
      const { code, stdout } = await compat(folder, ['old.json', 'new.json']);
      expect([code, stdout]).toEqual([1, expect.stringContaining('/v68 only adds to /v67: stay in /v67')]);
    });

    it.each([
      ['another API', at('https://a.example/order/v68', '', 'string')],
      ['a lower version', at('https://a.example/pay/v66', '', 'string')],
      ['no version', at('https://a.example/pay', '', 'string')],
    ])('reports %s as a changed base path', async (_name, now) => {
      const { folder } = new Repository().write({ 'old.json': v67, 'new.json': now });
      const { code, stdout } = await compat(folder, ['old.json', 'new.json']);
      expect([code, stdout]).toEqual([1, expect.stringContaining('has another base path (`/pay/v67` → ')]);
    });
  });

  it('prefers a file to a commit of the same name', async () => {
    const folder = new Repository().write({ 'HEAD:old.json': drinks, 'new.json': broken }).folder;
    expect((await compat(folder, ['HEAD:old.json', 'new.json'])).code).toBe(1);
  });

  it('lists the rules and compares nothing', async () => {
    const { code, stdout } = await pair.compat(['--rules', 'none.json', 'none.json']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/route-removed\s+error/);
  });

  it('prints a help text without JavaScript values', async () => {
    const { code, stdout } = await pair.compat(['--help']);
    expect(code).toBe(0);
    expect(stdout).not.toContain('(default: false)');
    expect(stdout).not.toContain('{}');
  });
});

describe('contracts that cannot be compared', () => {
  const files = new Repository().write({
    'old.json': drinks,
    'broken.yaml': 'openapi: [',
    'other.yaml': 'a: 1',
    'dangling.json': drinks.replace('"schema": {', '"schema": { "$ref": "#/nowhere",'),
    'schemas.json': '{"openapi":"3.1.0","info":{"title":"shared","version":"1"},"components":{}}',
    'sloppy.json': drinks.replace('"title": "drinks"', '"x": 1'),
    'routes.yaml': 'routes: { /v1: { upstream: 1 } }',
  });
  symlinkSync('nowhere.json', join(files.folder, 'link.json'));
  mkdirSync(join(files.folder, 'folder'));

  const cases: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['nothing named', [], /Two contracts are needed/],
    ['one only', ['old.json'], /Two contracts are needed/],
    ['three', ['old.json', 'old.json', 'old.json'], /too many arguments/],
    ['a missing one', ['old.json', 'none.json'], /none\.json: cannot be read: there is no such file/],
    ['a folder', ['old.json', 'folder'], /folder: is a folder/],
    ['a link to nowhere', ['old.json', 'link.json'], /link\.json: cannot be read/],
    ['a syntax error', ['old.json', 'broken.yaml'], /broken\.yaml/],
    ['something else', ['old.json', 'other.yaml'], /not an OpenAPI document/],
    ['a $ref to nowhere', ['old.json', 'dangling.json'], /#\/nowhere/],
    ['only schemas', ['schemas.json', 'schemas.json'], /schemas\.json: has neither `paths` nor `webhooks`/],
    ['standard input twice', ['-', '-'], /Only one of the two contracts can be standard input/],
    ['empty standard input', ['old.json', '-'], /standard input: is empty/],
    ['a commit without a repository', ['HEAD:old.json', 'old.json'], /this is not a git repository/],
    ['a sloppy one with --validate', ['old.json', 'sloppy.json', '--validate'], /not valid: 1 fault/],
    ['--against without --routes', ['old.json', 'old.json', '--against', 'HEAD'], /--against requires --routes/],
    ['a settings file that is missing', ['old.json', 'old.json', '--config', 'no.yaml'], /no\.yaml cannot be read/],
    [
      'a settings file with faults',
      ['old.json', 'old.json', '--config', 'routes.yaml'],
      /routes\.yaml has faults and cannot be used/,
    ],
    ['routes beside contracts', ['old.json', 'old.json', '--routes', 'routes.yaml'], /omit OLD and NEW/],
    ['faulty routes', ['--routes', 'routes.yaml'], /routes\./],
    ['missing routes', ['--routes', 'none.yaml'], /none\.yaml cannot be read/],
    ['an unknown rule', ['old.json', 'old.json', '--rule', 'none=off'], /no such rule/],
    ['an unknown level', ['old.json', 'old.json', '--rule', 'route-removed=fatal'], /route-removed=error, warn, info/],
    ['half a level', ['old.json', 'old.json', '--rule', 'route-removed'], /route-removed=error, warn, info/],
    ['two levels', ['old.json', 'old.json', '--rule', 'route-removed=off=error'], /route-removed=error, warn, info/],
    ['an unknown flag', ['old.json', 'old.json', '--strict'], /unknown option/],
  ];

  describe.each(compatFormats)('prints nothing on standard output: %s', (format) => {
    it.each(cases)('%s', async (_name, args, words) => {
      const { code, stdout, stderr } = await files.compat([...args, '--format', format]);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(words);
    });
  });

  it('an unknown format', async () => {
    expect(await files.compat(['old.json', 'old.json', '--format', 'xml'])).toMatchObject({ code: 2, stdout: '' });
  });

  it('an unknown commit', async () => {
    const { code, stdout, stderr } = await pair.compat(['no-such-branch:old.json', 'new.json']);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/"no-such-branch" does not exist.*The contracts were not compared/s);
  });

  it('compares an invalid contract, except with --validate', async () => {
    expect((await files.compat(['sloppy.json', 'sloppy.json'])).code).toBe(0);
  });

  it('reports an internal error as a failed comparison', async () => {
    const io = { cwd: files.folder, env: {}, stderr: { write: (text: string) => said.push(text) } };
    const said: string[] = [];
    const { run } = await import('../../../../gateway/process/cli/run.ts');
    const stdin = (): Promise<string> => Promise.reject(new TypeError('unforeseen'));
    const code = await run(['compat', '-', 'old.json'], { ...io, stdin, stdout: { write: (text) => said.push(text) } });
    expect(code).toBe(2);
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(/^This is a defect of version-gateway\.\nTypeError: unforeseen\n.*were not compared\.\n$/s);
  });
});

describe('text from a contract', () => {
  it.each(['\u001b[31mred.json', '::error::x.json', 'a\n::set-env::b.json', '##[error]x.json', '%0A.json'])(
    'in the name of a file: %j',
    async (name) => {
      const files = new Repository().write({ 'old.json': drinks });
      const missing = await files.compat(['old.json', name]);
      expect(missing).toMatchObject({ code: 2, stdout: '' });
      files.write({ [name]: broken });
      for (const format of compatFormats) {
        const { code, stdout } = await files.compat(['old.json', name, '--format', format]);
        expect(code).toBe(1);
        expectHarmless(stdout, format);
      }
      expectHarmless(missing.stderr, 'text');
    },
  );

  it('in a contract that cannot be compared', async () => {
    const text = drinks.replace('"/drinks"', '"/a\\u001b[31m\\n::error::x"');
    const files = new Repository().write({ 'old.json': text.replace(/"schema": \{/, '"schema": { "$ref": "#/no",') });
    const { code, stderr } = await files.compat(['old.json', 'old.json']);
    expect(code).toBe(2);
    expectHarmless(stderr, 'text');
  });

  function expectHarmless(text: string, format: string): void {
    expect(text).not.toContain('\u001b');
    if (format !== 'json' && format !== 'sarif') expect(text).not.toContain('##[');
    const commands = text.split('\n').filter((line) => line.startsWith('::'));
    if (format === 'github') expect(commands).toEqual([expect.stringMatching(/^::error file=/)]);
    else expect(commands).toEqual([]);
  }
});

describe('the levels', () => {
  const settings = routesFile({ v1: null }, { compat: { rules: { 'response-type-changed': 'warn' } } });
  const files = new Repository().write({ 'old.json': drinks, 'new.json': broken, 'routes.yaml': settings });

  it.each([
    [[], 1, '1 error'],
    [['--config', 'routes.yaml'], 0, '0 errors, 1 warning'],
    [['--rule', 'response-type-changed=info'], 0, '0 errors, 1 change of level info'],
    [['--rule', 'response-type-changed=off'], 0, '1 rule off (response-type-changed)'],
    [['--config', 'routes.yaml', '--rule', 'response-type-changed=error'], 1, '1 error'],
    [['--rule', 'route-removed=off', '--rule', 'response-type-changed=warn'], 0, '1 warning, 1 rule off'],
    [['--rule', 'response-type-changed=off', '--rule', 'response-type-changed=error'], 1, '1 error'],
  ] as const)('%j', async (args, code, words) => {
    const printed = await files.compat(['old.json', 'new.json', ...args]);
    expect(printed.code).toBe(code);
    expect(printed.stdout).toContain(words);
    expect(printed.stdout).not.toMatch(/no (breaking )?change/i);
  });
});

describe('the progress line', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => void vi.useRealTimers());

  const slow = async (): Promise<string> => {
    vi.advanceTimersByTime(600);
    return drinks;
  };

  async function waiting(stdin: () => Promise<string>, isTTY: boolean, name = 'new.json') {
    const printed = { stdout: '', stderr: '' };
    const output = (stream: 'stdout' | 'stderr') => ({
      isTTY,
      write: (text: string) => {
        printed[stream] += text;
      },
    });
    const { run } = await import('../../../../gateway/process/cli/run.ts');
    const io = { stdout: output('stdout'), stderr: output('stderr'), env: { NO_COLOR: '1' }, cwd: pair.folder, stdin };
    return { code: await run(['compat', '-', name], io), ...printed };
  }

  it('is on standard error, and is cleared before the report', async () => {
    const { code, stdout, stderr } = await waiting(slow, true);
    expect([code, stdout]).toEqual([0, 'No changes found.\n']);
    expect(stderr).toBe('\r\u001b[Kreading new.json…\r\u001b[Kcomparing…\r\u001b[K');
  });

  it('is cleared before an error', async () => {
    const { code, stdout, stderr } = await waiting(slow, true, 'none\u001b.json');
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^\r\u001b\[Kreading none\\x1b\.json…\r\u001b\[Knone\\x1b\.json: cannot be read/);
  });

  it('is for terminals only', async () => {
    expect((await waiting(slow, false)).stderr).toBe('');
  });

  it('is for long comparisons only', async () => {
    expect((await waiting(async () => drinks, true)).stderr).toBe('');
  });
});
