import { describe, expect, it } from 'vitest';
import {
  type CallFacts,
  callEvidence,
  type LiveFacts,
  noLiveFacts,
} from '../../../gateway/usage/evidence/callEvidence.ts';
import type { ClientUse } from '../../../gateway/usage/usageQueries.ts';
import { countedUses } from '../../../gateway/versions/retirement/countedUsage.ts';
import type { RetirementFacts } from '../../../gateway/versions/retirement/facts.ts';
import { mayLackCounts, retirementVerdict as verdictOf } from '../../../gateway/versions/retirement/verdict.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const hour = 3_600_000;
const day = 24 * hour;

function client(client: string, requests: number, more: Partial<ClientUse> = {}): ClientUse {
  const base = { client, name: undefined, requests, errors: 0, served: requests, failing: 0, refused: 0 };
  const times = { first: now - 30 * day, last: now - 3 * hour, lastUsed: now - 3 * hour };
  return { ...base, ...times, routes: 1, topRoutes: [], ...more };
}

interface GivenFacts
  extends Omit<RetirementFacts, 'evidence'>,
    Pick<CallFacts, 'retention'>,
    Partial<Pick<LiveFacts, 'unresponsiveSince' | 'lastRemembered'>> {
  readonly coveredSince: number | undefined;
}

function retirementVerdict({ coveredSince, retention, unresponsiveSince, lastRemembered, ...facts }: GivenFacts) {
  const { version, quiet, inFlight, waiting, fleet, problem } = facts;
  const times = (facts.stage === 'retired' ? facts.knocking : countedUses(facts)).map(({ last }) => last);
  const lastCall = times.length === 0 ? undefined : Math.max(...times);
  const ofFleet = { gaps: fleet?.gaps ?? [], pending: fleet?.remarksOnUnsent ?? [] };
  const live = { ...noLiveFacts, inFlight, waiting, unresponsiveSince, lastRemembered, ...ofFleet };
  const coverage = { since: coveredSince, losses: [] };
  const evidence = callEvidence({ version, now, quiet, retention, lastCall, coverage, problem, live });
  return verdictOf({ ...facts, evidence });
}

/** The facts of a version that may be retired. */
const quiet: GivenFacts = {
  version: 'v1',
  route: undefined,
  withoutRoute: 0,
  now,
  stage: 'sunset',
  deprecation: now - 200 * day,
  sunset: now - day,
  quiet: 7 * day,
  maxShare: 0.001,
  retention: 400 * day,
  coveredSince: now - 7 * day,
  problem: undefined,
  allRequests: 10_000,
  clients: [],
  ignored: [],
  waivers: [],
  others: undefined,
  newClients: [],
  trend: { kind: 'none', perDay: 0, zero: undefined, pausing: undefined, days: [] },
  lostRoutes: [],
  adaptedFrom: undefined,
  failing: [],
  infrequent: [],
  gone: [],
  lostService: [],
  refused: [],
  knocking: [],
  failingRoutes: [],
  missingRoutes: [],
  routesNotKnown: [],
  inFlight: 0,
  waiting: 0,
  unresponsiveSince: undefined,
  successor: { version: 'v2', targets: 2, healthy: 2, notTried: 0 },
  fleet: undefined,
};

const monthly = {
  client: 'x-client-id:payroll',
  name: 'payroll',
  requests: 40,
  first: now - 100 * day,
  last: now - 9 * day,
  usualPause: 30 * day - hour,
};
const ios = client('x-client-id:ios', 1204, { name: 'ios-app' });

it.each<[string, Partial<GivenFacts>, string, boolean]>([
  ['a short ledger', {}, 'not yet', false],
  ['a worker that does not answer', { coveredSince: now - 7 * day, unresponsiveSince: now }, 'not yet', false],
  ['a short ledger, and a sunset in the future', { sunset: now + day }, 'not yet', true],
  ['a short ledger, and no sunset', { sunset: undefined }, 'not yet', true],
  ['a short ledger, and a client', { clients: [client('a', 1000)] }, 'not yet', true],
  ['a short ledger, and a client that calls rarely', { infrequent: [monthly] }, 'not yet', true],
  ['a short ledger, and a version that is not listed', { stage: 'removed' }, 'not yet', false],
  ['a short ledger, and a tombstone', { stage: 'retired' }, 'not known', false],
])('the verdict is known only with a reason that no missing call could end: %s', (_name, given, answer, known) => {
  const verdict = retirementVerdict({ ...quiet, coveredSince: now - day, ...given });
  expect([verdict.answer, verdict.known]).toEqual([answer, known]);
});

