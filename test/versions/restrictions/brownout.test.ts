import { describe, expect, it } from 'vitest';
import { rootApi } from '../../../gateway/config/api.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot, Version } from '../../../gateway/config/snapshot.ts';
import type { ObservedHealth } from '../../../gateway/usage/evidence/targetHealth.ts';
import { otherClients, otherRoute, type UsageRow } from '../../../gateway/usage/usageRow.ts';
import { BrownoutScope } from '../../../gateway/versions/restrictions/brownout.ts';
import {
  type BrownoutEstimate,
  estimateBrownout,
  hasUsableTarget,
  reasonToSkip,
  SuccessorWatch,
} from '../../../gateway/versions/restrictions/brownoutConditions.ts';
import { hostOf } from '../../support/hostOf.ts';
import { readLedger } from '../../support/readLedger.ts';
import { openLedger } from '../../usage/ledger/ledgerFixture.ts';
import { dayMs, noon, row } from '../../usage/model.ts';
import { versionOf } from '../lifecycle/versions.ts';

const upstream = 'http://127.0.0.1:3001';

function file(window: object, settings: object = {}, contract?: string): Snapshot {
  const brownouts = [{ at: '2026-11-18T14:00Z', for: '1h', ...window }];
  const v1 = { upstream, deprecation: '2026-01-01', brownouts, ...(contract && { contract }) };
  return snapshotFrom(
    { routes: { '/v1': v1, '/v2': upstream }, ...settings },
    `${import.meta.dirname}/../../fixtures/contracts`,
  );
}

function scopeOf(snapshot: Snapshot, name = 'v1'): BrownoutScope {
  const version = versionOf(snapshot, name);
  const [window] = version.brownouts;
  if (window === undefined) throw new Error('no brownout');
  return new BrownoutScope(version, window, rootApi(snapshot).brownout.spared);
}

const names = Array.from({ length: 10_000 }, (_one, at) => `x-api-key:#${at.toString(16).padStart(16, '0')}`);

describe('the share of clients', () => {
  it.each([0, 0.01, 0.25, 0.5, 0.75, 1])('is %d of 10,000 clients, within 2%%', (share) => {
    const scope = scopeOf(file({ clients: `${share * 100}%` }));
    for (const prefix of ['', 'x-client-id:', 'user-agent:a-long-name-of-a-product/']) {
      const refused = names.filter((name) => scope.includesClient(prefix + name)).length;
      expect(Math.abs(refused / names.length - share)).toBeLessThanOrEqual(share === 0 || share === 1 ? 0 : 0.02);
    }
  });

  it('includes the clients of a smaller share, in any brownout of the version', () => {
    const small = scopeOf(file({ clients: '10%' }));
    const large = scopeOf(file({ clients: '30%', at: '2026-11-19T14:00Z' }));
    const refused = names.filter((name) => small.includesClient(name));
    expect(refused.length).toBeGreaterThan(800);
    expect(refused.filter((name) => !large.includesClient(name))).toEqual([]);
  });

  it('has other clients in another version', () => {
    const snapshot = file({ clients: '50%' });
    const version = versionOf(snapshot, 'v1');
    const other = new BrownoutScope({ ...version, name: 'v3' } as Version, version.brownouts[0] as never, []);
    const one = scopeOf(snapshot);
    const both = names.filter((name) => one.includesClient(name) && other.includesClient(name)).length;
    expect(both / names.length).toBeGreaterThan(0.2);
    expect(both / names.length).toBeLessThan(0.3);
  });
});

describe('routes', () => {
  it.each<[string, string, boolean]>([
    ['GET', '/drinks/7', true],
    ['HEAD', '/drinks/7', true],
    ['GET', '/drinks/{}', true],
    ['GET', '/drinks/{id}', true],
    ['GET', '/drinks/7/', true],
    ['GET', '/drinks/{}/', true],
    ['HEAD', '/menus/7.json/', true],
    ['POST', '/orders/', true],
    ['GET', '/drinks/7//', false],
    ['GET', '/drinks/', false],
    ['POST', '/drinks/7', false],
    ['GET', '/drinks', false],
    ['GET', '/drinks/7/more', false],
    ['GET', '/drinks/mine', false],
    ['GET', '/drinks/7.json', false],
    ['GET', '/menus/7.json', true],
    ['GET', '/menus/{}.json', true],
    ['GET', '/menus/7', false],
    ['POST', '/orders', true],
    ['HEAD', '/orders', false],
  ])('%s %s without a contract: %s', (method, path, expected) => {
    const scope = scopeOf(file({ routes: ['GET /drinks/{id}', 'GET /menus/{id}.json', 'POST /orders'] }));
    expect(scope.includesRoute(method, path)).toBe(expected);
  });

  it('are those of the contract', () => {
    const scope = scopeOf(file({ routes: ['GET /drinks/{any}'] }, {}, 'v1.yaml'));
    expect(scope.includesRoute('GET', '/drinks/7')).toBe(true);
    expect(scope.includesRoute('GET', '/drinks/7/')).toBe(true);
    expect(scope.includesRoute('GET', '/drinks')).toBe(false);
    expect(scope.includesRoute('GET', '/drinks/')).toBe(false);
  });
});

