import { onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { createDiscovery } from '../../../gateway/operate/discovery/app.ts';
import { DataPlane } from '../../../gateway/process/runtime/dataPlane.ts';
import { closeListener, createClientListener, listen, portOf } from '../../../gateway/proxy/pipeline/clientListener.ts';
import type { ExchangeRecord, Recorder } from '../../../gateway/usage/observability/exchangeRecord.ts';
import { fastLane } from '../../support/gateway.ts';

/** A gateway whose exchanges are recorded; `more`: further sections of its routes.yaml. */
export async function startRecorded(
  routes: Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, unknown>> = {},
  recorder?: Recorder,
): Promise<{ port: number; records: ExchangeRecord[]; requestsByVersion: DataPlane['requestsByVersion'] }> {
  const records: ExchangeRecord[] = [];
  const snapshot = snapshotFrom({ routes, gateway: { listen: '127.0.0.1:0', ...fastLane }, ...more });
  const dataPlane = new DataPlane(snapshot, { discovery: createDiscovery });
  dataPlane.context.recorder = recorder ?? { record: (one) => void records.push(one) };
  const front = createClientListener(snapshot.gateway, dataPlane.context);
  await listen(front, snapshot.gateway.listen);
  onTestFinished(async () => {
    dataPlane.close();
    await closeListener(front);
  });
  return { port: portOf(front), records, requestsByVersion: dataPlane.requestsByVersion };
}

/** An exchange without failure, to be varied by tests. */
export const successfulExchange: ExchangeRecord = {
  id: 'id-1',
  at: Date.parse('2026-11-21T08:00:00.042Z'),
  version: 'v1',
  stage: 'active',
  method: 'GET',
  path: '/v1/drinks/7',
  query: '',
  resource: '/drinks/7',
  paths: undefined,
  status: 200,
  problem: undefined,
  target: 'http://127.0.0.1:3001',
  served: true,
  duration: 12.3456,
  upstreamMs: 11.1,
  bytesIn: 3,
  bytesOut: 5,
  bodySize: 3,
  targetSize: 12,
  headSize: 100,
  retries: 0,
  fault: undefined,
  cause: undefined,
  scheme: 'http',
  traceId: '0af7651916cd43dd8448eb211c80319c',
  address: '192.0.2.7',
  endedAt: 0,
  rawHeaders: [],
};
