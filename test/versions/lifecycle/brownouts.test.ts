import { describe, expect, it } from 'vitest';
import { acceptedFrom, acceptedRecord, configHash } from '../../../gateway/config/acceptedConfig.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { brownoutAt, brownoutKey, nextBrownout } from '../../../gateway/versions/lifecycle/brownouts.ts';
import { guardReload } from '../../../gateway/versions/lifecycle/reloadGuard.ts';
import { versionOf } from './versions.ts';

const now = Date.parse('2027-03-01T00:00:00Z');

function file(brownouts: readonly object[], settings: object = {}): Snapshot {
  const upstream = 'http://127.0.0.1:3001';
  const routes = { '/v1': { upstream, deprecation: '2027-01-01', sunset: '2028-01-01', brownouts }, '/v2': upstream };
  return snapshotFrom({ routes, ...settings });
}

function messages(before: Snapshot, after: Snapshot, at = now): string[] {
  return guardReload(before, after, { calls: () => undefined }, at).map(({ message }) => message);
}

const soon = { at: '2027-03-02T14:00Z', for: '1h' };
const past = { at: '2027-02-02T14:00Z', for: '1h' };
const far = { at: '2027-04-02T14:00Z', for: '1h' };

describe('the guard accepts', () => {
  it.each<[string, object[], object[], object?]>([
    ['a brownout that is announced early enough', [], [{ at: '2027-03-15T00:00Z', for: '1h' }]],
    ['any brownout if the notice is off', [], [soon], { brownout: { notice: 'off' } }],
    ['a shorter notice', [], [soon], { brownout: { notice: '1d' } }],
    ['the removal of a brownout', [soon, far], [far]],
    ['a shorter brownout', [soon], [{ ...soon, for: '30m' }]],
    ['a brownout that begins later and ends at the same time', [soon], [{ at: '2027-03-02T14:15Z', for: '45m' }]],
    ['fewer clients', [soon], [{ ...soon, clients: '10%' }]],
    ['fewer routes', [soon], [{ ...soon, routes: ['GET /a'] }]],
    ['a brownout that moves later, if that is early enough', [far], [{ ...far, at: '2027-04-03T14:00Z' }]],
    ['another brownout before one that stays', [far], [{ at: '2027-03-20T14:00Z', for: '1h' }, far]],
    ['more clients, if that is early enough', [{ ...far, clients: '10%' }], [far]],
    ['an edit of a brownout that is over', [], [{ at: '2027-02-02T14:00Z', for: '1h' }]],
  ])('%s', (_name, before, after, settings) => expect(messages(file(before), file(after, settings))).toEqual([]));
});

describe('the guard refuses', () => {
  it('a brownout within a notice of some hours, and names the notice', () => {
    const edit = [{ at: '2027-03-01T03:00Z', for: '1h' }];
    expect(messages(file([]), file(edit, { brownout: { notice: '5h' } }))).toEqual([
      'The brownout of /v1 at 2027-03-01T03:00:00Z is less than brownout.notice (5 h) ahead.',
    ]);
  });

  it.each<[string, object[], object[], RegExp]>([
    ['a brownout that begins too soon', [], [soon], /at 2027-03-02T14:00:00Z is less than brownout.notice \(14 days\)/],
    ['a brownout that contains the present', [], [{ at: '2027-02-28T23:00Z', for: '2h' }], /is less than/],
    [
      'a brownout that moves earlier',
      [far],
      [{ ...far, at: '2027-04-01T14:00Z' }],
      /2027-04-02T14:00:00Z moves to 2027-04-01T14:00:00Z, which is earlier/,
    ],
    ['a brownout that moves later within the notice', [soon], [{ ...soon, at: '2027-03-03T14:00Z' }], /is less than/],
    [
      'a longer brownout',
      [far],
      [{ ...far, for: '61m' }],
      /becomes longer: it ends at 2027-04-02T15:01:00Z instead of 2027-04-02T15:00:00Z/,
    ],
    [
      'more clients',
      [{ ...soon, clients: '10%' }],
      [{ ...soon, clients: '11%' }],
      /gets more clients or routes, and is less/,
    ],
    [
      'more routes',
      [{ ...soon, routes: ['GET /a'] }],
      [{ ...soon, routes: ['GET /a', 'GET /b'] }],
      /more clients or routes/,
    ],
    ['all routes', [{ ...soon, routes: ['GET /a'] }], [soon], /more clients or routes/],
  ])('%s', (_name, before, after, message) =>
    expect(messages(file(before), file(after))).toEqual([expect.stringMatching(message)]),
  );

  it('nothing that is forced', () => {
    expect(messages(file([]), file([soon], { guard: { force: { '/v1': 'agreed with all clients' } } }))).toEqual([]);
  });

  it('the same by the record of the last start', () => {
    const record = acceptedFrom(JSON.parse(JSON.stringify(acceptedRecord(file([{ ...soon, routes: ['GET /a'] }])))));
    if (record === undefined) throw new Error('the record is invalid');
    const after = file([{ ...soon, for: '2h', routes: ['GET /a'] }]);
    const refusals = guardReload(record, after, { calls: () => undefined }, now);
    expect(refusals.map(({ message }) => message)).toEqual([expect.stringMatching(/becomes longer/)]);
  });
});

