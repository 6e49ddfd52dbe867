// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are for Compose.
import { describe, expect, it } from 'vitest';
import { UnreadableFileError } from '../../../gateway/config/fault.ts';
import { compareFiles, type Given, inWords } from './fixtures.ts';

const routes = 'routes:\n  /v1: ${V1_URL:-http://127.0.0.1:3001}\n';
const gateway = 'services:\n  gateway: { image: version-gateway, environment: { V1_URL: "http://v1:80" } }\n';

const compared = (compose: string, others: Record<string, string> = {}, given?: Given) =>
  compareFiles({ 'routes.yaml': routes, 'docker-compose.yml': compose, ...others }, given);
const said = (...args: Parameters<typeof compared>): string => inWords(compared(...args));

describe('an invalid project', () => {
  it.each([
    ['empty', '', 'docker-compose.yml:1:1\n  This is not a Compose file.'],
    ['only comments', '# nothing\n', 'docker-compose.yml:1:1\n  This is not a Compose file.'],
    ['a routes.yaml', routes, 'docker-compose.yml:1:1\n  This is not a Compose file.'],
    ['a list', '- services\n', 'docker-compose.yml:1:1\n  This is not a Compose file.'],
    ['a text', 'services', 'docker-compose.yml:1:1\n  This is not a Compose file.'],
    ['services that are a list', 'services: [gateway]\n', 'This is not a Compose file.'],
    [
      'a service that is a text',
      'services:\n  v1: nginx\n',
      'docker-compose.yml:2:3  services.v1\n  A service must be a map.',
    ],
    ['no service', 'services: {}\n', 'The project has no services.'],
    ['broken YAML', 'services: {\n', 'The file is not YAML'],
    ['a tab', 'services:\n\tv1: {}\n', 'docker-compose.yml:2:1'],
    [
      'two documents',
      `${gateway}---\nservices: {}\n`,
      'docker-compose.yml:3:1\n  The file has a second YAML document here.',
    ],
    [
      'a key twice',
      'services:\n  v1: { image: a }\n  v1: { image: b }\n',
      'docker-compose.yml:3:3\n  The file has the key "v1" here for the second time.',
    ],
    ['an alias without an anchor', 'services:\n  v1: { image: *a }\n', 'The file has an alias without an anchor.'],
    ['an alias within itself', 'services: &a\n  v1: *a\n', 'The file has an alias within its own anchor: *a.'],
    ['an alias bomb', bomb(), 'unfold to far more than the file itself'],
    ['brackets without end', '['.repeat(50_000), 'nested too deeply'],
    ['more than anybody writes', `#${'x'.repeat(5 * 1024 * 1024)}`, 'The file is larger than 4 MiB.'],
    ['a variable left open', 'services:\n  v1: { image: "a${TAG" }\n', 'This is not a valid variable of Compose.'],
    ['a hostile name', 'services:\n  "\\e[2Jv1": { image: api }\n', '\\x1b[2Jv1 is not a valid name of a service.'],
    [
      'a name without end',
      `services:\n  ? "${' '.repeat(9000)}"\n  : { image: api }\n`,
      '… is not a valid name of a service.',
    ],
  ])('%s', (_what, compose, expected) => {
    const words = said(compose);
    expect(words).toContain(expected);
    expect(words.length).toBeLessThan(1000);
    expect(words).not.toContain('\x1b');
  });

  it('is not UTF-8', () => {
    const { result } = compareFiles({ 'routes.yaml': routes, 'docker-compose.yml': '' }, { compose: ['/bin/sh'] });
    expect(result.faults).toMatchObject([{ file: '/bin/sh', message: expect.stringMatching(/UTF-8|4 MiB/) }]);
  });

  it('is missing', () => {
    expect(() => compared(gateway, {}, { compose: ['other.yml'] })).toThrow(UnreadableFileError);
    expect(() => compared(gateway, {}, { compose: ['docker-compose.yml', '.'] })).toThrow(
      '. cannot be read: it is a folder, not a file.  Name a regular file',
    );
  });
});

