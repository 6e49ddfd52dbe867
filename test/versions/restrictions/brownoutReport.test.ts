import { expect, it } from 'vitest';
import type { BrownoutReport } from '../../../gateway/versions/retirement/brownoutReport.ts';
import { okAnswer, startBackend } from '../../support/backend.ts';
import { ask, get } from '../../support/rawClient.ts';
import { startRestricted } from './restrictedGateway.ts';

it('a gateway reports what each of six clients did after a brownout', async () => {
  const backend = await startBackend(okAnswer);
  const brownouts = [{ at: '2027-03-02T14:00Z', for: '1h' }];
  const file = {
    routes: {
      '/v1': { upstream: backend.url, deprecation: '2027-01-01', sunset: '2027-06-01', brownouts },
      '/v2': backend.url,
    },
    brownout: { unnamed: '100%', max_share: '100%', spare: ['spared'] },
  };
  const gateway = await startRestricted(file, '2027-03-02T13:00:00Z');
  const clients = ['mover', 'stubborn', 'undecided', 'returner', 'silent', 'spared'];
  const report = async (): Promise<BrownoutReport> => {
    const response = await fetch(`http://127.0.0.1:${gateway.adminPort}/api/brownouts/v1`);
    expect(response.status).toBe(200);
    return (await response.json()) as BrownoutReport;
  };
  const call = async (time: string, path: string, ...names: readonly string[]): Promise<number[]> => {
    gateway.at(time);
    const statuses: number[] = [];
    for (const name of names) statuses.push((await ask(gateway.port, get(path, `X-Client-Id: ${name}`))).status);
    // The report flushes the counts, before the clock moves on.
    await report();
    return statuses;
  };
  const isApproved = async (): Promise<boolean> => {
    const { brownouts: all } = (await (await fetch(`http://127.0.0.1:${gateway.adminPort}/api/brownouts`)).json()) as {
      brownouts: { state: string }[];
    };
    return all[0]?.state === 'approved';
  };

  expect(await call('2027-03-02T13:30:00Z', '/v1/x', ...clients)).toEqual([200, 200, 200, 200, 200, 200]);
  gateway.at('2027-03-02T13:59:40Z');
  await expect.poll(isApproved).toBe(true);
  expect(await call('2027-03-02T14:10:00Z', '/v1/x', ...clients)).toEqual([503, 503, 503, 503, 503, 200]);
  expect(await call('2027-03-02T14:20:00Z', '/v1/x', 'stubborn', 'stubborn', 'mover')).toEqual([503, 503, 503]);
  expect(await report()).toMatchObject({ refused: 8, client_count: 5 });
  expect((await report()).clients.map((one) => one.class)).toEqual([null, null, null, null, null]);
  await call('2027-03-02T15:00:00Z', '/v1/x', 'stubborn');
  await call('2027-03-03T16:00:00Z', '/v2/x', 'mover', 'undecided');
  await call('2027-03-05T09:00:00Z', '/v1/x', 'undecided', 'returner', 'spared');
  gateway.at('2027-03-12T00:00:00Z');

  const { clients: found, not_refused: notRefused, classes, refused } = await report();
  expect(found.map((one) => [one.client, one.refused, one.class])).toEqual([
    ['x-client-id:stubborn', 3, 'kept retrying'],
    ['x-client-id:mover', 2, 'moved'],
    ['x-client-id:returner', 1, 'came back'],
    ['x-client-id:silent', 1, 'silent since'],
    ['x-client-id:undecided', 1, 'both'],
  ]);
  expect(notRefused).toEqual([{ client: 'x-client-id:spared', name: null, requests: 2, spared: true }]);
  expect([refused, classes]).toEqual([8, { 'kept retrying': 1, both: 1, 'came back': 1, moved: 1, 'silent since': 1 }]);
  const verdict = await fetch(`http://127.0.0.1:${gateway.adminPort}/api/versions/v1/retirement`);
  const { notes } = (await verdict.json()) as { notes: { code: string; text: string }[] };
  expect(notes.find(({ code }) => code === 'brownout')?.text).toBe(
    'The brownout of /v1 at 2027-03-02T14:00:00Z refused 8 requests of 5 clients: 1 kept retrying, 1 both, 1 came back, 1 moved, 1 silent since.',
  );
});
