import { describe, expect, it } from 'vitest';
import {
  FleetView,
  fleetFacts,
  ledgerGaps,
  stopBlockers,
  unregisteredBlockers,
  unregisteredGaps,
} from '../../../gateway/operate/fleet/fleetView.ts';
import type { GatewayRow } from '../../../gateway/operate/fleet/membership.ts';
import { rfc3339 } from '../../../gateway/shared/instant.ts';
import { activeLoad, gatewayRow, retiredLoad } from './gatewayRow.ts';

const now = 1_000_000_000;
const silentAfter = 10_000;
const day = 86_400_000;

/** A view 0 ms after its report, and a function that advances its clock. */
function viewOf(rows: readonly GatewayRow[], unheardAddresses: readonly string[] = []) {
  let time = 0;
  const view = new FleetView(silentAfter, () => time);
  view.update({ now, rows, unheardAddresses });
  const pass = (ms: number): void => {
    time += ms;
  };
  return { view, pass };
}

const statesOf = (view: FleetView) => view.instances.map(({ name, state }) => `${name} ${state}`);

describe('the state of a gateway', () => {
  it('is unknown before the first answer of the store', () => {
    const view = new FleetView(silentAfter);
    expect(view.problem).toBe('no answer yet');
    expect(view.instances).toEqual([]);
  });

  it.each([
    ['heard', gatewayRow('gw', now - silentAfter)],
    ['silent', gatewayRow('gw', now - silentAfter - 1)],
    ['silent', gatewayRow('gw', now + silentAfter + 1)],
    ['left', gatewayRow('gw', now, { leftAt: now })],
    ['gone', gatewayRow('gw', now - day, { goneAt: now - 1 })],
  ])('is %s', (state, row) => {
    expect(viewOf([row]).view.instances).toMatchObject([{ name: 'gw', state }]);
  });

  it('changes between two answers of the store', () => {
    const { view, pass } = viewOf([gatewayRow('a', now - 4_000), gatewayRow('b', now)]);
    pass(6_001);
    expect(statesOf(view)).toEqual(['a silent', 'b heard']);
  });

  it('stays as it was while the store does not answer', () => {
    const { view, pass } = viewOf([gatewayRow('a', now)]);
    view.fail('connection refused');
    pass(60_000);
    expect(view.problem).toBe('connection refused');
    expect(statesOf(view)).toEqual(['a heard']);
  });

  it('is not trusted if no report arrives, even without an error', () => {
    const { view, pass } = viewOf([gatewayRow('a', now)]);
    pass(silentAfter + 1);
    expect(view.problem).toBe('no answer for 10 s');
    view.update({ now, rows: [], unheardAddresses: [] });
    expect(view.problem).toBeUndefined();
  });

  it('is as old as the question to the store, however late the report is read', () => {
    const { view, pass } = viewOf([gatewayRow('a', now)]);
    pass(60_000);
    view.update({ now: now + 1_000, rows: [gatewayRow('a', now + 1_000)], unheardAddresses: [] }, 1_000);
    expect(view.problem).toBe('no answer for 59 s');
  });

  it('is kept if the store was set back to a time before the gateway started', () => {
    const rows = ['a', 'b', 'c'].map((name) => gatewayRow(name, now));
    const { view, pass } = viewOf([...rows, gatewayRow('d', now, { leftAt: now })]);
    pass(2_000);
    const restored = [gatewayRow('a', now + 2_000), gatewayRow('b', now - day, { leftAt: now - day })];
    view.update({ now: now + 2_000, rows: restored, unheardAddresses: [] });
    expect(statesOf(view)).toEqual(['a heard', 'b heard', 'c heard']);
    pass(8_001);
    expect(statesOf(view)).toEqual(['a heard', 'b silent', 'c silent']);
    const back = rows.map((row) => ({ ...row, heard: now + 10_000 }));
    view.update({ now: now + 10_000, rows: back, unheardAddresses: [] });
    expect(statesOf(view)).toEqual(['a heard', 'b heard', 'c heard']);
    view.update({
      now: now + 10_000,
      rows: back.map((row) => ({ ...row, leftAt: now + 10_000 })),
      unheardAddresses: [],
    });
    expect(statesOf(view)).toEqual(['a left', 'b left', 'c left']);
  });

  it('is gone once it was forgotten after the store was set back', () => {
    const { view } = viewOf([gatewayRow('a', now)]);
    const update = (goneAt: number) =>
      view.update({ now, rows: [gatewayRow('a', now - day, { goneAt })], unheardAddresses: [] });
    update(now - 1);
    expect(statesOf(view)).toEqual(['a heard']);
    update(now + 1);
    expect(statesOf(view)).toEqual(['a gone']);
  });

  it('depends on the silent_after of the gateway', () => {
    const rows = [5_000, 60_000, undefined].map((silentAfter) => gatewayRow('a', now - 8_000, { silentAfter }));
    expect(statesOf(viewOf(rows).view)).toEqual(['a silent', 'a heard', 'a heard']);
  });

  it('is silent for an address from which no gateway was heard', () => {
    expect(viewOf([], ['10.0.0.9']).view.instances).toMatchObject([
      { name: '10.0.0.9', state: 'silent', heardAgo: undefined },
    ]);
  });

  it('marks the configurations that differ from the most common one of the heard gateways', () => {
    const { view } = viewOf([
      gatewayRow('a', now, { config: '1111' }),
      gatewayRow('b', now, { config: '2222' }),
      gatewayRow('c', now, { config: '2222' }),
      gatewayRow('d', now - day, { config: '1111' }),
      gatewayRow('e', now - day, { config: '1111' }),
    ]);
    expect(view.instances.filter(({ hasOtherConfig }) => hasOtherConfig).map(({ name }) => name)).toEqual(['a']);
  });

  it('marks the older one of two equally common configurations', () => {
    const { view } = viewOf([
      gatewayRow('a', now, { config: '1111', configSince: 1 }),
      gatewayRow('b', now, { config: '2222', configSince: 2 }),
    ]);
    expect(view.instances.filter(({ hasOtherConfig }) => hasOtherConfig).map(({ name }) => name)).toEqual(['a']);
  });
});