describe('the answer', () => {
  it.each<[string, Partial<GivenFacts>, string, string[]]>([
    ['no client', {}, 'yes', ['nobody_left']],
    ['the sunset is now', { sunset: now }, 'yes', ['nobody_left']],
    ['a share at the limit', { clients: [client('a', 10)] }, 'yes', ['below_max_share']],
    ['a share above it', { clients: [client('a', 11)] }, 'no', ['clients_left']],
    ['a share of folded clients above it', { others: client('other clients', 11) }, 'no', ['clients_left']],
    ['a share of folded clients at the limit', { others: client('other clients', 10) }, 'yes', ['below_max_share']],
    [
      'a share of both above it',
      { clients: [client('a', 6)], others: client('other clients', 5) },
      'no',
      ['clients_left'],
    ],
    ['no share is allowed', { clients: [client('a', 1)], maxShare: 0 }, 'no', ['clients_left']],
    ['no other requests', { clients: [client('a', 1)], allRequests: 1 }, 'no', ['clients_left']],
    ['only ignored clients', { ignored: [client('probe', 9000)] }, 'yes', ['nobody_left']],
    ['a request in flight', { inFlight: 1 }, 'no', ['in_flight']],
    ['a waiting request', { waiting: 1 }, 'no', ['in_flight']],
    ['a worker that does not answer', { unresponsiveSince: now }, 'not yet', ['worker_unresponsive']],
    ['a worker that does not answer, and a client', { unresponsiveSince: now, clients: [ios] }, 'no', ['clients_left']],
    [
      'a request in flight, and a share below the limit',
      { inFlight: 1, clients: [client('a', 1)] },
      'yes',
      ['below_max_share'],
    ],
    ['no sunset', { sunset: undefined }, 'not yet', ['no_sunset']],
    ['a future sunset', { sunset: now + 1 }, 'not yet', ['sunset_ahead']],
    ['an empty ledger', { coveredSince: undefined }, 'not yet', ['ledger_empty']],
    ['a ledger that is an hour too short', { coveredSince: now - 7 * day + hour }, 'not yet', ['ledger_short']],
    ['an infrequent client', { infrequent: [monthly] }, 'not yet', ['infrequent']],
    [
      'an infrequent client of a removed version',
      { stage: 'removed', infrequent: [monthly] },
      'not yet',
      ['removed', 'infrequent'],
    ],
    [
      'an infrequent client and another one',
      { infrequent: [monthly], clients: [ios] },
      'no',
      ['clients_left', 'infrequent'],
    ],
    ['a backend that fails all requests', { lostService: [ios] }, 'not yet', ['all_fail']],
    ['a ledger that is not written', { problem: 'the disk is full' }, 'not yet', ['ledger_broken']],
    [
      'several reasons',
      { sunset: undefined, coveredSince: now, clients: [ios] },
      'not yet',
      ['no_sunset', 'ledger_short', 'clients_left'],
    ],
    ['removed, without requests', { stage: 'removed', sunset: undefined }, 'yes', ['removed']],
    [
      'removed, with requests',
      { stage: 'removed', sunset: undefined, clients: [client('a', 1)] },
      'no',
      ['removed', 'clients_left'],
    ],
    [
      'removed, with a short ledger',
      { stage: 'removed', sunset: undefined, coveredSince: now - hour },
      'not yet',
      ['removed', 'ledger_short'],
    ],
    [
      'retired, with clients that are still refused',
      { stage: 'retired', sunset: undefined, knocking: [ios] },
      'no',
      ['still_knocking'],
    ],
    ['retired, with requests in flight', { stage: 'retired', inFlight: 2 }, 'no', ['still_knocking']],
    ['retired, with no call', { stage: 'retired', sunset: undefined }, 'yes', ['tombstone_unused']],
    [
      'retired, with a short ledger',
      { stage: 'retired', coveredSince: now - hour },
      'not known',
      ['refused_unknown', 'ledger_short'],
    ],
    [
      'retired, with a short ledger and a refused client',
      { stage: 'retired', coveredSince: now - hour, knocking: [ios] },
      'no',
      ['still_knocking'],
    ],
  ])('%s', (_what, facts, answer, codes) => {
    const verdict = retirementVerdict({ ...quiet, ...facts });
    expect([verdict.answer, verdict.reasons.map(({ code }) => code)]).toEqual([answer, codes]);
  });
});

