import { describe, expect, it } from 'vitest';
import {
  type AcceptedConfig,
  type AcceptedVersion,
  acceptedFrom,
  acceptedRecord,
} from '../../../gateway/config/acceptedConfig.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import {
  type CallFacts,
  callEvidence,
  type LiveFacts,
  noLiveFacts,
} from '../../../gateway/usage/evidence/callEvidence.ts';
import { guardReload, type VersionUsage } from '../../../gateway/versions/lifecycle/reloadGuard.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const day = 86_400_000;
const upstream = 'http://127.0.0.1:3001';
const never: VersionUsage = { calls: () => undefined };

/** What the guard learns from a ledger that covers everything, with this last call. */
function calledAt(
  lastCall: number | undefined,
  facts: Partial<CallFacts> = {},
  live: Partial<LiveFacts> = {},
): VersionUsage {
  const coverage = { since: now - 100 * day, losses: [] };
  const ledger = { quiet: day, since: now - day, coverage, problem: undefined, live: { ...noLiveFacts, ...live } };
  return { calls: (version) => callEvidence({ version, now, lastCall, ...ledger, ...facts }) };
}

type Routes = Record<string, object | string>;

function file(routes: Routes, settings: Record<string, unknown> = {}): Snapshot {
  return snapshotFrom({ routes: { '/v3': upstream, ...routes }, ...settings });
}

function messages(before: Routes, after: Routes, use = never, settings = {}): string[] {
  return guardReload(file(before), file(after, settings), use, now).map(({ message }) => message);
}

const deprecated = { upstream, deprecation: '2026-01-01' };
const ended = { ...deprecated, sunset: '2026-06-30' };
const ahead = { ...deprecated, sunset: '2028-06-30' };

/** A version with a route that ends. */
function endsAt(sunset: string | undefined, route = 'GET /old'): object {
  return { upstream, ends: { [route]: { deprecation: '2026-01-01', ...(sunset && { sunset }) } } };
}

const endsNow = { ...deprecated, sunset: '2026-11-21T12:00:00Z' };
const tombstoneOfNow = { ...ended, retired: true };
const waivedUntil = (until: string): object => ({
  ...tombstoneOfNow,
  waivers: [{ client: 'acme', until, reason: 'contract 4711' }],
});

describe('an edit is accepted', () => {
  it.each<[string, Routes, Routes]>([
    ['that changes nothing', { '/v1': ahead }, { '/v1': ahead }],
    ['that adds a version', {}, { '/v1': upstream }],
    ['that announces a deprecation', { '/v1': upstream }, { '/v1': deprecated }],
    ['that announces a sunset far enough ahead', { '/v1': deprecated }, { '/v1': ahead }],
    ['that moves a sunset later', { '/v1': ahead }, { '/v1': { ...ahead, sunset: '2029-06-30' } }],
    ['that retires a version past its sunset', { '/v1': ended }, { '/v1': { ...ended, retired: true } }],
    ['that answers 410 past the sunset', { '/v1': ended }, { '/v1': { ...ended, after_sunset: 'gone' } }],
    ['that removes a tombstone', { '/v1': { retired: true } }, {}],
    ['that retires a version at its sunset', { '/v1': endsNow }, { '/v1': { ...endsNow, retired: true } }],
    ['that removes a waiver that has ended', { '/v1': waivedUntil('2026-11-21') }, { '/v1': tombstoneOfNow }],
    [
      'that lets a version end together with its successor',
      { '/v1': deprecated, '/v2': ahead },
      { '/v1': ahead, '/v2': ahead },
    ],
    ['that removes a tombstone past its sunset', { '/v1': { ...ended, retired: true } }, {}],
    ['that removes a version that ended by its date', { '/v1': { ...ended, after_sunset: 'gone' } }, {}],
    ['that restores a tombstone', { '/v1': { retired: true } }, { '/v1': upstream }],
    ['that ends a route far enough ahead', { '/v1': upstream }, { '/v1': endsAt('2028-01-01') }],
    ['that ends a route without a sunset', { '/v1': upstream }, { '/v1': endsAt(undefined) }],
    ['that moves the sunset of a route later', { '/v1': endsAt('2026-12-01') }, { '/v1': endsAt('2026-12-02') }],
    [
      'that ends a route together with its version, at the sunset that the route had',
      { '/v1': endsAt('2028-06-30') },
      { '/v1': ahead },
    ],
    [
      'that ends a route together with its version, which ended later',
      { '/v1': { ...ahead, ...endsAt('2028-01-01') } },
      { '/v1': ahead },
    ],
    ['that ends a route later after all', { '/v1': endsAt('2026-12-01') }, { '/v1': upstream }],
    [
      'that renames a parameter of a route that ends soon',
      { '/v1': endsAt('2026-12-01', 'GET /a/{id}') },
      { '/v1': endsAt('2026-12-01', 'GET /a/{key}') },
    ],
    ['that changes a target', { '/v1': ahead }, { '/v1': { ...ahead, upstream: 'http://127.0.0.1:3009' } }],
    [
      'whose faults are not new',
      { '/v1': { ...ahead, successor: '/v2' }, '/v2': { retired: true } },
      {
        '/v1': { ...ahead, successor: '/v2', upstream: 'http://127.0.0.1:3009' },
        '/v2': { retired: true },
      },
    ],
  ])('%s', (_name, before, after) => expect(messages(before, after)).toEqual([]));
});

