import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { isNamedFor } from '../../gateway/config/compose/upstreams.ts';
import type { Fault } from '../../gateway/config/fault.ts';
import type { Snapshot } from '../../gateway/config/snapshot.ts';
import { editedValues } from '../../gateway/config/writtenValues.ts';
import { hostOf } from '../support/hostOf.ts';
import { type Fixture, fixturesIn, parseIn } from './fixtures.ts';

// Each fixture is read twice: as a file of its own, and as an API below `apis` of another file.

const sections = new Set(['routes', 'defaults', 'guard', 'retire', 'brownout', 'compat', 'notify']);
const limits = ['guard.quiet', 'guard.notice', 'brownout.notice', 'brownout.unnamed', 'brownout.max_share'];

/** Only sections of an API, and no limit that may be looser than that of the gateway. */
function isApi({ input }: Fixture): boolean {
  try {
    const document: unknown = parse(input);
    if (typeof document !== 'object' || document === null || Array.isArray(document)) return false;
    const written = limits.some((limit) => {
      const [section = '', key = ''] = limit.split('.');
      const value = (document as Record<string, unknown>)[section];
      return typeof value === 'object' && value !== null && Object.hasOwn(value, key);
    });
    return !written && Object.keys(document).every((key) => sections.has(key));
  } catch {
    return false;
  }
}

const head = 'gateway: { base_path: /api }\napis:\n';

/** A file with each text as an API. `starts`: the number of lines before each. */
function together(texts: readonly string[]): { text: string; starts: readonly number[] } {
  let text = head;
  const starts = texts.map((one, index) => {
    text += `  /base${index}:\n`;
    const start = text.split('\n').length - 1;
    text += `${one.replace(/^(?=.)/gm, '    ').replace(/\n*$/, '')}\n`;
    return start;
  });
  return { text, starts };
}

function moved(fault: Fault, index: number, start: number): Fault {
  const path = fault.path === '' ? `apis./base${index}` : `apis./base${index}.${fault.path}`;
  const at = { line: (fault.line ?? 0) + start, column: (fault.column ?? 0) + 4 };
  // The words for the document differ.
  const message = fault.message.replace(/this file\.|The file has/, (words) => words.replace('file', 'API'));
  return { ...fault, ...at, path, message };
}

// A text that is not YAML cannot be a part of another one.
const wrong = fixturesIn('bad-routes')
  .filter((fixture) => isApi(fixture) && !fixture.name.startsWith('api-'))
  .filter(({ input }) => parseIn('bad-routes', input).faults.every(({ path }) => path !== ''));
const valid = fixturesIn('warned-routes').filter(isApi);

it('has fixtures to compare', () => {
  expect(wrong.length).toBeGreaterThan(40);
  expect(valid.length).toBeGreaterThan(10);
});

it.each([
  ['bad-routes', wrong],
  ['warned-routes', valid],
] as const)('finds in each API of a file what it finds in the file alone: %s', (folder, fixtures) => {
  const { text, starts } = together(fixtures.map(({ input }) => input));
  const { faults, warnings } = parseIn(folder, text);
  const expected = fixtures.flatMap(({ input }, index) => {
    const alone = parseIn(folder, input);
    return [...alone.faults, ...alone.warnings].map((fault) => moved(fault, index, starts[index] ?? 0));
  });
  const textOf = ({ path, line, column, value, message, remedy }: Fault): string =>
    JSON.stringify([line, column, path, value, message, remedy]);
  expect([...faults, ...warnings].map(textOf).sort().join('\n')).toBe(expected.map(textOf).sort().join('\n'));
});

it('builds for each API the versions and settings of the file alone', () => {
  const { text } = together(valid.map(({ input }) => input));
  const { snapshot, faults } = parseIn('warned-routes', text);
  expect(faults).toEqual([]);
  const alone = valid.map(({ input }): [string, Snapshot] => [
    input,
    snapshotOf(`gateway: { base_path: /api }\n${input}`),
  ]);
  const root = snapshotOf('gateway: { base_path: /api }\napis: { /base0: { routes: { /v1: http://127.0.0.1:1 } } }\n');
  const empty = { ...root, versions: new Map(), sortedVersions: [] };
  const host = hostOf(empty, Object.fromEntries(alone.map(([, one], index) => [`/base${index}`, one])));
  for (const [base, api] of host.apis) {
    const actual = snapshot?.apis.get(base);
    expect(actual).toEqual({ ...api, ...(base !== '' && { listed: true }) });
  }
  const order = ({ sortedVersions }: Snapshot) => sortedVersions.map(withoutPlaces);
  expect(snapshot && order(snapshot)).toEqual(order(host));
});

function snapshotOf(text: string): Snapshot {
  const { snapshot, faults } = parseIn('warned-routes', text);
  if (!snapshot) throw new Error(JSON.stringify(faults));
  return snapshot;
}

