import { describe, expect, it } from 'vitest';
import { Target } from '../../../gateway/proxy/upstream/target.ts';
import {
  ConnectionLoad,
  guaranteedPlaces,
  mayTakePlace,
  TargetLimits,
  type TargetUse,
  TargetUses,
} from '../../../gateway/proxy/upstream/targetLimits.ts';
import { Random } from '../../support/random.ts';

const tls = { ca: undefined, servername: undefined, verify: true };
const target = (): Target => new Target('http://127.0.0.1:3001', tls, undefined, 0);

it.each([
  // own, free, limit
  [0, 1, 8, true],
  [0, 0, 8, false],
  [1, 3, 8, true],
  [1, 2, 8, false],
  [7, 3, 8, true],
  [1, 1, 3, true],
  [1, 1, 4, false],
  [0, -1, 4, false],
])('a connection with %i places may take one of %i free ones of %i: %s', (own, free, limit, expected) =>
  expect(mayTakePlace(own, free, limit)).toBe(expected),
);

it.each([
  [2000, 2, 500],
  [2000, 3, 333],
  [3, 2, 0],
  [1, 2, 0],
])('%i places shared by %i versions: %i are kept for each', (limit, count, expected) =>
  expect(guaranteedPlaces(limit, count)).toBe(expected),
);

describe('requests at a target', () => {
  it.each([
    [1, 40, 1],
    [2, 40, 2],
    [3, 40, 3],
    [4, 7, 2],
    [5, 3, 2],
    [6, 1, 3],
  ])(
    'never exceed the limit, and leave room for every version and every idle connection (seed %i)',
    (seed, limit, count) => {
      const source = new Random(seed);
      const random = (below: number): number => source.below(below);
      const shared = target();
      const all = Array.from({ length: count }, () => new TargetUses());
      const guaranteed = guaranteedPlaces(limit, count);
      const limits = all.map((uses) => {
        const others = all.filter((one) => one !== uses).map((one) => ({ use: one.of(shared), guaranteed }));
        return new TargetLimits(limit, uses, new Map([[shared, others]]));
      });
      const connections = Array.from({ length: 6 }, () => new ConnectionLoad());
      const open: { readonly use: TargetUse; readonly connection: ConnectionLoad | undefined }[] = [];
      for (let step = 0; step < 3_000; step += 1) {
        const version = random(count);
        const connection = connections[random(8)];
        const use = all[version]?.of(shared) as TargetUse;
        // Requests come more often than they end, so that the limit is usually reached.
        if (random(3) > 0) {
          if (limits[version]?.hasRoom(shared, connection) !== true) continue;
          shared.inFlight += 1;
          use.inFlight += 1;
          connection?.add(use, 1);
          open.push({ use, connection });
        } else {
          const [ended] = open.splice(random(open.length), 1);
          if (ended === undefined) continue;
          shared.inFlight -= 1;
          ended.use.inFlight -= 1;
          ended.connection?.add(ended.use, -1);
        }
        expect(shared.inFlight).toBeLessThanOrEqual(limit);
        for (const [index, one] of limits.entries()) {
          const hasItsPart = (all[index] as TargetUses).of(shared).inFlight >= guaranteed;
          expect(hasItsPart || one.hasRoom(shared, undefined)).toBe(true);
          // A connection without a request gets any place that is free.
          expect(one.hasRoom(shared, new ConnectionLoad())).toBe(one.freeAt(shared) > 0);
        }
        // Connections with several requests leave a quarter of the limit to others.
        const ofBusy = open.filter(({ connection: one }) => {
          const requests = open.filter((other) => other.connection === one).length;
          return one !== undefined && requests > 1;
        }).length;
        expect(ofBusy).toBeLessThanOrEqual(limit - Math.floor(limit / 4) + connections.length);
      }
      expect(open.length).toBeGreaterThan(0);
    },
  );

  it('are counted for a version at each of its targets, and forgotten with the target', () => {
    const [first, second] = [target(), target()];
    const uses = new TargetUses();
    const connection = new ConnectionLoad();
    for (const one of [first, first, second]) connection.add(uses.of(one), 1);
    expect(uses.inFlightOn(connection)).toBe(3);
    expect(uses.of(first)).toBe(uses.of(first));
    uses.keepOnly([second]);
    expect(uses.inFlightOn(connection)).toBe(1);
  });
});
