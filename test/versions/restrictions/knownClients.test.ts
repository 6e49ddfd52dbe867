import { describe, expect, it } from 'vitest';
import { namingRulesIdOf } from '../../../gateway/usage/counting/identification.ts';
import { noLiveFacts } from '../../../gateway/usage/evidence/callEvidence.ts';
import type { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import {
  canBeNew,
  type FreezeQuery,
  findFreezeClients,
  freezeInWords,
} from '../../../gateway/versions/restrictions/knownClients.ts';
import { noUsage as noRows } from '../../browser/sampleUsage.ts';
import { readersOn } from '../../support/fleetLedger.ts';
import { openLedger } from '../../usage/ledger/ledgerFixture.ts';
import { dayMs, hourMs, noon, row } from '../../usage/model.ts';

const from = noon + 10 * dayMs;
const query = { now: noon + 400 * dayMs, version: 'v1', from, quiet: 7 * dayMs, limit: 100, allow: [] };
const identify = [{ by: 'header', name: 'x-api-key' }] as const;
const [old, late, before, fresh] = ['#old', '#late', '#before', '#fresh'].map((tag) => `x-api-key:${tag}`);

/** A ledger from `noon` until a day after `from`, in which the gateway did not run during the pauses. */
function ledgerWithPauses(pauses: readonly (readonly [begin: number, end: number])[] = []) {
  let opened = openLedger({ identify });
  const { store } = opened;
  for (const [begin, end] of pauses) {
    opened.clock.time = begin;
    opened.ledger.add([row({ client: 'x-api-key:#pause', first: begin })]);
    opened.ledger.close();
    opened = openLedger({ store, identify }, end);
  }
  return opened;
}

function add({ ledger, clock }: ReturnType<typeof openLedger>, client = '', at = 0, version = 'v1'): void {
  clock.time = Math.max(clock.time, at);
  ledger.add([row({ client, version, first: at })]);
}

function fill(opened: ReturnType<typeof openLedger>): Ledger {
  add(opened, old, noon + dayMs);
  add(opened, late, from - 1);
  add(opened, fresh, from - 1, 'v2');
  add(opened, fresh, from);
  add(opened, old, from + dayMs);
  add(opened, 'user-agent:curl', from + dayMs);
  return opened.ledger;
}

describe.each(readersOn)('findFreezeClients on %s', (_database, readers) => {
  const read = readers();
  const find = (ledger: Ledger, part: Partial<FreezeQuery> = {}) => {
    const namingRulesId = namingRulesIdOf(ledger.settings.identify ?? [], ledger.salt);
    return findFreezeClients(read(ledger), { ...query, namingRulesId, ...part });
  };

  it('finds the clients of the version that were seen before `from`, and those that were not', async () => {
    const ledger = fill(ledgerWithPauses());
    expect(await find(ledger)).toEqual({
      kind: 'found',
      namingRulesId: expect.stringMatching(/^[0-9a-f]{64}$/),
      clientLines: `${old}\n${late}`,
      count: 2,
      newClients: [expect.objectContaining({ client: fresh, first: from })],
    });
    expect(await find(ledger, { from: from + 1 })).toMatchObject({
      clientLines: `${old}\n${late}\n${fresh}`,
      newClients: [],
    });
  });

  it('finds the clients if they pause for longer than the quiet period, and the last heartbeat came before `from`', async () => {
    const opened = ledgerWithPauses();
    add(opened, old, from - 50_000);
    expect(await find(opened.ledger, { quiet: 10_000 })).toMatchObject({ kind: 'found', clientLines: old });
    expect(await find(opened.ledger, { quiet: 40 * dayMs })).toMatchObject({ kind: 'unknown' });
  });

  it('counts a client whose requests all failed as known', async () => {
    const opened = ledgerWithPauses();
    opened.clock.time = from - hourMs;
    opened.ledger.add([row({ client: before ?? '', first: from - hourMs, failing: 1, used: 0 })]);
    expect(await find(fill(opened))).toMatchObject({ clientLines: `${old}\n${before}\n${late}` });
  });

  it('finds no clients if the ledger begins too late, and tells when a freeze could begin', async () => {
    const ledger = fill(ledgerWithPauses());
    expect(await find(ledger, { from: noon + 7 * dayMs })).toMatchObject({ kind: 'found', clientLines: old });
    expect(await find(ledger, { from: noon + 7 * dayMs - 1000 })).toEqual({
      kind: 'unknown',
      reason:
        'The usage ledger does not cover the 7 days (retire.quiet) before 2026-11-25T11:59:59Z.  Move `from` to 2026-11-25T12:00:00Z or later.',
    });
  });

  it.each([
    ['long before it', noon + hourMs, noon + 5 * hourMs, 'found'],
    ['within the quiet period', from - 3 * dayMs, from - 3 * dayMs + 2 * hourMs, 'unknown'],
    ['shortly, within the quiet period', from - 3 * dayMs, from - 3 * dayMs + hourMs, 'found'],
    ['across the begin of the freeze', from - 2 * hourMs, from + 5 * hourMs, 'unknown'],
    ['from shortly before the freeze', from - hourMs, from + 5 * hourMs, 'found'],
    ['after it', from + hourMs, from + 9 * hourMs, 'found'],
  ])('judges a pause of the gateway %s', async (_when, begin, end, kind) => {
    const opened = ledgerWithPauses([[begin, end]]);
    opened.clock.time = Math.max(end, from) + dayMs;
    opened.ledger.add([row({ first: opened.clock.time })]);
    expect(await find(opened.ledger)).toMatchObject({ kind });
  });

  it('finds no clients if calls of the version were lost before the freeze, and a loss of another version does not matter', async () => {
    const lost = async (version: string, at: number) => {
      const opened = ledgerWithPauses();
      fill(opened);
      const loss = { version, from: at, until: at + 10, reason: 'Calls may be missing: a worker ended.' };
      opened.ledger.addLosses([loss], { process: 0, until: 1 });
      return find(opened.ledger);
    };
    expect(await lost('v2', from - dayMs)).toMatchObject({ kind: 'found' });
    expect(await lost('v1', from + 1)).toMatchObject({ kind: 'found' });
    expect(await lost('v1', from - dayMs)).toEqual({
      kind: 'unknown',
      reason:
        'The usage ledger does not cover the 7 days (retire.quiet) before 2026-11-28T12:00:00Z.  Calls may be missing: a worker ended.  Move `from` to 2026-12-04T12:00:00Z or later.',
    });
  });

  it('finds no clients while a gateway of the fleet is silent, or its counts are missing', async () => {
    const ledger = fill(ledgerWithPauses());
    const silent = { code: 'gateway_silent', text: 'Gateway gw-3 has not been heard for 40 s.' };
    for (const live of [{ gaps: [silent] }, { pending: [silent] }])
      expect(await find(ledger, { live: { ...noLiveFacts, ...live } })).toEqual({
        kind: 'unknown',
        reason: silent.text,
      });
  });

  it('finds no clients if some were counted together before the freeze', async () => {
    const opened = ledgerWithPauses();
    add(opened, 'other clients', from - 1);
    expect(await find(fill(opened))).toMatchObject({
      reason: expect.stringMatching(/^Before the freeze, clients were counted/),
    });
    const later = ledgerWithPauses();
    fill(later);
    add(later, 'other clients', from);
    expect(await find(later.ledger)).toMatchObject({ count: 2, newClients: [{ client: fresh }] });
  });

  it('finds no clients if there are more than a process keeps', async () => {
    const ledger = fill(ledgerWithPauses());
    expect(await find(ledger, { limit: 2 })).toMatchObject({ kind: 'found' });
    expect(await find(ledger, { limit: 1 })).toEqual({
      kind: 'unknown',
      reason:
        '/v1 had more than 1 client before the freeze.  Raise usage.max_clients: a freeze keeps four times as many names.',
    });
  });

  it('finds no clients if they had other names in the quiet period', async () => {
    const opened = ledgerWithPauses();
    opened.clock.time = from - 7 * dayMs + 1000;
    opened.ledger.configure({ ...opened.ledger.settings, identify: [{ by: 'address' }] });
    expect(await find(fill(opened))).toEqual({
      kind: 'unknown',
      reason:
        'The salt of the client tags or usage.identify was changed at 2026-11-21T12:00:01Z, so clients have other names than before.  Move `from` to 2026-11-28T12:00:01Z or later.',
    });
    expect(await find(opened.ledger, { from: from + hourMs })).toMatchObject({ kind: 'found' });
  });
});

it('notes a new salt as a change of the names, over restarts', async () => {
  const opened = ledgerWithPauses();
  const { ledger, clock, store } = opened;
  const naming = async (of: Ledger): Promise<unknown> => readersOn[0]?.[1]()(of).namingRules();
  expect(await naming(ledger)).toMatchObject({ since: 0 });
  clock.time = noon + hourMs;
  ledger.adoptSalt('another salt');
  expect(await naming(ledger)).toMatchObject({ since: noon + hourMs });
  ledger.close();
  const again = openLedger({ store, identify }, noon + 2 * hourMs);
  expect(await naming(again.ledger)).toMatchObject({ since: noon + hourMs });
});

it('finds no clients if a query failed', async () => {
  const queries = { ...noRows, problem: 'usage.db cannot be read.' };
  expect(await findFreezeClients(queries, { ...query, namingRulesId: '' })).toEqual({
    kind: 'unknown',
    reason: 'usage.db cannot be read.',
  });
});

it.each([
  ['x-api-key:#4f2a91c07be05d3a', true],
  ['x-client-id:shop', true],
  ['jwt-sub:#4f2a91c07be05d3a', true],
  ['user-agent:curl', false],
  ['address:192.0.2.0/24', false],
  ['unknown', false],
  ['other clients', false],
])('whether %s can be new: %s', (client, expected) => {
  expect(canBeNew(client)).toBe(expected);
});

it('does not announce a freeze that has begun while its known clients are read', () => {
  const freeze = { version: 'v1', from, mode: 'refuse', reason: undefined, known: undefined, newClients: 0 } as const;
  expect(freezeInWords({ ...freeze, state: 'scheduled' })).toMatch(/^\/v1 will be frozen from /);
  expect(freezeInWords({ ...freeze, state: 'reading' })).toBe(
    'the freeze of /v1 is not active yet: its known clients are being read',
  );
});