/** Operations of adapters know their place in the file, which differs. */
function withoutPlaces(version: Snapshot['sortedVersions'][number]): unknown {
  const { adapter, ...rest } = version;
  const plain =
    adapter && (JSON.parse(JSON.stringify(adapter, (key, value) => (key === 'place' ? 0 : value))) as unknown);
  return { ...rest, adapter: plain };
}

it('keeps the settings of the gateway that an API does not set, key by key', () => {
  const { snapshot, faults } = parseIn(
    'warned-routes',
    `guard: { quiet: 48h, force: { /orders/v1: of the gateway, /gone/v1: removed, /v1: root } }
defaults: { timeouts: { connect: 1s, idle: 8s } }
retire: { ignore_clients: [probe] }
compat: { rules: { route-removed: off } }
notify: [{ url: https://hooks.example/a, secret: whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz }]
routes: { /v1: http://127.0.0.1:1 }
apis:
  /orders:
    guard: { notice: 60d, force: { /v2: its own } }
    defaults: { timeouts: { idle: 9s } }
    compat: { rules: { docs-only: warn } }
    routes: { /v1: { upstream: http://127.0.0.1:2, successor: /orders/v2 }, /v2: http://127.0.0.1:3 }
`,
  );
  expect(faults).toEqual([]);
  const orders = snapshot?.apis.get('/orders');
  expect(orders?.guard).toMatchObject({ quiet: 48 * 3_600_000, notice: 60 * 86_400_000 });
  expect([...(orders?.guard.force ?? [])]).toEqual([
    ['orders/v1', 'of the gateway'],
    ['orders/v2', 'its own'],
  ]);
  expect([...(snapshot?.apis.get('')?.guard.force.keys() ?? [])]).toEqual(['gone/v1', 'v1']);
  expect(orders?.retire.ignoreClients).toEqual(['probe']);
  expect([...(orders?.compat.rules ?? [])].sort()).toEqual([
    ['docs-only', 'warn'],
    ['route-removed', 'off'],
  ]);
  // The receivers of the gateway's file get the events of all APIs.
  expect(orders?.notify).toEqual([]);
  expect(snapshot?.versions.get('orders/v1')).toMatchObject({
    successor: 'orders/v2',
    timeouts: { connect: 1000, idle: 9000 },
  });
  expect(snapshot?.versions.get('v1')?.timeouts).toMatchObject({ connect: 1000, idle: 8000 });
});

it('changes the fingerprint with each setting of an API', () => {
  const print = (api: string): string | undefined =>
    parseIn('warned-routes', `apis: { /orders: { routes: { /v1: http://127.0.0.1:1 }${api} } }`).snapshot?.fingerprint;
  const all = ['', ', guard: { quiet: 48h }', ', retire: { quiet: 8d }', ', listed: false'].map(print);
  expect(new Set(all).size).toBe(4);
});

it('names the version and the place of an edited value of an API, and hides its secrets', () => {
  const read = (upstream: string, hook: string) =>
    parseIn(
      'warned-routes',
      `apis:
  /orders:
    routes: { /v1: ${upstream} }
    notify: [{ url: ${hook}, networks: any, format: slack }]
`,
    ).snapshot?.written;
  const before = read('http://127.0.0.1:1', 'https://hooks.example/one');
  const after = read('http://127.0.0.1:2', 'https://hooks.example/two');
  const edited = before && after ? editedValues(before, after) : [];
  expect(edited.map(({ version, section, key, line }) => [version, section, key, line])).toEqual([
    ['/orders/v1', 'routes', 'apis./orders.routes./v1', 3],
    [undefined, 'notify', 'apis./orders.notify[0].url', 4],
  ]);
  expect(JSON.stringify(edited)).not.toMatch(/hooks\.example\/(one|two)/);
});

it('reads keys of an adapter in an API as texts, and knows their places', () => {
  const adapter = `
      /v1:
        contract: ../contracts/v1.yaml
        adapter:
          from: /v2
          routes:
            "GET /drinks/{id}": { to: "GET /drinks/{id}", response: { 200: [{ drop: /a }] } }
`;
  const { faults } = parseIn('bad-routes', `apis:\n  /orders:\n    routes:${adapter}      /v2: http://127.0.0.1:1\n`);
  expect(faults.filter(({ message }) => message.includes('must be a text'))).toEqual([]);
});

it.each([
  ['orders-v1', 'orders/v1', true],
  ['api.orders_v1', 'orders/v1', true],
  ['v1', 'orders/v1', false],
  ['reorders-v1', 'orders/v1', false],
  ['orders-v10', 'orders/v1', false],
  ['api-v1', 'v1', true],
  ['dev1', 'v1', false],
])('tells whether the service %s is named for %s', (service, version, isNamed) => {
  expect(isNamedFor(service, version)).toBe(isNamed);
});
