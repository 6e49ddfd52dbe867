import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { PassedCounts } from '../../../gateway/process/runtime/serving.ts';
import { Telemetry } from '../../../gateway/process/runtime/telemetry.ts';
import { systemClock } from '../../../gateway/shared/clock.ts';
import { ClientIdentification } from '../../../gateway/usage/counting/identification.ts';
import type { UsageBatch } from '../../../gateway/usage/usageRow.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { successfulExchange } from '../../usage/observability/recorded.ts';

function telemetry() {
  const file = join(temporaryFolder(), 'access.log');
  const snapshot = snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:3001' }, log: { access: file } });
  const taken: UsageBatch[number][] = [];
  const usage = { salt: 'salt', receive: ({ batch }: PassedCounts) => void taken.push(...batch) };
  const source = { current: snapshot, identification: new ClientIdentification(snapshot.usage.identify, 'salt') };
  const own = new Telemetry(source, { clock: systemClock, notice: () => undefined, usage, logs: true });
  onTestFinished(() => own.close());
  const requests = async (): Promise<number> => {
    const all = (await own.metrics()).find(({ name }) => name === 'version_gateway_requests_total');
    return all?.values.reduce((sum, { value }) => sum + value, 0) ?? Number.NaN;
  };
  return { own, file, source, taken, requests };
}

it('includes the latest exchanges in the metrics', async () => {
  const { own, requests } = telemetry();
  for (let count = 1; count <= 3; count += 1) {
    own.recorder.record(successfulExchange);
    expect(await requests()).toBe(count);
  }
});

it('reports since when calls are unsent, even if some were passed on within a batch of records', async () => {
  const { own, taken } = telemetry();
  const endedAt = Date.now() - 10_000;
  // More rows than wait, and a whole number of batches, so that the last records are counted after the others were passed on.
  for (let count = 0; count < 16 * 128; count += 1)
    own.recorder.record({ ...successfulExchange, endedAt, rawHeaders: ['X-Client-Id', `app-${count}`] });
  expect(taken).toHaveLength(2_000);
  expect(own.unsentSince()[successfulExchange.version]).toBe(endedAt);
});

it('writes exchanges recorded before the log was reopened to the old file', async () => {
  const { own, file } = telemetry();
  own.recorder.record(successfulExchange);
  renameSync(file, `${file}.1`);
  await own.reopenLogs();
  own.recorder.record({ ...successfulExchange, id: 'id-2' });
  await own.close();
  expect(readFileSync(`${file}.1`, 'utf8')).toMatch(/^\{.*"id":"id-1".*\}\n$/);
  expect(readFileSync(file, 'utf8')).toMatch(/^\{.*"id":"id-2".*\}\n$/);
});

it('counts exchanges recorded before a reload by the old settings', async () => {
  const { own, source, taken } = telemetry();
  own.recorder.record({ ...successfulExchange, rawHeaders: ['X-Client-Id', 'app'] });
  source.current = { ...source.current, usage: { ...source.current.usage, identify: [] } };
  source.identification = new ClientIdentification([], 'salt');
  await own.applyCurrent();
  own.recorder.record({ ...successfulExchange, rawHeaders: ['X-Client-Id', 'app'] });
  await own.close();
  expect(taken.map(({ client, requests }) => [client, requests])).toEqual([
    ['x-client-id:app', 1],
    ['unknown', 1],
  ]);
});