describe('the reasons', () => {
  it.each<[Partial<GivenFacts>, string]>([
    [{}, 'No client called /v1 in the last 7 days (ignored and failing clients do not count).'],
    [
      { clients: [ios] },
      '1 client made 1,204 requests to /v1 in the last 7 days, 12% of all: ios-app (last call 3 h ago, 1,204 requests).',
    ],
    [
      { clients: [client('a', 1)] },
      '1 client still calls /v1 and will be cut off: a (last call 3 h ago, 1 request). That is 0.01% of all requests in the last 7 days; retire.max_share allows 0.1%.',
    ],
    [
      { clients: [client('a', 1000), client('b', 10)], others: client('other clients', 4000) },
      'At least 2 clients made 5,010 requests to /v1 in the last 7 days, 50.1% of all: a (last call 3 h ago, 1,000 requests), b (last call 3 h ago, 10 requests); and 4,000 requests of clients beyond usage.max_clients, which are counted together as other clients.',
    ],
    [
      { others: client('other clients', 4000) },
      'At least 1 client made 4,000 requests to /v1 in the last 7 days, 40% of all: 4,000 requests of clients beyond usage.max_clients, which are counted together as other clients.',
    ],
    [
      { infrequent: [monthly] },
      '1 client of /v1 usually pauses for about 7 days or longer and may call again (retire.rhythm): payroll (last call 9 days ago, usually every 30 days, 40 requests since 2026-08-13).',
    ],
    [{ sunset: now + day }, 'The sunset of /v1, 2026-11-22, is in the future.'],
    [
      { coveredSince: now - 2 * day },
      'The usage ledger begins at 2026-11-19T12:00:00Z; it will cover the last 7 days at 2026-11-26T12:00:00Z, in 5 days.',
    ],
    // The quiet period begins at a full hour.
    [
      { coveredSince: now - 2 * day + 1 },
      'The usage ledger begins at 2026-11-19T12:00:00Z; it will cover the last 7 days at 2026-11-26T13:00:00Z, in 5 days.',
    ],
    [
      { coveredSince: now - 1_000, retention: 400 * day, quiet: 60_000 },
      'The usage ledger begins at 2026-11-21T11:59:59Z; it will cover the last 1 min at 2026-11-21T12:00:59Z, in 59 s.',
    ],
    [
      { coveredSince: now - 2 * day, retention: day },
      'The usage ledger begins at 2026-11-19T12:00:00Z; it can never cover the quiet period, because usage.retention is shorter.',
    ],
    [
      { waiting: 1 },
      '/v1 has 1 waiting request now, although no client called it in the last 7 days (ignored and failing clients do not count).',
    ],
    [
      { inFlight: 1, waiting: 2 },
      '/v1 has 1 request in flight and 2 waiting requests now, although no client called it in the last 7 days (ignored and failing clients do not count).',
    ],
    [
      { inFlight: 2 },
      '/v1 has 2 requests in flight now, although no client called it in the last 7 days (ignored and failing clients do not count).',
    ],
  ])('for %o', (facts, text) => expect(retirementVerdict({ ...quiet, ...facts }).reasons[0]?.text).toBe(text));

  it('name five clients and count the others', () => {
    const clients = Array.from({ length: 1007 }, (_one, index) => client(`c${index}`, 100));
    const [reason] = retirementVerdict({ ...quiet, clients }).reasons;
    expect(reason?.text).toMatch(/: c0 \(.+\), c1 .+, c2 .+, c3 .+, c4 \([^)]+\) and 1,002 more\.$/);
  });

  it('contain no control characters of a client name', () => {
    const hostile = client(`\x1b[2J\r\n\u202e\u2028${'x'.repeat(5000)}`, 5000);
    const facts = { ...quiet, clients: [hostile], ignored: [hostile], newClients: [hostile], problem: '\x07' };
    const { reasons, notes } = retirementVerdict(facts);
    const text = [...reasons, ...notes].map((one) => one.text).join('');
    expect(text).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(text).toContain('\\x1b[2J\\x0d\\x0a\\u{202e}\\u{2028}xxx');
    expect(text.length).toBeLessThan(1500);
  });
});

