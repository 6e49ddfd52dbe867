import { describe, expect, it } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { UsageQueries } from '../../../gateway/usage/usageQueries.ts';
import { otherClients, type UsageBatch, type UsageRow } from '../../../gateway/usage/usageRow.ts';
import {
  brownoutRemark,
  brownoutReport,
  brownoutSummary,
} from '../../../gateway/versions/retirement/brownoutReport.ts';
import { readersOn } from '../../support/fleetLedger.ts';
import { day, hour, ledgerWith, row } from '../../support/ledgerWith.ts';

const begin = Date.parse('2026-11-10T22:00:00Z');
const end = begin + 4 * hour;
const now = end + 20 * day;

function snapshotWith(windows: readonly object[] = [{ at: '2026-11-10T22:00Z', for: '4h' }], v1: object = {}) {
  const dates = { deprecation: '2026-06-01', sunset: '2027-06-01' };
  return snapshotFrom({
    routes: {
      '/v1': { upstream: 'http://127.0.0.1:3001', ...dates, brownouts: windows, ...v1 },
      '/v2': 'http://127.0.0.1:3002',
    },
    retire: { ignore_clients: ['probe'] },
  });
}

const called = (client: string, at: number, more: Partial<UsageRow> = {}): UsageRow => row('v1', client, at, more);
const moved = (client: string, at: number, more: Partial<UsageRow> = {}): UsageRow => row('v2', client, at, more);
/** One of the refused requests. */
const refused = (client: string, at = begin + hour, requests = 1, brownout = begin): UsageRow =>
  row('v1', client, at, { brownout, requests, refused: requests, errors: requests, served: 0, accepted: 0 });

/** The rows of clients that have all called the version before the brownout. */
function rowsOf(...rows: readonly UsageRow[]): UsageBatch {
  const clients = new Set(rows.map(({ client }) => client));
  return [...[...clients].map((client) => called(client, begin - 5 * day)), ...rows];
}