describe('what blocks the stop of a version', () => {
  const v1 = { version: 'v1', addresses: ['v1.internal:3001'], isAdapted: false };
  const { targets: _targets, ...ofEarlierRelease } = activeLoad;
  const stopReasons = (view: FleetView) => stopBlockers(view, v1).map(({ text }) => text);
  const retired = (name: string, heard: number, idleSince: number | null, inFlight = 0) =>
    gatewayRow(name, heard, { versions: { v1: retiredLoad(idleSince, inFlight) } });

  it.each<[string, GatewayRow[], string[], string[]]>([
    ['no gateway at all', [], [], ['no gateway was heard yet']],
    [
      'a gateway that serves it',
      [retired('a', now, 1), gatewayRow('b', now, { versions: { v1: activeLoad } })],
      [],
      ['b still serves it'],
    ],
    ['requests in flight', [retired('a', now, null, 3)], [], ['a has 3 requests in flight']],
    ['a worker that does not answer', [retired('a', now, null)], [], ['a has a worker that does not answer']],
    ['a silent gateway', [retired('a', now, 1), retired('b', now - 41_000, 1)], [], ['b not heard for 41 s']],
    ['a gateway that was never heard', [retired('a', now, 1)], ['10.0.0.9'], ['a gateway at 10.0.0.9 was never heard']],
    [
      'a gateway that was not heard since the last one became idle',
      [retired('a', now - 500, 1), retired('b', now, now - 500)],
      [],
      ['waiting for the next heartbeat of a'],
    ],
    ['its own first idle heartbeat', [retired('a', now, now)], [], ['waiting for the next heartbeat of a']],
    [
      'another version with the same backend',
      [
        retired('a', now, 1),
        gatewayRow('b', now, { versions: { v2: { ...activeLoad, targets: ['v2.internal:80', 'v1.internal:3001'] } } }),
      ],
      [],
      ['b uses v1.internal:3001 for /v2'],
    ],
    [
      'another version with a backend that only another gateway has for it',
      [
        gatewayRow('a', now, { versions: { v1: { ...retiredLoad(1), targets: ['v1b.internal:80'] } } }),
        gatewayRow('b', now, { versions: { v2: { ...activeLoad, targets: ['v1b.internal:80'] } } }),
      ],
      [],
      ['b uses v1b.internal:80 for /v2'],
    ],
    [
      'a gateway of an earlier release, which does not report its backends',
      [retired('a', now, 1), gatewayRow('b', now, { versions: { v2: ofEarlierRelease } })],
      [],
      ['b has an earlier release, which does not report the backends of /v2'],
    ],
    [
      'requests of another version that has ended to the same backend',
      [
        retired('a', now, 1),
        gatewayRow('b', now, { versions: { v0: { ...retiredLoad(null, 2), targets: ['v1.internal:3001'] } } }),
        gatewayRow('c', now, {
          versions: { v0: { ...retiredLoad(null), stage: 'removed', waiting: 1, targets: ['v1.internal:3001'] } },
        }),
        gatewayRow('d', now, { versions: { v0: { ...retiredLoad(null, 2), targets: ['v0.internal:80'] } } }),
      ],
      [],
      ['b has 2 requests of /v0 to v1.internal:3001', 'c has 1 request of /v0 to v1.internal:3001'],
    ],
    [
      'a worker that does not answer, and may have such requests',
      [
        retired('a', now, 1),
        gatewayRow('b', now, {
          versions: { v0: { ...retiredLoad(null), incomplete: true, targets: ['v1.internal:3001'] } },
        }),
      ],
      [],
      ['b has a worker that does not answer, and may have requests of /v0 to v1.internal:3001'],
    ],
    [
      'every reason',
      [
        retired('a', now, null, 1),
        retired('b', now - 41_000, 1),
        gatewayRow('c', now, { versions: { v1: activeLoad } }),
      ],
      [],
      ['a has 1 request in flight', 'b not heard for 41 s', 'c still serves it'],
    ],
  ])('is %s', (_name, rows, unheardAddresses, expected) => {
    expect(stopReasons(viewOf(rows, unheardAddresses).view)).toEqual(expected);
  });

  it('is a store that does not answer', () => {
    const { view } = viewOf([retired('a', now, 1)]);
    view.fail('connection refused');
    expect(stopReasons(view)).toEqual(['the shared store does not answer (connection refused)']);
  });

  it('is nothing once each gateway was heard after the last one became idle', () => {
    const { view } = viewOf([retired('a', now - 499, 1), retired('b', now, now - 500), gatewayRow('without v1', now)]);
    expect(stopReasons(view)).toEqual([]);
  });

  it('is not a gateway that has retired the version with the same backend', () => {
    const sameBackend = { versions: { v2: { ...retiredLoad(1), targets: ['v1.internal:3001'] } } };
    expect(stopReasons(viewOf([retired('a', now, 1), gatewayRow('b', now, sameBackend)]).view)).toEqual([]);
  });

  it('with an adapter, is a gateway that still uses the backend, or that was not heard', () => {
    const adapted = { ...activeLoad, targets: ['v2.internal:80'], adapted: true };
    const reasons = (rows: GatewayRow[]) =>
      stopBlockers(viewOf(rows).view, { ...v1, isAdapted: true }).map(({ text }) => text);
    const ofOthers = 'other gateways may have requests in flight from before the adapter';
    const done = gatewayRow('a', now, {
      versions: { v1: adapted, v2: { ...activeLoad, targets: ['v2.internal:80'] } },
    });
    expect(reasons([done])).toEqual([ofOthers]);
    const notYet = gatewayRow('b', now, { versions: { v1: { ...activeLoad, targets: ['v1.internal:3001'] } } });
    expect(reasons([done, notYet, gatewayRow('c', now - 41_000)])).toEqual([
      'b uses v1.internal:3001 for /v1',
      'c not heard for 41 s',
      ofOthers,
    ]);
  });

  it('is known only if a gateway uses the backend', () => {
    const used = (...rows: GatewayRow[]) => stopBlockers(viewOf(rows).view, v1).map((one) => one.used);
    const [idle, serving] = [retired('a', now, 1), gatewayRow('b', now, { versions: { v1: activeLoad } })];
    expect(used(idle, serving, retired('c', now, null, 3))).toEqual(['yes', 'yes']);
    expect(used(idle, retired('b', now - 41_000, 1), retired('c', now, null))).toEqual(['not known', 'not known']);
    expect(used(retired('a', now, now))).toEqual(['not known']);
  });

  it('is not a gateway that has left or is gone', () => {
    const serves = { versions: { v1: activeLoad } };
    const { view } = viewOf([
      retired('a', now, 1),
      gatewayRow('b', now - day, { ...serves, leftAt: now - day }),
      gatewayRow('c', now - day, { ...serves, goneAt: now }),
    ]);
    expect(stopReasons(view)).toEqual([]);
  });
});