describe('the notes', () => {
  it.each([[], [ios]])('an adapter does not change the answer', (...clients) => {
    const [own, adapted] = [
      retirementVerdict({ ...quiet, clients }),
      retirementVerdict({ ...quiet, clients, adaptedFrom: 'v2' }),
    ];
    expect([adapted.answer, adapted.reasons]).toEqual([own.answer, own.reasons]);
    expect(adapted.notes).toContainEqual({ code: 'adapted', text: '/v1 is served by an adapter from /v2.' });
  });

  const codes = (facts: Partial<GivenFacts>) => retirementVerdict({ ...quiet, ...facts }).notes.map(({ code }) => code);
  const lostRoutes = [
    { route: 'GET /old', requests: 2, errors: 0, failing: 0, clients: 1, last: now, inContract: undefined },
  ];
  const falling = {
    kind: 'falling',
    perDay: -1,
    zero: now,
    pausing: undefined,
    days: [{ at: now - day, requests: 1 }],
  } as const;

  it('predicts no end of the requests while clients with long pauses still call', () => {
    const pausing = { count: 12, shortest: 6 * day, longest: 10 * day, expectedUntil: now + 20 * day };
    const { notes } = retirementVerdict({ ...quiet, trend: { ...falling, zero: undefined, pausing } });
    expect(notes.find(({ code }) => code === 'trend')?.text).toBe(
      'The requests have been falling from week to week, but 12 clients call every 6 to 10 days, so no end can be predicted. Even if none of them calls again, their silence means nothing before 2026-12-11.',
    );
    const one = { ...pausing, count: 1, shortest: 10 * day };
    const single = retirementVerdict({ ...quiet, trend: { ...falling, zero: undefined, pausing: one } });
    expect(single.notes.find(({ code }) => code === 'trend')?.text).toContain('but 1 client calls every 10 days, so');
  });

  it.each<[string, Partial<GivenFacts>, string[]]>([
    ['only whose ledger it is', {}, ['own_ledger']],
    ['the ignored clients', { ignored: [ios] }, ['ignored', 'own_ledger']],
    ['the folded clients', { others: client('other clients', 3) }, ['folded', 'own_ledger']],
    ['that an adapter serves it', { adaptedFrom: 'v2' }, ['adapted', 'own_ledger']],
    ['an unclear trend', { trend: { ...falling, kind: 'not clear', zero: undefined } }, ['trend', 'own_ledger']],
    ['a falling trend', { trend: falling }, ['trend', 'own_ledger']],
    ['none', { trend: { ...falling, kind: 'not falling', zero: undefined } }, ['trend', 'own_ledger']],
    ['no trend for too few days', { trend: { ...falling, kind: 'unknown', zero: undefined } }, ['own_ledger']],
    ['clients that are gone', { gone: [monthly] }, ['gone', 'own_ledger']],
    ['clients that came after the deprecation', { newClients: [ios] }, ['new_clients', 'own_ledger']],
    ['nothing if new clients are unknown', { newClients: undefined }, ['own_ledger']],
    ['routes without a counterpart', { lostRoutes }, ['no_counterpart', 'own_ledger']],
    ['waiting requests', { waiting: 1 }, ['in_flight', 'own_ledger']],
    ['no successor', { successor: undefined }, ['successor', 'own_ledger']],
    [
      'an unhealthy successor',
      { successor: { version: 'v2', targets: 2, healthy: 0, notTried: 0 } },
      ['successor', 'own_ledger'],
    ],
    [
      'a partly unhealthy successor',
      { successor: { version: 'v2', targets: 2, healthy: 1, notTried: 0 } },
      ['successor', 'own_ledger'],
    ],
    [
      'a successor that was not tried',
      { successor: { version: 'v2', targets: 2, healthy: 0, notTried: 2 } },
      ['successor', 'own_ledger'],
    ],
    [
      'a successor with a target that was not tried',
      { successor: { version: 'v2', targets: 2, healthy: 1, notTried: 1 } },
      ['successor', 'own_ledger'],
    ],
    [
      'nothing about a successor without a report',
      { successor: { version: 'v2', targets: 0, healthy: 0, notTried: 0 } },
      ['own_ledger'],
    ],
    ['no missing successor of a removed version', { stage: 'removed', successor: undefined }, ['own_ledger']],
    ['no missing successor of a retired version', { stage: 'retired', successor: undefined }, ['own_ledger']],
  ])('have %s', (_what, facts, expected) => expect(codes(facts)).toEqual(expected));

  it('count refused requests', () => {
    const knocking = [client('a', 10, { refused: 6 })];
    const [reason] = retirementVerdict({ ...quiet, stage: 'retired', knocking }).reasons;
    expect(reason?.text).toBe(
      '/v1 is retired, and 1 client called it in the last 7 days: a (last call 3 h ago, 6 refused). Keep its tombstone: without it, they get 404 instead of 410.',
    );
  });
});

