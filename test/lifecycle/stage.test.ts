import { describe, expect, it } from 'vitest';
import { stageOf } from '../../gateway/lifecycle/stage.ts';
import { snapshotOf, versionOf } from './versions.ts';

const deprecation = '2026-06-30';
const sunset = '2028-06-30T23:59:59Z';

const deprecatedAt = Date.parse('2026-06-30T00:00:00.000Z');
const sunsetAt = Date.parse('2028-06-30T23:59:59.000Z');
const longAgo = 0;
const farAhead = Date.parse('9999-01-01');

const none = {};
const deprecated = { deprecation };
const served = { deprecation, sunset };
const gone = { deprecation, sunset, after_sunset: 'gone' };
const atOnce = { deprecation, sunset: deprecation };
const tombstone = { retired: true };
const datedTombstone = { retired: true, deprecation, sunset };

describe.each([
  ['without dates', none, longAgo, 'active'],
  ['without dates', none, farAhead, 'active'],

  ['with a deprecation', deprecated, longAgo, 'announced'],
  ['with a deprecation', deprecated, deprecatedAt - 1, 'announced'],
  ['with a deprecation', deprecated, deprecatedAt, 'deprecated'],
  ['with a deprecation', deprecated, deprecatedAt + 1, 'deprecated'],
  ['with a deprecation and no sunset', deprecated, farAhead, 'deprecated'],

  ['with both dates', served, deprecatedAt - 1, 'announced'],
  ['with both dates', served, deprecatedAt, 'deprecated'],
  ['with both dates', served, sunsetAt - 1, 'deprecated'],
  ['with both dates', served, sunsetAt, 'sunset'],
  ['with both dates', served, farAhead, 'sunset'],

  ['that is gone at its sunset', gone, deprecatedAt - 1, 'announced'],
  ['that is gone at its sunset', gone, sunsetAt - 1, 'deprecated'],
  ['that is gone at its sunset', gone, sunsetAt, 'retired'],
  ['that is gone at its sunset', gone, farAhead, 'retired'],

  ['deprecated and sunset in one', atOnce, deprecatedAt - 1, 'announced'],
  ['deprecated and sunset in one', atOnce, deprecatedAt, 'sunset'],
  ['deprecated and gone in one', { ...atOnce, after_sunset: 'gone' }, deprecatedAt, 'retired'],

  ['that is a tombstone', tombstone, longAgo, 'retired'],
  ['that is a tombstone', tombstone, farAhead, 'retired'],
  ['that is a tombstone with dates ahead', datedTombstone, longAgo, 'retired'],
  ['that is a tombstone with dates behind', datedTombstone, farAhead, 'retired'],
])('a version %s', (_name, route, now, stage) => {
  it(`is ${stage} at ${new Date(now).toISOString()}`, () =>
    expect(stageOf(versionOf(snapshotOf({ '/v1': route }), 'v1'), now)).toBe(stage));
});

it.each([
  ['2026-06-30T00:00:00Z', '2026-06-30T00:00:00.000Z'],
  ['2026-06-30T02:00:00+02:00', '2026-06-30T00:00:00.000Z'],
  ['2026-06-29T19:00:00-05:00', '2026-06-30T00:00:00.000Z'],
])('the date %s is the instant %s', (written, instant) => {
  const version = versionOf(snapshotOf({ '/v1': { deprecation: written } }), 'v1');
  expect(stageOf(version, Date.parse(instant) - 1)).toBe('announced');
  expect(stageOf(version, Date.parse(instant))).toBe('deprecated');
});