describe('the estimate', () => {
  const ledger = (more: readonly UsageRow[] = []) => {
    const { ledger } = openLedger();
    ledger.add([
      ...more,
      row({ client: 'x-client-id:a', requests: 60 }),
      row({ client: 'x-client-id:b', requests: 30, route: 'POST /orders' }),
      row({ client: otherClients, requests: 10, route: otherRoute }),
      row({ client: 'x-client-id:a', requests: 500, first: noon - 8 * dayMs }),
      row({ client: 'x-client-id:a', version: 'v2', requests: 100 }),
    ]);
    return readLedger(ledger);
  };
  const estimate = (window: object, settings = {}) => {
    const snapshot = file(window, settings);
    const version = versionOf(snapshot, 'v1');
    return estimateBrownout(ledger(), snapshot, version, version.brownouts[0] as never, noon + 1, undefined);
  };

  it('adds up the requests of the last week', async () => {
    expect(await estimate({})).toEqual({
      missing: [expect.objectContaining({ code: 'ledger_short', since: noon, until: noon + 7 * dayMs })],
      requests: 100,
      unnamed: 100,
      refused: 100,
      allRequests: 200,
    });
  });
  it('divides by the requests to the listed versions of the API', async () => {
    const alone = file({});
    const host = hostOf(alone, { '/pay': file({}) });
    const version = versionOf(host, 'v1');
    const more = ['', 'v9', 'pay/v1', 'pay/v9'].map((name) =>
      row({ client: 'x-client-id:a', version: name, requests: 2_000_000 }),
    );
    const found = await estimateBrownout(
      ledger(more),
      host,
      version,
      version.brownouts[0] as never,
      noon + 1,
      undefined,
    );
    expect(found).toEqual(await estimate({}));
  });
  it('is limited to the clients and the routes', async () => {
    expect(await estimate({ clients: '0%' })).toMatchObject({ refused: 0 });
    expect(await estimate({ routes: ['POST /orders'] })).toMatchObject({ refused: 40 });
  });
  it('leaves out spared clients, by their name in the ledger', async () => {
    const spared = { brownout: { spare: ['x-client-id:a'] }, retire: { ignore_clients: ['b'] } };
    expect(await estimate({}, spared)).toMatchObject({ requests: 100, unnamed: 10, refused: 10 });
  });
});

const none = { requests: 0, unnamed: 0, refused: 0, allRequests: 0 };

it.each<[Partial<BrownoutEstimate>, RegExp | undefined]>([
  [{ requests: 100, unnamed: 5, refused: 20, allRequests: 100 }, undefined],
  [none, undefined],
  [
    { ...none, missing: [{ code: 'ledger_short', text: 'The usage ledger begins at 2026.' }] },
    /^requests of the last week may be missing: The usage ledger begins at 2026$/,
  ],
  [
    { requests: 100, unnamed: 6, refused: 0, allRequests: 100 },
    /made 6% of the requests of the last week, more than brownout.unnamed \(5%\)/,
  ],
  [
    { requests: 100, unnamed: 0, refused: 21, allRequests: 100 },
    /refuse about 21% of the requests to all versions, more than brownout.max_share \(20%\)/,
  ],
])('%j is skipped: %s', (estimate, expected) => {
  const reason = reasonToSkip({ ...none, missing: [], ...estimate }, { unnamed: 0.05, maxShare: 0.2 });
  if (expected === undefined) expect(reason).toBeUndefined();
  else expect(reason).toMatch(expected);
});

it.each<[boolean, ObservedHealth['health'][]]>([
  [true, ['healthy']],
  [true, ['failing', 'healthy']],
  [true, ['failing', 'not tried']],
  [false, ['failing']],
  [false, ['ejected', 'failing', 'removed']],
  [false, []],
])('clients can move to the successor: %s, if its targets are %j', (expected, healths) => {
  const target = { url: upstream, inFlight: 0, connections: 0, reachable: undefined, ejectedUntil: undefined };
  const targets = healths.map((health) => ({ ...target, health }));
  const report = { versions: [{ name: 'v2', inFlight: 0, waiting: 0, lastInFlight: undefined, targets }] };
  expect(hasUsableTarget(report, 'v2')).toBe(expected);
});

describe('a successor', () => {
  /** Samples every 5 s. `errors(second)`: the share of 10 requests a second that fail. @returns when it fails, s */
  function failsAfter(errorsOf: (second: number) => number, isHealthy = (_second: number) => true): number | undefined {
    const watch = new SuccessorWatch();
    let [requests, errors] = [1000, 0];
    for (let second = 0; second <= 600; second += 1) {
      requests += 10;
      errors += 10 * errorsOf(second);
      if (second % 5 === 0 && watch.add(noon + second * 1000, { requests, errors }, isHealthy(second)) !== undefined)
        return second;
    }
    return undefined;
  }

  it.each<[string, number, number, (second: number) => number]>([
    ['that fails completely', 60, 75, (second) => (second > 100 ? 1 : 0)],
    ['that fails at 6%', 60, 100, (second) => (second > 100 ? 0.06 : 0)],
  ])('%s is found', (_name, least, most, errorsOf) => {
    const after = (failsAfter(errorsOf) ?? Number.POSITIVE_INFINITY) - 100;
    expect(after).toBeGreaterThanOrEqual(least);
    expect(after).toBeLessThanOrEqual(most);
  });

  it('without a healthy target is found after a minute', () => {
    expect(
      failsAfter(
        () => 0,
        (second) => second < 100,
      ),
    ).toBe(160);
  });

  it.each<[string, (second: number) => number]>([
    ['works', () => 0],
    ['fails at 5%', () => 0.05],
    ['fails for 20 s in every two minutes', (second) => (second % 120 < 20 ? 1 : 0)],
    ['fails once', (second) => (second === 100 ? 1 : 0)],
  ])('that %s goes on', (_name, errorsOf) => expect(failsAfter(errorsOf)).toBeUndefined());

  it('without requests goes on, and so does one whose counters start again', () => {
    const watch = new SuccessorWatch();
    for (let at = 0; at < 100; at += 1)
      expect(watch.add(noon + at * 5000, { requests: 50 - Math.min(at, 20), errors: 50 }, true)).toBeUndefined();
  });
});