describe('a variable that is required and not set', () => {
  const fault = (place: string, name: string, says = '') =>
    `docker-compose.yml:${place}\n  The variable ${name} is required here, and it is not set.  ${says}`;
  const usual = 'Set it in the environment of Compose or in .env; a plain dollar sign is written $$.\n';

  it('is a fault with the message of the file, and other faults are still reported', () => {
    const words = said(`${gateway}  v1: { image: "api:\${TAG:?make one with (x; y) > .env}" }\n  v9: { image: api }\n`);
    expect(
      words,
    ).toBe(`${fault('3:16', 'TAG', 'Text in the Compose file: make one with (x; y) > .env\n')}warning: docker-compose.yml:4:3  services.v9
  No route leads to v9, although gateway can reach it.  Add a route to it, or label it version-gateway.backend: "false" if it is no version of the API.
`);
  });

  it('has a truncated message without control characters', () => {
    const words = said(`${gateway}  v1: { image: "\${TAG:?\\e[2J${'x'.repeat(9000)}}" }\n`);
    expect([words.length < 1000, words.includes('\\x1b[2Jxxx'), words.includes('\x1b')]).toEqual([true, true, false]);
  });

  it.each([
    ['the upstream', '"${URL:?}"', '2:61'],
    ['the host of the upstream', '"http://${URL:?}:80"', '2:61'],
    ['the port of the upstream', '"http://v1:${URL:?}"', '2:61'],
  ])('leaves %s unknown', (_what, url, place) => {
    const compose = gateway.replace('"http://v1:80"', url);
    expect(said(`${compose}  backend: { image: api }\n`)).toBe(fault(place, 'URL', usual));
  });

  it('leaves the list of files unknown', () => {
    const compose = `${gateway.replace('{ image: version-gateway,', '{ image: version-gateway, env_file: "${FILE:?}",')}  v1: { image: api }\n`;
    expect(said(compose)).toBe(fault('2:48', 'FILE', usual));
  });
});

it('accepts names of Object.prototype', () => {
  const compose = `${gateway}  constructor: { image: api }\n  __proto__: { image: api }\n  v1: { image: api }\n`;
  expect(said(compose)).toContain('No route leads to __proto__');
});

it('reads thousands of services quickly', () => {
  const many = Array.from({ length: 3000 }, (_, index) => `  s${index}: { image: api, expose: [80] }\n`).join('');
  const before = process.threadCpuUsage();
  const { result } = compared(`${gateway}  v1: { image: api }\n${many}`);
  expect(result.warnings).toHaveLength(3000);
  expect(process.threadCpuUsage(before).user / 1000, 'ms of CPU').toBeLessThan(20_000);
});

describe('the environment of the gateway', () => {
  const compose = (environment: string) => `services:
  gateway: { image: version-gateway, ${environment} }
  v1: { image: api }
`;
  it.each<[string, string, Record<string, string>, Record<string, string>]>([
    ['a map', 'environment: { V1_URL: http://v1 }', {}, {}],
    ['a list', 'environment: ["V1_URL=http://v1"]', {}, {}],
    ['a default', 'environment: { V1_URL: "${URL:-http://v1}" }', {}, {}],
    ['.env', 'environment: { V1_URL: "${URL:-http://other}" }', { '.env': 'URL="http://v1" # here\n' }, {}],
    ['the shell, over .env', 'environment: { V1_URL: "$URL" }', { '.env': 'URL=http://other\n' }, { URL: 'http://v1' }],
    ['handed on from a list', 'environment: [V1_URL]', {}, { V1_URL: 'http://v1' }],
    ['handed on from a map', 'environment: { V1_URL: }', { '.env': 'V1_URL=http://v1' }, {}],
    ['an env_file', 'env_file: a.env', { 'a.env': 'V1_URL=http://v1' }, {}],
    [
      'the last env_file',
      'env_file: [a.env, { path: b.env }]',
      { 'a.env': 'V1_URL=http://no', 'b.env': 'V1_URL=http://v1' },
      {},
    ],
    ['over an env_file', 'env_file: a.env, environment: { V1_URL: http://v1 }', { 'a.env': 'V1_URL=http://no' }, {}],
  ])('from %s', (_what, environment, files, env) => {
    expect(said(compose(environment), files, { env })).toBe('');
  });

  it('is not the environment of the shell', () => {
    expect(said(compose('environment: {}'), {}, { env: { V1_URL: 'http://v1' } })).toContain(
      '127.0.0.1 is the container itself',
    );
  });
});

describe('several files', () => {
  const over = { compose: ['docker-compose.yml', 'over.yml'] };
  it.each<[string, string, string]>([
    [
      'a value',
      '  v1: { image: api }\n',
      'services: { gateway: { environment: ["V1_URL=http://v2"] }, v2: { image: api }, v1: { labels: { version-gateway.backend: "false" } } }',
    ],
    ['a port added', '  v1: { image: api, expose: [1] }\n', 'services: { v1: { expose: [80] } }'],
    ['ports replaced', '  v1: { image: api, expose: [1] }\n', 'services: { v1: { expose: !override [80] } }'],
    ['ports reset', '  v1: { image: api, expose: [1] }\n', 'services: { v1: { expose: !reset [] } }'],
    ['a service reset', '  v1: { image: api }\n  v2: { image: api }\n', 'services: { v2: !reset null }'],
    ['a network joined', '  v1: { image: api, networks: [a] }\n', 'services: { v1: { networks: { default: } } }'],
  ])('%s', (_what, services, file) => {
    expect(said(`${gateway}${services}`, { 'over.yml': file }, over)).toBe('');
  });

  it('show a fault in the file that has the value', () => {
    const file = 'services:\n  gateway:\n    environment:\n      V1_URL: http://other\n';
    expect(said(`${gateway}  v1: { image: api }\n`, { 'over.yml': file }, over)).toContain(
      'V1_URL is set at over.yml:4:7.',
    );
  });
});