describe('what is missing in the shared ledger', () => {
  const gapsIn = (rows: GatewayRow[], unheardAddresses: string[] = []) =>
    ledgerGaps(viewOf(rows, unheardAddresses).view, silentAfter, 7 * day).map(({ code, text }) => `${code}: ${text}`);

  it.each<[string, GatewayRow[], string[], string[]]>([
    [
      'a silent gateway',
      [gatewayRow('gw-3', now - 40_000)],
      [],
      ['gateway_silent: Gateway gw-3 has not been heard for 40 s; its calls are missing from this ledger.'],
    ],
    [
      'a gateway that was never heard',
      [],
      ['10.0.0.9'],
      [
        'gateway_never_heard: A gateway at 10.0.0.9 was never heard, although fleet.members lists it; its calls are missing from this ledger.',
      ],
    ],
    [
      'counts that wait for long',
      [gatewayRow('gw-2', now, { spooled: 1_204, spooledSince: now - 180_000 })],
      [],
      [
        'counts_waiting: Gateway gw-2 has 1,204 rows of counts that are not in this ledger yet; the oldest is from 3 min ago.',
      ],
    ],
    [
      'nothing while counts are on their way',
      [gatewayRow('gw-2', now, { spooled: 3, spooledSince: now - 2_000 })],
      [],
      [],
    ],
    [
      'nothing because the clock of a gateway is behind',
      [gatewayRow('gw-2', now, { spooled: 3, spooledSince: now - 61_000, skewMs: -60_000 })],
      [],
      [],
    ],
    [
      'counts that wait since before the clock of the gateway was set back',
      [gatewayRow('gw-2', now, { spooled: 3, spooledSince: now + 3_600_000 })],
      [],
      [
        'counts_waiting: Gateway gw-2 has 3 rows of counts that are not in this ledger yet; the oldest is from 10 s ago.',
      ],
    ],
    [
      'a gateway whose clock is behind or ahead by more than an hour',
      [gatewayRow('a', now, { skewMs: -3_600_001 }), gatewayRow('b', now, { skewMs: 7_200_000 })],
      [],
      [
        'clock_differs: The clock of gateway a is 1 h behind: its calls have the wrong time.',
        'clock_differs: The clock of gateway b is 2 h ahead: its calls have the wrong time.',
      ],
    ],
    ['nothing because a clock differs by less', [gatewayRow('a', now, { skewMs: -3_600_000 })], [], []],
    [
      // The ledger no longer has its losses if it is heard before the ledger is read.
      'the calls of a gateway that is gone, until it ended',
      [gatewayRow('gw-4', now - day, { goneAt: now, spooled: 1 })],
      [],
      [`gateway_gone: Gateway gw-4 is gone: its calls until ${rfc3339(now)} are not known.`],
    ],
    [
      'nothing of a gateway that ended before',
      [gatewayRow('gw-4', 0, { goneAt: now, endedAt: now - 7 * day })],
      [],
      [],
    ],
    ['nothing of a gateway that has left', [gatewayRow('gw-4', now - day, { leftAt: now - day })], [], []],
  ])('is %s', (_name, rows, unheardAddresses, expected) => {
    expect(gapsIn(rows, unheardAddresses)).toEqual(expected);
  });

  it('is a clock that differs by more than a tenth of a short quiet period', () => {
    const codes = (skewMs: number) =>
      ledgerGaps(viewOf([gatewayRow('a', now, { skewMs })]).view, silentAfter, 3_600_000).map(({ code }) => code);
    expect(codes(360_001)).toEqual(['clock_differs']);
    expect(codes(360_000)).toEqual([]);
  });

  it('is the wrong clock of a run that has ended, until the quiet period has passed', () => {
    const texts = (skewMs: number, ended: number) => {
      const { view } = viewOf([]);
      view.update({ now, rows: [], unheardAddresses: [], mistimedRuns: [{ name: 'gw-2', skewMs, ended }] });
      return ledgerGaps(view, silentAfter, 3_600_000).map(({ text }) => text);
    };
    expect(texts(-400_000, now - 60_000)).toEqual([
      'The clock of gateway gw-2 was 6 min behind in a run that ended 1 min ago: its calls have the wrong time.',
    ]);
    expect(texts(-360_000, now - 60_000)).toEqual([]);
    expect(texts(-400_000, now - 3_600_000)).toEqual([]);
  });

  it('with fleet.start: serve, is any gateway that fleet.members does not tell of', () => {
    const members = { host: 'gateways', port: 9901 };
    const codes = (...args: Parameters<typeof unregisteredGaps>) => unregisteredGaps(...args).map(({ text }) => text);
    expect(codes({ start: 'wait', members: undefined }, 'it was not looked up yet')).toEqual([]);
    expect(codes({ start: 'serve', members }, undefined)).toEqual([]);
    expect(codes({ start: 'serve', members: undefined }, undefined)).toEqual([
      'With fleet.start: serve, a gateway may serve clients before the shared store knows it, and fleet.members is not set, so it is not known which gateways exist.',
    ]);
    expect(codes({ start: 'serve', members }, 'queryA ESERVFAIL gateways')).toEqual([
      expect.stringContaining('fleet.members cannot be used: queryA ESERVFAIL gateways, so'),
    ]);
    expect(unregisteredBlockers({ start: 'wait', members: undefined }, 'it was not looked up yet')).toEqual([]);
    expect(unregisteredBlockers({ start: 'serve', members }, undefined)).toEqual([]);
    expect(unregisteredBlockers({ start: 'serve', members: undefined }, undefined)).toEqual([
      { text: 'gateways that are not known (fleet.start is serve, and fleet.members is not set)', used: 'not known' },
    ]);
  });

  it('is unknown while the store does not answer', () => {
    const { view } = viewOf([gatewayRow('gw-3', now - 40_000)]);
    view.fail('connection refused');
    expect(ledgerGaps(view, silentAfter, day)).toEqual([
      { code: 'store_unreachable', text: 'The shared ledger cannot be reached: connection refused.' },
    ]);
  });
});

