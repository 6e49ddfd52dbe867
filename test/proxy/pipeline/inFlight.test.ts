import { expect, it } from 'vitest';
import { type InFlight, InFlightList, VersionRequests } from '../../../gateway/proxy/pipeline/inFlight.ts';

function exchanges(count: number): InFlight[] {
  return Array.from({ length: count }, () => ({
    inFlightIndex: -1,
    versionName: 'v1',
    chosenTarget: undefined,
    counted: undefined,
    status: 0,
    countedSoFar: () => {
      throw new Error('not counted here');
    },
    identify: () => '',
    isWaived: () => false,
    endIfEndless: () => {},
    cut: () => {},
  }));
}

it('moves the recorded instants with a clock that is set forward', () => {
  const requests = new VersionRequests();
  requests.clockWasSet(5);
  expect([requests.lastInFlight(9), requests.lastRefused]).toEqual([undefined, undefined]);
  const [exchange] = exchanges(1) as [InFlight];
  requests.addInFlight(exchange);
  requests.removeInFlight(exchange, 10);
  requests.lastRefused = 20;
  requests.clockWasSet(5);
  expect([requests.lastInFlight(99), requests.lastRefused]).toEqual([15, 25]);
});

it('contains the same exchanges as a Set after any sequence of additions and deletions', () => {
  const all = exchanges(20);
  const [list, set] = [new InFlightList(), new Set<InFlight>()];
  let seed = 7;
  for (let step = 0; step < 5_000; step += 1) {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    const exchange = all[(seed >> 8) % all.length] as InFlight;
    if ((seed >> 16) % 2 === 0) {
      list.add(exchange);
      set.add(exchange);
    } else {
      expect(list.delete(exchange)).toBe(set.delete(exchange));
    }
    expect(list.size).toBe(set.size);
  }
  expect(new Set(list)).toEqual(set);
  expect(all.filter(({ inFlightIndex }) => inFlightIndex !== -1).length).toBe(set.size);
});

it.each([
  ['the visited exchange', (at: number) => at],
  ['one that was visited before', (at: number) => (at + 1) % 10],
  ['one that is visited later', (at: number) => (at + 9) % 10],
])('an iteration visits every exchange that stays, while it deletes %s', (_which, other) => {
  const all = exchanges(10);
  const list = new InFlightList();
  for (const exchange of all) list.add(exchange);
  const visited = new Set<InFlight>();
  const deleted = new Set<InFlight>();
  for (const exchange of list) {
    expect(deleted).not.toContain(exchange);
    visited.add(exchange);
    const victim = all[other(all.indexOf(exchange))] as InFlight;
    if (visited.size % 3 === 0 && list.delete(victim)) deleted.add(victim);
  }
  expect(deleted.size).toBeGreaterThan(1);
  for (const exchange of all) if (!deleted.has(exchange)) expect(visited).toContain(exchange);
  expect(new Set(list)).toEqual(new Set(all.filter((exchange) => !deleted.has(exchange))));
});