describe.each(readersOn)('on %s', (_database, reader) => {
  const open = reader();

  function queriesOf(rows: UsageBatch, covered = begin - 10 * day): UsageQueries {
    return open(ledgerWith(rows, covered).ledger);
  }

  async function reportOf(rows: UsageBatch, question: { window?: number; covered?: number } = {}) {
    const report = await brownoutReport(queriesOf(rows, question.covered), snapshotWith(), {
      version: 'v1',
      successor: 'v2',
      window: question.window,
      now,
    });
    if (report === undefined) throw new Error('There is no such brownout.');
    return report;
  }

  const classesOf = async (rows: UsageBatch): Promise<Record<string, string | null>> =>
    Object.fromEntries((await reportOf(rows)).clients.map((one) => [one.client, one.class]));

  it('reports each of six behaviours', async () => {
    const rows = rowsOf(
      ...[refused('mover'), moved('mover', end + 2 * day), moved('mover', end + 9 * day)],
      ...[refused('stubborn', begin + hour, 40), called('stubborn', end + 5000), called('stubborn', end + 9 * day)],
      ...[refused('undecided'), moved('undecided', end + day), called('undecided', end + 3 * day)],
      ...[refused('returner'), called('returner', end + 2 * day)],
      ...[refused('silent', begin + 3 * hour, 2)],
      ...[called('spared', begin + hour, { requests: 7 }), called('user-agent:probe', begin + 2 * hour)],
    );
    const report = await reportOf(rows);
    expect(report.clients.map((one) => [one.client, one.class, one.refused])).toEqual([
      ['stubborn', 'kept retrying', 40],
      ['silent', 'silent since', 2],
      ['mover', 'moved', 1],
      ['returner', 'came back', 1],
      ['undecided', 'both', 1],
    ]);
    expect(report).toMatchObject({
      brownouts: [
        { number: 1, at: '2026-11-10T22:00:00.000Z', end: '2026-11-11T02:00:00.000Z', refused: 45, clients: 5 },
      ],
      number: 1,
      problem: null,
      refused: 45,
      folded: 0,
      client_count: 5,
      classes: { 'kept retrying': 1, both: 1, 'came back': 1, moved: 1, 'silent since': 1 },
      not_refused_count: 2,
      not_refused: [
        { client: 'user-agent:probe', requests: 1, spared: true },
        { client: 'spared', requests: 7, spared: false },
      ],
      notes: [],
    });
    expect(report.clients[2]).toMatchObject({
      first: '2026-11-10T23:00:00.000Z',
      successor_use: '2026-11-13T02:00:00.000Z',
    });
  });

  it('does not say that an ended waiver spares its client', async () => {
    const waivers = [{ client: 'acme', until: '2027-06-15', reason: 'a contract' }];
    const snapshot = snapshotWith(undefined, { waivers });
    const queries = queriesOf(rowsOf(called('x-client-id:acme', begin + hour)));
    const notRefusedAt = async (day: string) => {
      const question = { version: 'v1', successor: 'v2', window: undefined, now: Date.parse(day) };
      return (await brownoutReport(queries, snapshot, question))?.not_refused;
    };
    expect(await notRefusedAt('2027-06-14')).toMatchObject([{ client: 'x-client-id:acme', spared: true }]);
    expect(await notRefusedAt('2027-06-15')).toMatchObject([{ client: 'x-client-id:acme', spared: false }]);
  });

  // The brownout is from 22:00 to 02:00, so its end is on the next day (UTC).
  it('decides by the exact times of calls', async () => {
    const again = [
      ['1 ms after its last refused request, because the brownout was stopped', begin + hour + 1, 'kept retrying'],
      ['at the end', end, 'kept retrying'],
      ['in the last ms of a day after it', end + day - 1, 'kept retrying'],
      ['a day after it', end + day, 'came back'],
      ['two days after it', end + 2 * day, 'came back'],
    ] as const;
    const successor = [
      ['successor before it was refused', begin + hour - 1, {}, 'silent since'],
      ['successor on an earlier day', begin - day, {}, 'silent since'],
      ['successor when it was refused', begin + hour, {}, 'moved'],
      ['successor in the last ms of the 7 days', end + 7 * day - 1, {}, 'moved'],
      ['successor after the 7 days', end + 7 * day, {}, 'silent since'],
      ['successor with requests that all fail', end, { failing: 1, used: 0 }, 'silent since'],
    ] as const;
    const rows = rowsOf(
      ...again.flatMap(([name, at]) => [refused(name), called(name, at)]),
      ...again.flatMap(([name, at]) => [
        refused(`both: ${name}`),
        called(`both: ${name}`, at),
        moved(`both: ${name}`, end),
      ]),
      ...successor.flatMap(([name, at, more]) => [refused(name), moved(name, at, more)]),
      // The last day of the 7 days has calls before and after their end.
      ...[refused('edge'), moved('edge', end + 7 * day - hour), moved('edge', end + 7 * day + hour)],
    );
    expect(await classesOf(rows)).toEqual({
      ...Object.fromEntries(again.map(([name, , expected]) => [name, expected])),
      ...Object.fromEntries(again.map(([name]) => [`both: ${name}`, 'both'])),
      ...Object.fromEntries(successor.map(([name, , , expected]) => [name, expected])),
      edge: 'moved',
    });
  });

  it('a request that a later brownout refuses is a call', async () => {
    const later = begin + 2 * day;
    const rows = rowsOf(refused('one'), refused('one', later + 5, 1, later), refused('two', later + 5, 1, later));
    expect(await classesOf(rows)).toEqual({ one: 'silent since', two: 'silent since' });
    const first = await reportOf(rows, { window: 1 });
    expect(first.clients).toMatchObject([{ client: 'one', class: 'came back' }]);
    // The other one is not in routes.yaml any more. It ended with its last refused request.
    expect(first.brownouts[1]).toEqual({
      number: 2,
      at: '2026-11-12T22:00:00.000Z',
      end: '2026-11-12T22:00:00.006Z',
      refused: 2,
      clients: 2,
      decision: null,
    });
    expect(await reportOf(rows, { window: begin })).toEqual(first);
  });

  it('the other routes may be called meanwhile if the brownout refuses only some', async () => {
    const window = { at: '2026-11-10T22:00Z', for: '4h', routes: ['GET /drinks'] };
    const other = { route: 'GET /other' };
    const rows = rowsOf(refused('a'), called('a', end - 1, other), refused('b'), called('b', end, other));
    const question = { version: 'v1', successor: 'v2', window: undefined, now };
    const report = await brownoutReport(queriesOf(rows), snapshotWith([window]), question);
    expect(report?.clients.map((one) => one.class)).toEqual(['silent since', 'kept retrying']);
  });

  it('classes are not known before the end, and may change during the 7 days', async () => {
    const rows = rowsOf(refused('one'));
    const queries = queriesOf(rows);
    const at = async (now: number) => {
      const report = await brownoutReport(queries, snapshotWith(), { version: 'v1', successor: 'v2', window: 1, now });
      return { classes: report?.clients.map((one) => one.class), notes: report?.notes.map(({ code }) => code) };
    };
    expect(await at(end - 1)).toEqual({ classes: [null], notes: ['not_over'] });
    expect(await at(end)).toEqual({ classes: ['silent since'], notes: ['may_change'] });
  });

  it('says what the ledger may lack', async () => {
    const rows = rowsOf(refused('one'), refused(otherClients, begin + hour, 9), called(otherClients, end + day));
    const report = await reportOf(rows, { covered: begin + 5 });
    expect(report).toMatchObject({ refused: 10, folded: 9, client_count: 1, clients: [{ client: 'one' }] });
    expect(report.notes.map(({ code }) => code)).toEqual(['gap', 'folded']);
    expect(report.notes[1]?.text).toContain('10 requests since the brownout began');
  });

  it('says that calls of either version may be missing, and not those of another version', async () => {
    const notesAfter = async (version: string) => {
      const { ledger } = ledgerWith(rowsOf(refused('one')), begin - 10 * day);
      const loss = { version, from: end + day, until: end + day + 10, reason: `Calls of /${version} may be missing.` };
      ledger.addLosses([loss], { process: 0, until: 1 });
      const report = await brownoutReport(open(ledger), snapshotWith(), {
        version: 'v1',
        successor: 'v2',
        window: 1,
        now,
      });
      return report?.notes.map(({ text }) => text) ?? [];
    };
    const gap = (version: string) =>
      `The ledger covers only the time since 2026-11-12T02:00:00Z: earlier requests may be missing, and a client that is listed as silent may have called. Calls of /${version} may be missing.`;
    expect(await notesAfter('v1')).toEqual([gap('v1')]);
    expect(await notesAfter('v2')).toEqual([gap('v2')]);
    expect(await notesAfter('v3')).toEqual([]);
  });

  it('is one sentence for the verdict', async () => {
    const rows = rowsOf(refused('one', begin, 1200), refused('two'), moved('two', end));
    const question = { version: 'v1', successor: 'v2', now };
    expect(await brownoutRemark(queriesOf(rows), snapshotWith(), question)).toEqual({
      code: 'brownout',
      text: 'The brownout of /v1 at 2026-11-10T22:00:00Z refused 1,201 requests of 2 clients: 1 moved, 1 silent since.',
    });
    expect(await brownoutRemark(queriesOf(rowsOf(called('one', now))), snapshotWith(), question)).toBeUndefined();
  });

  it('knows the brownouts of routes.yaml that refused nobody, and no others', async () => {
    const queries = queriesOf(rowsOf(called('one', begin + hour)));
    const windows = [
      { at: '2026-11-10T22:00Z', for: '4h' },
      { at: '2026-12-30T14:00Z', for: '1h' },
    ];
    const ask = (window: number | undefined) =>
      brownoutReport(queries, snapshotWith(windows), { version: 'v1', successor: 'v2', window, now });
    expect(await ask(undefined)).toMatchObject({
      number: 1,
      refused: 0,
      clients: [],
      not_refused: [{ client: 'one' }],
    });
    expect(await ask(2)).toMatchObject({ number: 2, refused: 0 });
    expect(await ask(3)).toBeUndefined();
    expect(await ask(begin + 1)).toBeUndefined();
  });

  it('a brownout that was stopped ended then, and one that was skipped says why', async () => {
    const { ledger } = ledgerWith(rowsOf(refused('one'), called('one', begin + 3 * hour)), begin - 10 * day);
    const stopped = { version: 'v1', at: begin, state: 'stopped', changed: begin + 2 * hour } as const;
    const skipped = { version: 'v1', at: begin + 2 * day, state: 'skipped', changed: begin + 2 * day - 1 } as const;
    ledger.saveBrownouts([
      { ...stopped, reason: 'an operator stopped it' },
      { ...skipped, reason: 'the successor has no healthy target.' },
    ]);
    const queries = open(ledger);
    const windows = [
      { at: '2026-11-10T22:00Z', for: '4h' },
      { at: '2026-11-12T22:00Z', for: '1h' },
    ];
    const ask = async (window: number) => {
      const question = { version: 'v1', successor: 'v2', window, now: begin + 3.5 * hour };
      const report = await brownoutReport(queries, snapshotWith(windows), question);
      return report && { text: brownoutSummary(report), classes: report.clients.map((one) => one.class) };
    };
    expect(await ask(1)).toEqual({
      text: 'The brownout of /v1 at 2026-11-10T22:00:00Z refused 1 request of 1 client: 1 kept retrying. It was stopped: an operator stopped it.',
      classes: ['kept retrying'],
    });
    expect(await ask(2)).toEqual({
      text: 'The brownout of /v1 at 2026-11-12T22:00:00Z refused 0 requests. It was skipped: the successor has no healthy target.',
      classes: [],
    });
  });

  it('is empty without any brownout', async () => {
    const question = { version: 'v2', successor: undefined, window: undefined, now };
    expect(await brownoutReport(queriesOf([]), snapshotWith(), question)).toMatchObject({
      brownouts: [],
      number: null,
      clients: [],
      notes: [],
    });
  });
});