it('compares no clients of waivers if an earlier release has not recorded them', () => {
  const waivers = [{ client: 'acme', until: '2027-09-01', reason: 'contract 4711' }];
  const before = file({ '/v1': { upstream, retired: true, waivers } });
  const recorded = (clients: readonly string[] | undefined) => {
    const record = JSON.parse(JSON.stringify(acceptedRecord(before)));
    record.versions[0].waivers[0].clients = clients;
    return acceptedFrom(record) as AcceptedConfig;
  };
  const lost = (clients: readonly string[] | undefined) => guardReload(recorded(clients), before, never, now);
  expect(lost(undefined)).toEqual([]);
  expect(lost(['x-api-key:#1', 'x-api-key:#2', 'acme']).map(({ message }) => message)).toEqual([
    expect.stringMatching(/^The waiver of acme for \/v1 no longer covers x-api-key:#1 and 1 other client: /),
  ]);
});

it('accepts a route that ends soon if an earlier release has not recorded the routes', () => {
  const before = file({ '/v1': upstream });
  const recorded = { ...before.sortedVersions[0], ends: undefined } as AcceptedVersion;
  const config = { ...before, sortedVersions: [recorded], versions: new Map([['v1', recorded]]) };
  expect(guardReload(config, file({ '/v1': endsAt('2026-12-01') }), never, now)).toEqual([]);
});

describe('an edit is refused', () => {
  it.each<[string, Routes, Routes, RegExp[]]>([
    [
      'that moves the sunset of a route earlier',
      { '/v1': endsAt('2028-06-30') },
      { '/v1': endsAt('2028-06-29') },
      [/^The sunset of GET \/v1\/old moves from 2028-06-30 to 2028-06-29, which is earlier\.$/],
    ],
    [
      'that ends a route before its version, whose sunset was announced for it',
      { '/v1': ahead },
      { '/v1': { ...ahead, ...endsAt('2028-01-01') } },
      [/^The sunset of GET \/v1\/old moves from 2028-06-30 to 2028-01-01, which is earlier\.$/],
    ],
    [
      'that ends a version before its route, whose own sunset is removed',
      { '/v1': endsAt('2028-06-30') },
      { '/v1': { ...endsAt(undefined), deprecation: '2026-01-01', sunset: '2028-06-29' } },
      [/^The sunset of GET \/v1\/old moves from 2028-06-30 to 2028-06-29, which is earlier\.$/],
    ],
    [
      'that ends a version before a route that is no longer listed',
      { '/v1': endsAt('2028-06-30') },
      { '/v1': { ...ahead, sunset: '2028-06-29' } },
      [/^The sunset of GET \/v1\/old moves from 2028-06-30 to 2028-06-29, which is earlier\.$/],
    ],
    [
      'that ends a route too soon',
      { '/v1': upstream },
      { '/v1': endsAt('2026-12-01') },
      [/^The sunset of GET \/v1\/old, 2026-12-01, is less than guard\.notice \(30 days\) ahead\.$/],
    ],
    [
      'that retires before the sunset',
      { '/v1': ahead },
      { '/v1': { ...ahead, retired: true } },
      [/before its announced sunset, 2028-06-30/],
    ],
    [
      'that retires without a sunset',
      { '/v1': deprecated },
      { '/v1': { ...deprecated, retired: true } },
      [/no sunset was ever announced/],
    ],
    ['that removes an active version', { '/v1': upstream }, {}, [/no sunset/, /was never a tombstone/]],
    ['that removes a version past its sunset', { '/v1': ended }, {}, [/was never a tombstone/]],
    [
      'that removes a tombstone before its sunset',
      { '/v1': { ...ahead, retired: true } },
      {},
      [/is removed before its announced sunset, 2028-06-30\. Its clients would get 404 instead of 410\.$/],
    ],
    [
      'that moves a sunset earlier',
      { '/v1': ahead },
      { '/v1': { ...ahead, sunset: '2028-06-29' } },
      [/from 2028-06-30 to 2028-06-29/],
    ],
    [
      'that moves a sunset to an earlier time of the same day',
      { '/v1': { ...ahead, sunset: '2028-06-30T12:00:00Z' } },
      { '/v1': { ...ahead, sunset: '2028-06-30T08:30:00Z' } },
      [/from 2028-06-30T12:00:00Z to 2028-06-30T08:30:00Z/],
    ],
    [
      'that announces a sunset too early',
      { '/v1': deprecated },
      { '/v1': { ...deprecated, sunset: '2026-12-01' } },
      [/guard.notice \(30 days\)/],
    ],
    [
      'that retires the successor',
      { '/v1': { ...ahead, successor: '/v2' }, '/v2': ended },
      {
        '/v1': { ...ahead, successor: '/v2' },
        '/v2': { ...ended, retired: true },
      },
      [/\/v2, the successor of \/v1, is retired itself/],
    ],
    [
      'that ends the successor earlier',
      { '/v1': { ...ahead, successor: '/v2' }, '/v2': upstream },
      {
        '/v1': { ...ahead, successor: '/v2' },
        '/v2': { ...deprecated, sunset: '2027-06-30' },
      },
      [/\/v2, the successor of \/v1, ends before/],
    ],
  ])('%s', (_name, before, after, expected) => {
    const found = messages(before, after);
    expect(found).toHaveLength(expected.length);
    for (const [index, pattern] of expected.entries()) expect(found[index]).toMatch(pattern);
  });

  it.each([
    ['within guard.quiet', now - day + 1000, 1],
    ['before that', now - day - 1, 0],
  ])('that retires a version that was called %s', (_name, lastCalled, count) => {
    const use = { calls: (name: string) => calledAt(name === 'v1' ? lastCalled : undefined).calls(name) };
    expect(messages({ '/v1': ended }, { '/v1': { ...ended, retired: true } }, use)).toHaveLength(count);
  });

  it.each([
    ['1d', '1 day'],
    ['36h', '36 h'],
    ['5h', '5 h'],
  ])('that announces a sunset within a guard.notice of %s', (notice, words) => {
    const after = { '/v1': { ...deprecated, sunset: '2026-11-21T13:00:00Z' } };
    expect(messages({ '/v1': deprecated }, after, never, { guard: { notice } })).toEqual([
      `The sunset of /v1, 2026-11-21, is less than guard.notice (${words}) ahead.`,
    ]);
  });

  it('that removes a tombstone that answered 410 within guard.quiet', () => {
    const before = { '/v1': { ...ended, retired: true } };
    const use = { ...calledAt(now - 3000), clients: () => 'clients: shop' };
    expect(messages(before, {}, use)).toEqual([
      '/v1 is removed, and was last called 3 s ago; clients: shop. Its clients would get 404 instead of 410. Without another call, the edit is accepted at 2026-11-22T11:59:58Z, in 23 h: save the file again then.',
    ]);
    expect(messages(before, {}, calledAt(now - 2 * day))).toEqual([]);
    expect(messages(before, before, use)).toEqual([]);
  });

  it.each([
    ['within guard.quiet', '2026-11-22T11:00:00Z', 1],
    ['later', '2026-11-23T12:00:00Z', 0],
  ])('that lets a version in use end by itself %s', (_name, sunset, count) => {
    const served = { ...deprecated, sunset, after_sunset: 'serve' };
    const found = messages({ '/v1': served }, { '/v1': { ...served, after_sunset: 'gone' } }, calledAt(now - 3000));
    expect(found).toHaveLength(count);
    if (count > 0)
      expect(found[0]).toMatch(
        /^\/v1 is retired at 2026-11-22T11:00:00Z, in 23 h, at its sunset, and was last called 3 s ago/,
      );
    // It was announced before the edit.
    const gone = { ...served, after_sunset: 'gone' };
    expect(messages({ '/v1': gone }, { '/v1': { ...gone, info: 'https://example.com' } }, calledAt(now))).toEqual([]);
  });

  it('but not one that announces an end by itself, guard.notice ahead', () => {
    const after = { '/v1': { ...deprecated, sunset: '2027-01-05', after_sunset: 'gone' } };
    const guard = { quiet: '60d', notice: '30d' };
    expect(messages({ '/v1': deprecated }, after, calledAt(now - 3000), { guard })).toEqual([]);
    const earlier = { '/v1': { ...deprecated, sunset: '2026-12-10' } };
    expect(messages(earlier, after, calledAt(now - 3000), { guard })).toEqual([]);
  });

  it('asks for the calls of guard.quiet, and not of a longer guard.notice', () => {
    const after = { '/v1': { ...deprecated, sunset: '2026-12-21T12:00:00Z', after_sunset: 'gone' } };
    const guard = { quiet: '5d', notice: '30d' };
    // Its sunset is exactly guard.notice ahead.
    expect(messages({ '/v1': deprecated }, after, calledAt(now - 3000), { guard })).toEqual([]);
  });

  it('asks for the calls of all of guard.quiet if the edit does not announce the sunset, which was announced before', () => {
    const served = { ...deprecated, sunset: '2026-12-01', after_sunset: 'serve' };
    const after = { '/v1': { ...served, after_sunset: 'gone' } };
    const guard = { quiet: '60d', notice: '5d' };
    expect(messages({ '/v1': served }, after, calledAt(now - 3000), { guard })).toHaveLength(1);
  });

  it('unless guard.quiet is off', () => {
    const use = calledAt(now);
    const after = { '/v1': { ...ended, retired: true } };
    expect(messages({ '/v1': ended }, after, use, { guard: { quiet: 'off' } })).toEqual([]);
  });
});

describe('while calls may be missing', () => {
  const gap = 'Gateway gw-3 has not been heard for 40 s.';
  const use = calledAt(undefined, {}, { gaps: [{ code: 'gateway_silent', text: gap }] });
  const missing = 'calls in the last 1 day (guard.quiet) may be missing.';
  const tombstone = { ...ended, retired: true };

  it.each<[string, Routes, Routes, string]>([
    ['retires', { '/v1': ended }, { '/v1': tombstone }, `/v1 is retired, but ${missing} ${gap}`],
    [
      'ends a version by its date',
      { '/v1': ended },
      { '/v1': { ...ended, after_sunset: 'gone' } },
      `/v1 is retired, but ${missing} ${gap}`,
    ],
    [
      'removes a tombstone',
      { '/v1': tombstone },
      {},
      `/v1 is removed, but ${missing} ${gap} Its clients would get 404 instead of 410.`,
    ],
  ])('an edit that %s is refused', (_name, before, after, message) => {
    expect(messages(before, after, use)).toEqual([message]);
  });

  it.each<[string, Routes, Routes]>([
    ['adds a version', {}, { '/v1': upstream }],
    ['announces a sunset', { '/v1': deprecated }, { '/v1': ahead }],
    ['moves a sunset later', { '/v1': ahead }, { '/v1': { ...ahead, sunset: '2029-06-30' } }],
    ['brings a tombstone back', { '/v1': tombstone }, { '/v1': ended }],
    ['keeps a tombstone', { '/v1': tombstone }, { '/v1': tombstone, '/v2': upstream }],
  ])('an edit that %s is accepted', (_name, before, after) => expect(messages(before, after, use)).toEqual([]));

  it('a reason forces an edit as usual', () => {
    const force = { guard: { force: { '/v1': 'its last client is shut down' } } };
    expect(messages({ '/v1': ended }, { '/v1': tombstone }, use, force)).toEqual([]);
  });
});

describe('guard.force', () => {
  const before = file({ '/v1': ahead });
  const forced = (reason: string): Snapshot =>
    file({ '/v1': { ...ahead, retired: true } }, { guard: { force: { '/v1': reason } } });

  it('allows an edit with a new reason', () => expect(guardReload(before, forced('leaked'), never, now)).toEqual([]));

  it('allows one reload only', () => {
    const again = file({ '/v1': ahead }, { guard: { force: { '/v1': 'leaked' } } });
    expect(guardReload(again, forced('leaked'), never, now)).toHaveLength(1);
  });

  it('is suggested by a refusal, and the suggested line works', () => {
    const [refusal] = guardReload(before, file({ '/v1': { ...ahead, retired: true } }), never, now);
    expect(refusal?.force).toBe('guard: { force: { /v1: "<why this is right>" } }');
  });
});