describe('extends', () => {
  it.each<[string, string, Record<string, string>]>([
    [
      'a service of the file',
      '  v1: { extends: base }\n  base: { image: api, expose: [80], profiles: [x] }\n  v2: { extends: { service: v1 }, profiles: !override [x] }\n',
      {},
    ],
    [
      'a service of another file',
      '  v1: { extends: { file: sub/a.yml, service: b } }\n',
      { 'sub/a.yml': 'services: { b: { extends: c }, c: { image: api, expose: [80] } }' },
    ],
  ])('%s', (_what, services, files) => {
    const words = said(`${gateway}${services}`, files, { env: { COMPOSE_PROFILES: 'y' } });
    expect(words.replace(/warning: routes.*\n.*profile x.*\n/, '')).toBe('');
  });

  it.each<[string, string, Record<string, string>, string]>([
    ['itself', '  v1: { extends: v1 }\n', {}, 'extends itself, directly or through others'],
    [
      'a circle',
      '  v1: { extends: a }\n  a: { extends: b }\n  b: { extends: a }\n',
      {},
      'extends itself, directly or through others',
    ],
    ['a missing service', '  v1: { extends: base }\n', {}, 'The service base, which this one extends, does not exist.'],
    [
      'a file that is gone',
      '  v1: { extends: { file: a.yml, service: b } }\n',
      {},
      'a.yml cannot be read: there is no such file.',
    ],
  ])('%s', (_what, services, files, expected) => {
    expect(said(`${gateway}${services}`, files)).toContain(expected);
  });
});

describe('include', () => {
  it('reads the other file with the .env of its folder', () => {
    const files = { 'sub/c.yml': 'services: { v1: { image: api, expose: ["${P}"] } }', 'sub/.env': 'P=80\n' };
    expect(said(`include: [sub/c.yml]\n${gateway}`, files)).toBe('');
    expect(said(`include: [{ path: [sub/c.yml] }]\n${gateway}`, files, { env: { P: '81' } })).toContain(
      'v1 listens on 81',
    );
  });

  it.each([
    ['a circle', 'a.yml', 'This file includes itself, directly or through others.'],
    ['a file that is gone', 'gone.yml', 'gone.yml cannot be read'],
    ['another host', 'https://example.com/a.git#main', 'Files of other hosts are not read.'],
  ])('%s', (_what, path, expected) => {
    const words = said(`include: ["${path}"]\n${gateway}`, { 'a.yml': 'include: [docker-compose.yml]\n' });
    expect(words).toContain(expected);
  });
});

describe('the service of the gateway', () => {
  it.each([
    ['its image', '  proxy: { image: "me/version-gateway:1" }\n  gateway: { image: other }\n', 'proxy'],
    ['its command', '  a: { image: node, command: npx version-gateway start }\n', 'a'],
    ['its volume', '  a: { image: x, volumes: ["./routes.yaml:/r.yaml"] }\n  b: { image: version-gateway }\n', 'a'],
    ['its variables', '  a: { image: x, environment: [V1_URL=http://v1] }\n  b: { image: y }\n', 'a'],
    ['its name', '  api-gateway: { image: x }\n  b: { image: y }\n', 'api-gateway'],
    ['the name among its likes', '  gateway: { image: version-gateway }\n  b: { image: version-gateway }\n', 'gateway'],
  ])('is found by %s', (_what, services, name) => {
    expect(compared(`services:\n${services}  v1: { image: api }\n`).gateway).toBe(name);
  });

  it('must be named if it is not found', () => {
    const compose = 'services:\n  a: { image: x }\n  b: { image: y }\n';
    expect(said(compose)).toContain(
      'It is not clear which service is the gateway: a, b.  Name it with --compose-service NAME.',
    );
    expect(compared(compose, {}, { service: 'b' }).gateway).toBe('b');
    expect(said(compose, {}, { service: 'bb' })).toContain('The service bb does not exist.  Did you mean');
  });
});

/** Ten lists of ten aliases each, seven levels deep. */
function bomb(): string {
  const levels = Array.from(
    { length: 7 },
    (_, level) => `x-${level + 1}: &b${level + 1} [${Array(10).fill(`*b${level}`)}]\n`,
  );
  return `x-0: &b0 [a]\n${levels.join('')}${gateway}`;
}