describe('the facts of a verdict', () => {
  it('have the requests of the other gateways that were heard', () => {
    const busy = { v1: { ...activeLoad, in_flight: 2, waiting: 1 } };
    const { view } = viewOf([
      gatewayRow('self', now, { versions: busy }),
      gatewayRow('a', now, { versions: busy }),
      gatewayRow('b', now, { versions: busy }),
      gatewayRow('silent', now - day, { versions: busy }),
    ]);
    expect(fleetFacts(view, 'v1', 'id-of-self', silentAfter, day)).toMatchObject({ heard: 3, inFlight: 4, waiting: 2 });
  });

  it('note a gateway that is gone, and the time in which its calls are not known, for the length of the quiet period', () => {
    const goneReason = 'the machine is broken';
    const at = Date.parse('2026-11-23T21:10:00Z');
    const view = new FleetView(silentAfter, () => 0);
    const rows = [
      gatewayRow('lately', at - 3_600_000, { goneAt: at, goneReason }),
      gatewayRow('reported', at - 3_600_000, { goneAt: at, endedAt: at - 3_579_000, spooled: 2 }),
      gatewayRow('long ago', at - 2 * day, { goneAt: at - day, goneReason }),
    ];
    view.update({ now: at, rows, unheardAddresses: [] });
    const facts = fleetFacts(view, 'v1', '', silentAfter, day);
    expect(facts.gaps).toEqual([
      {
        code: 'gateway_gone',
        text: 'Gateway lately is gone: its calls until 2026-11-23T21:10:00Z are not known.',
        until: at + day,
      },
      {
        code: 'gateway_gone',
        text: 'Gateway reported is gone: its calls until 2026-11-23T20:10:21Z are not known.',
        until: at - 3_579_000 + day,
      },
    ]);
    expect(facts.notes.map(({ code, text }) => `${code}: ${text}`)).toEqual([
      'gateway_gone: Gateway lately is gone (the machine is broken). It was last heard at 2026-11-23T20:10:00Z and was marked as gone at 2026-11-23T21:10:00Z: its calls of this time (1 h) are not known.',
      'gateway_gone: Gateway reported is gone. It was last heard at 2026-11-23T20:10:00Z and ended at 2026-11-23T20:10:21Z, as reported: its calls of this time (21 s) are not known, and 2 rows of its counts never reached this ledger.',
    ]);
  });
});