describe('in a fleet', () => {
  const fleet = { heard: 3, inFlight: 0, waiting: 0, gaps: [], remarksOnUnsent: [], notes: [] };
  const gap = {
    code: 'gateway_silent',
    text: 'Gateway gw-3 has not been heard for 40 s; its calls are missing from this ledger.',
  };
  const salted = (facts: Partial<GivenFacts>) => retirementVerdict({ ...quiet, ...facts, fleet });

  it('the answer is not yet while calls may be missing', () => {
    const { answer, reasons } = retirementVerdict({ ...quiet, fleet: { ...fleet, gaps: [gap] } });
    expect({ answer, reasons }).toEqual({ answer: 'not yet', reasons: [gap] });
  });

  it('the answer is not yet while counts are on their way, unless they cannot change it', () => {
    const remarksOnUnsent = [{ code: 'calls_unsent', text: 'Gateway gw-2 may have had calls.' }];
    const asked = (facts: Partial<GivenFacts>) => {
      const verdict = retirementVerdict({ ...quiet, ...facts, fleet: { ...fleet, remarksOnUnsent } });
      return [verdict.answer, verdict.reasons.map(({ code }) => code), mayLackCounts(verdict)];
    };
    expect(asked({})).toEqual(['not yet', ['calls_unsent'], true]);
    expect(asked({ stage: 'removed' })).toEqual(['not yet', ['removed', 'calls_unsent'], true]);
    expect(asked({ clients: [ios], allRequests: 1 })).toEqual(['no', ['clients_left'], false]);
    expect(asked({ sunset: undefined })).toEqual(['not yet', ['no_sunset'], false]);
    expect(asked({ stage: 'retired' })).toEqual(['not known', ['refused_unknown', 'calls_unsent'], true]);
    expect(asked({ stage: 'retired', knocking: [ios] })).toEqual(['no', ['still_knocking'], false]);
    expect(asked({ stage: 'retired', inFlight: 1 })).toEqual(['no', ['still_knocking'], false]);
  });

  it('a call of a tombstone that only the processes remember may be one of an ignored client', () => {
    const remarksOnUnsent = [{ code: 'calls_unsent', text: 'Gateway gw-2 may have had calls.' }];
    const asked = (facts: Partial<GivenFacts>) => {
      const verdict = retirementVerdict({ ...quiet, stage: 'retired', lastRemembered: now, ...facts });
      return [verdict.answer, mayLackCounts(verdict)];
    };
    expect(asked({ fleet: { ...fleet, remarksOnUnsent } })).toEqual(['no', true]);
    expect(asked({ fleet })).toEqual(['yes', false]);
  });

  it('the answer stays no for a removed version that is called', () => {
    const removed = { stage: 'removed', clients: [ios], fleet: { ...fleet, gaps: [gap] } } as const;
    const { answer, reasons } = retirementVerdict({ ...quiet, ...removed });
    expect({ answer, codes: reasons.map(({ code }) => code) }).toEqual({
      answer: 'no',
      codes: ['removed', 'gateway_silent', 'clients_left'],
    });
  });

  it('the answer is yes with all gateways, and says how many they are', () => {
    const note = { code: 'gateway_gone', text: 'Gateway gw-4 is gone.' };
    const { answer, notes } = retirementVerdict({ ...quiet, fleet: { ...fleet, notes: [note] } });
    expect(answer).toBe('yes');
    expect(notes).toEqual([
      note,
      {
        code: 'own_ledger',
        text: 'The ledger only has the requests to this fleet of 3 running gateways since 2026-11-14: requests directly to the backends are not in it.',
      },
    ]);
  });

  it('the number of clients is a lower bound if some have tags of another salt', () => {
    const { answer, reasons } = salted({ clients: [ios], others: client('other clients', 5), stage: 'sunset' });
    expect(answer).toBe('no');
    expect(reasons[0]?.text).toMatch(
      /^At least 1 client made 1,209 requests .*; and 5 requests of clients beyond usage\.max_clients, or with tags of another salt,/,
    );
  });
});