describe('clients that are no longer spared', () => {
  const spare = (...clients: string[]) => ({ brownout: { spare: clients } });
  const lost = (before: Snapshot, after: Snapshot) => messages(before, after);
  const refusal = (client: string) => [
    `The brownout of /v1 at 2027-03-02T14:00:00Z no longer spares ${client}, and is less than brownout.notice (14 days) ahead. List the client in brownout.spare until then, or remove the brownout.`,
  ];

  it.each<[string, object, object, object]>([
    ['a client of brownout.spare', spare('acme', 'shop'), spare('shop'), soon],
    ['a client of retire.ignore_clients', { retire: { ignore_clients: ['acme'] } }, {}, soon],
    ['one that is replaced by another', spare('acme'), spare('acme2'), soon],
  ])('are refused: %s', (_name, before, after, window) =>
    expect(lost(file([window], before), file([window], after))).toEqual(refusal('acme')),
  );

  it.each<[string, Snapshot, Snapshot]>([
    ['far ahead', file([far], spare('acme')), file([far])],
    ['without a notice', file([soon], spare('acme')), file([soon], { brownout: { notice: 'off' } })],
    ['in a brownout that is over', file([past], spare('acme')), file([past])],
    ['in a brownout that is removed', file([soon], spare('acme')), file([])],
    ['but are ignored now', file([soon], spare('acme')), file([soon], { retire: { ignore_clients: ['acme'] } })],
    ['and with more spared clients', file([soon], spare('acme')), file([soon], spare('shop', 'acme'))],
    ['but with a reason', file([soon], spare('acme')), file([soon], { guard: { force: { '/v1': 'agreed' } } })],
  ])('are accepted %s', (_name, before, after) => expect(lost(before, after)).toEqual([]));

  it('are refused in a running brownout, by the record of the last start', () => {
    const running = { at: '2027-02-28T23:30Z', for: '1h' };
    const record = acceptedFrom(JSON.parse(JSON.stringify(acceptedRecord(file([running], spare('acme'))))));
    if (record === undefined) throw new Error('the record is invalid');
    const refusals = guardReload(record, file([running]), { calls: () => undefined }, now);
    expect(refusals.map(({ message }) => message)).toEqual([expect.stringContaining('no longer spares acme')]);
  });

  it('have a waiver until the end of the brownout', () => {
    const waived = (until: string) => {
      const upstream = 'http://127.0.0.1:3001';
      const waivers = [{ client: 'acme', until, reason: 'contract 4711' }];
      const dates = { deprecation: '2027-01-01', sunset: '2027-03-05' };
      return snapshotFrom({ routes: { '/v1': { upstream, ...dates, brownouts: [soon], waivers }, '/v2': upstream } });
    };
    expect(lost(file([soon], spare('acme')), waived('2027-09-01')).join()).not.toContain('no longer spares');
  });

  it('make another configuration for a fleet', () => {
    expect(configHash(file([soon]))).not.toBe(configHash(file([soon], spare('acme'))));
    expect(configHash(file([]))).toBe(configHash(file([], spare('acme'))));
  });
});

it('a record without brownouts is that of earlier releases', () => {
  const record = acceptedRecord(file([]));
  expect(JSON.stringify(record)).not.toContain('brownouts');
  expect(acceptedFrom(record)?.sortedVersions.map(({ brownouts }) => brownouts)).toEqual([[], []]);
  expect(configHash(file([]))).not.toBe(configHash(file([soon])));
});

it('finds the brownout of an instant, to the millisecond', () => {
  const version = versionOf(file([far, soon]), 'v1');
  const { brownouts } = version;
  const [start, end] = [Date.parse('2027-03-02T14:00:00Z'), Date.parse('2027-03-02T15:00:00Z')];
  const found = [start - 1, start, end - 1, end].map((at) => brownoutAt(brownouts, at)?.at);
  expect(found).toEqual([undefined, start, start, undefined]);
  expect(brownoutKey('v1', { at: start })).toBe('v1 2027-03-02T14:00:00Z');
  const none = new Map<string, number>();
  expect(nextBrownout(version, none, start)?.at).toBe(Date.parse('2027-04-02T14:00:00Z'));
  expect(nextBrownout(version, new Map([['v1 2027-04-02T14:00:00Z', start]]), start)).toBeUndefined();
  expect(nextBrownout(version, none, end + 40 * 86_400_000)).toBeUndefined();
});
