import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError, formatFault, UnreadableFileError } from '../../gateway/config/fault.ts';
import { loadSnapshot, parseConfig, snapshotFrom } from '../../gateway/config/load.ts';
import { temporaryFolder } from './temporary.ts';

const folder = temporaryFolder();
const upstream = 'http://127.0.0.1:3001';

function file(content: string | Uint8Array): string {
  const path = join(folder, 'routes.yaml');
  writeFileSync(path, content);
  return path;
}

function errorOf(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('a file', () => {
  it.each([
    [join(folder, 'missing.yaml'), /there is no such file/],
    [folder, /it is a folder/],
  ])('that cannot be read is an error without faults: %s', (path, message) => {
    const error = errorOf(() => loadSnapshot(path, {}));
    expect(error).toBeInstanceOf(UnreadableFileError);
    expect(String(error)).toMatch(message);
  });

  it('is refused with all of its faults, in the order of the lines', () => {
    const error = errorOf(() => loadSnapshot(file('routes:\n  /v1: nowhere\n  /v2: {}\ngatway: 1\n'), {}));
    if (!(error instanceof ConfigError)) throw new Error('not refused');
    expect(error.faults.map(({ line, column, path }) => [line, column, path])).toEqual([
      [2, 8, 'routes./v1'],
      [3, 3, 'routes./v2.upstream'],
      [4, 1, 'gatway'],
    ]);
    expect(error.message).toContain(`${join(folder, 'routes.yaml')}:2:8  routes./v1\n  nowhere is not`);
  });

  it.each([
    ['with a byte order mark', `\uFEFFroutes:\n  /v1: ${upstream}\n`],
    ['with CRLF', `routes:\r\n  /v1: ${upstream}\r\n`],
    ['with anchors', `routes:\n  /v1: { upstream: &u ${upstream} }\n  /v2: { upstream: *u }\n`],
    ['without a line end', `routes: { /v1: "${upstream}" }`],
  ])('%s is read', (_what, text) => {
    expect(loadSnapshot(file(text), {}).versions.get('v1')?.targets[0]?.url).toBe(upstream);
  });

  it.each([
    ['with a byte order mark', '\uFEFFroutes:\n  /v1: x\n'],
    ['with CRLF', 'routes:\r\n  /v1: x\r\n'],
  ])('%s has its faults at the positions of an editor', (_what, text) => {
    expect(parseConfig(text, 'routes.yaml').faults[0]).toMatchObject({ line: 2, column: 8 });
    expect(parseConfig(Buffer.from(text), 'routes.yaml').faults[0]).toMatchObject({ line: 2, column: 8 });
  });

  it.each([
    ['UTF-16', Buffer.from('\uFEFFroutes: {}', 'utf16le')],
    ['Latin-1', Buffer.from('# é\nroutes: {}', 'latin1')],
  ])('in %s is refused', (_what, bytes) => {
    expect(parseConfig(bytes, 'routes.yaml').faults.map(({ message }) => message)).toEqual(['The file is not UTF-8.']);
  });

  it('of only brackets is refused', () => {
    const { faults } = parseConfig('['.repeat(50_000), 'routes.yaml');
    expect(faults.map(({ message }) => message)).toEqual(['The file is nested too deeply to be read.']);
  });

  it('has faults with escaped control characters', () => {
    const { faults } = parseConfig('routes:\n  "/v\\e[31m1": "http://a\\e[2J\\x9b"\n', 'routes.yaml');
    expect(faults.map(formatFault).join('\n')).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
    expect(faults).toHaveLength(2);
  });
});

describe('variables', () => {
  const text = (value: string): string => `routes: { /v1: ${upstream} }\ngateway:\n  workers: ${value}\n`;

  it.each([
    [`\${N:-2}`, {}, 2],
    [`\${N:-2}`, { N: '3' }, 3],
    [`\${N}`, { N: 'auto' }, 'auto'],
    [`"\${N:-auto}"`, {}, 'auto'],
  ])('workers: %s with %o', (value, env, workers) => {
    expect(parseConfig(text(value), 'routes.yaml', { env }).snapshot?.gateway.workers).toBe(workers);
  });

  it('are strings within quotes', () => {
    expect(parseConfig(text(`"\${N:-2}"`), 'routes.yaml', { env: {} }).faults[0]?.path).toBe('gateway.workers');
  });

  it('are not expanded again when a value has a dollar sign', () => {
    const yaml = `routes: { /v1: ${upstream} }\ngateway: { admin_token: "$TOKEN" }\n`;
    const { snapshot } = parseConfig(yaml, 'routes.yaml', { env: { TOKEN: 'a$HOME$$b' } });
    expect(snapshot?.gateway.adminToken).toBe('a$HOME$$b');
  });

  it('are not expanded in keys', () => {
    const { faults } = parseConfig('routes: { "/$V": http://a }', 'routes.yaml', { env: { V: 'v1' } });
    expect(faults[0]?.message).toBe('/$V is not the prefix of a version.');
  });
});

describe('an object', () => {
  it.each([
    [undefined, ''],
    [null, ''],
    ['routes', ''],
    [[], ''],
    [{}, 'routes'],
    [{ routes: { '/v1': () => upstream } }, 'routes./v1'],
    [{ routes: new Map() }, 'routes'],
    [JSON.parse(`{ "routes": { "/v1": "${upstream}" }, "__proto__": { "polluted": true } }`), '__proto__'],
  ])('%o is refused', (document, path) => {
    const error = errorOf(() => snapshotFrom(document, folder, {}));
    if (!(error instanceof ConfigError)) throw new Error('not refused');
    expect(error.faults[0]).toMatchObject({ path, file: undefined, line: undefined });
    expect(error.message).not.toContain('undefined');
  });

  it('that contains itself is refused', () => {
    const routes: Record<string, unknown> = {};
    routes['/v1'] = routes;
    expect(() => snapshotFrom({ routes }, folder, {})).toThrow(ConfigError);
  });

  it('is read like a file, variables included', () => {
    const object = { routes: { '/v1': '$URL', '/v2': undefined }, gateway: { workers: `\${N:-2}` } };
    const { versions, gateway } = snapshotFrom(object, folder, { URL: upstream });
    expect(versions.get('v1')?.targets[0]?.url).toBe(upstream);
    expect([versions.size, gateway.workers]).toEqual([1, 2]);
  });
});

describe('a token that comes from a variable', () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of routes.yaml
  const text = 'routes:\n  /v1: http://a\ngateway:\n  admin_token: ${ADMIN_TOKEN:-}\n';
  it.each([
    [{}, undefined],
    [{ ADMIN_TOKEN: '' }, undefined],
    [{ ADMIN_TOKEN: '0123' }, '0123'],
  ])('%j is %s', (env, token) => {
    const { snapshot, faults } = parseConfig(text, 'routes.yaml', { env });
    expect([snapshot?.gateway.adminToken, faults]).toEqual([token, []]);
  });

  it('is not set if it is empty in the file', () => {
    const { faults } = parseConfig("routes:\n  /v1: http://a\ngateway:\n  admin_token: ''\n", 'routes.yaml', {
      env: {},
    });
    expect(faults.map(({ path }) => path)).toEqual(['gateway.admin_token']);
  });
});
