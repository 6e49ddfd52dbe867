import { describe, expect, it } from 'vitest';
import { FleetView, fleetFacts, ledgerGaps, reasonsNotToStop } from '../../gateway/fleet/fleetView.ts';
import type { GatewayRow } from '../../gateway/fleet/membership.ts';
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
    expect(reasonsNotToStop(viewOf(rows, unheardAddresses).view, 'v1')).toEqual(expected);
  });

  it('is a store that does not answer', () => {
    const { view } = viewOf([retired('a', now, 1)]);
    view.fail('connection refused');
    expect(reasonsNotToStop(view, 'v1')).toEqual(['the shared store does not answer (connection refused)']);
  });

  it('is nothing once each gateway was heard after the last one became idle', () => {
    const { view } = viewOf([retired('a', now - 499, 1), retired('b', now, now - 500), gatewayRow('without v1', now)]);
    expect(reasonsNotToStop(view, 'v1')).toEqual([]);
  });

  it('is not a gateway that has left or is gone', () => {
    const serves = { versions: { v1: activeLoad } };
    const { view } = viewOf([
      retired('a', now, 1),
      gatewayRow('b', now - day, { ...serves, leftAt: now - day }),
      gatewayRow('c', now - day, { ...serves, goneAt: now }),
    ]);
    expect(reasonsNotToStop(view, 'v1')).toEqual([]);
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
      'the counts of a gateway that is gone',
      [gatewayRow('gw-4', now - 2 * day, { goneAt: now, spooled: 1 })],
      [],
      ['counts_lost: Gateway gw-4 is gone, last heard 2 days ago, and 1 row of its counts never reached this ledger.'],
    ],
    [
      'nothing once the quiet period has passed since',
      [gatewayRow('gw-4', now - 7 * day, { goneAt: now, spooled: 1 })],
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

  it('note a gateway that is gone and had no waiting counts, for the length of the quiet period', () => {
    const goneReason = 'the machine is broken';
    const { view } = viewOf([
      gatewayRow('lately', now - 3_600_000, { goneAt: now, goneReason }),
      gatewayRow('long ago', now - day, { goneAt: now, goneReason }),
    ]);
    expect(fleetFacts(view, 'v1', '', silentAfter, day)).toMatchObject({
      gaps: [],
      notes: [
        {
          code: 'gateway_gone',
          text: 'Gateway lately is gone (the machine is broken), last heard 1 h ago: up to 5 s of its counts may be missing.',
        },
      ],
    });
  });
});
