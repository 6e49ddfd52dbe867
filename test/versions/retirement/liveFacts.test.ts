import { expect, it } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { answerTo } from '../../../gateway/operate/admin/reading/answers.ts';
import { versionUsage } from '../../../gateway/process/runtime/reload.ts';
import type { ServingReport } from '../../../gateway/usage/observability/report.ts';
import type { UsageQueries } from '../../../gateway/usage/usageQueries.ts';
import { CallsQuestion, type LiveSources } from '../../../gateway/versions/retirement/liveFacts.ts';
import { directLedgerClient } from '../../support/directLedgerClient.ts';
import { day, ledgerWith, row } from '../../support/ledgerWith.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const upstream = 'http://127.0.0.1:3001';
const ended = { upstream, deprecation: '2026-01-01', sunset: '2026-02-01' };
const snapshot = snapshotFrom({
  routes: { '/v1': ended, '/v2': upstream },
  retire: { quiet: '1d', ignore_clients: ['probe'] },
  guard: { quiet: '1d' },
});
const idle: ServingReport = { versions: [], workers: [] };

/** Every place that answers whether /v1 is called, asked of the same gateway: whether it says that it is not, and why it does not. */
async function answersOf(queries: UsageQueries, more: Partial<LiveSources> = {}) {
  const sources: LiveSources = {
    flush: async () => true,
    report: async () => idle,
    ledger: queries,
    fleet: undefined,
    ...more,
  };
  const state = await new CallsQuestion(sources).answer(['v1', 'v2'], day);
  const json = async <Answer>(answer: Promise<object>): Promise<Answer> => {
    const { body } = (await answer) as { body: Uint8Array };
    return JSON.parse(new TextDecoder().decode(body));
  };
  const verdict = await json<{ answer: string; reasons: { code: string }[] }>(
    answerTo('retirement', queries, snapshot, { version: 'v1', quiet: day, state, now }),
  );
  const usage = await versionUsage(snapshot, sources, directLedgerClient(queries), now, { endedVersions: ['v1'] });
  const guard = usage.calls('v1');
  const plan = await json<{ known: boolean; total: { lost: number } }>(
    answerTo('plan', queries, snapshot, { candidate: { retired: 'v1' }, since: now - day, at: now, now, state }),
  );
  return {
    verdict: verdict.answer,
    guard: guard?.called,
    plan: plan.total.lost > 0 ? 'lost' : plan.known,
    reasons: [
      verdict.reasons.map(({ code }) => code),
      [...(guard?.missing ?? []), ...(guard?.pending ?? [])].map(({ code }) => code),
    ],
  };
}

const covered = (...rows: ReturnType<typeof row>[]) =>
  ledgerWith([row('v2', 'x-client-id:a', now), ...rows], now - 30 * day).queries;
const unused = { verdict: 'yes', guard: 'no', plan: true };

it('all places say yes with a complete ledger and an idle gateway', async () => {
  expect(await answersOf(covered())).toMatchObject(unused);
});

it('a call of an ignored client does not count in any place', async () => {
  const answers = await answersOf(covered(row('v1', 'user-agent:probe', now - 1_000)));
  expect(answers).toMatchObject({ verdict: 'yes', guard: 'no' });
});

it.each<[string, Partial<LiveSources>, string]>([
  ['a process has not sent its counts', { flush: async () => false }, 'counts_waiting'],
  ['rows wait in memory after the disk was full', { ledger: { unwrittenRows: 1 } }, 'counts_waiting'],
  [
    'a worker does not answer',
    { report: async () => ({ ...idle, workers: [{ pid: 1, since: 0, unresponsiveSince: now - 1_000 }] }) },
    'worker_unresponsive',
  ],
  [
    'a gateway of the fleet is silent',
    {
      fleet: {
        createCountsQuestion: () => ({ id: 1, at: now }),
        awaitCounts: async () => new Map(),
        facts: () => ({
          ...{ heard: 1, inFlight: 0, waiting: 0, notes: [], remarksOnUnsent: [] },
          gaps: [{ code: 'gateway_silent', text: 'Gateway gw-3 has not been heard for 40 s.' }],
        }),
      },
    },
    'gateway_silent',
  ],
])('no place says yes if %s', async (_when, sources, code) => {
  expect(await answersOf(covered(), sources)).toEqual({
    verdict: 'not yet',
    guard: 'not known',
    plan: false,
    reasons: [[code], [code]],
  });
});

it('no place says yes after a call of the version was lost, and a loss of another version does not matter', async () => {
  const lost = async (version: string) => {
    const { ledger, queries } = ledgerWith([row('v2', 'x-client-id:a', now)], now - 30 * day);
    const loss = { version, from: now - 3_600_000, until: now - 3_599_000, reason: 'A worker was killed.' };
    ledger.addLosses([loss], { process: 0, until: 1 });
    return answersOf(queries);
  };
  expect(await lost('v2')).toMatchObject(unused);
  expect(await lost('v1')).toMatchObject({ verdict: 'not yet', guard: 'not known', plan: false });
});
