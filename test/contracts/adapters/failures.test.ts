import { expect, it, onTestFinished } from 'vitest';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { answer, startBackend } from '../../support/backend.ts';
import { ask, get } from '../../support/rawClient.ts';
import { prepared, servedSnapshot } from './servedVersion.ts';

it('a reload that changes the adapter removes the failures of the former one from the status', async () => {
  const backend = await startBackend(answer(200, 'no JSON'));
  const served = servedSnapshot(backend.url);
  const sortedVersions = served.sortedVersions.map((one) =>
    one.adapter
      ? { ...one, adapter: { ...one.adapter, derivedFromContracts: { ...prepared, hash: 'fedcba543210' } } }
      : one,
  );
  const changed = {
    ...served,
    fingerprint: 'changed',
    guard: { ...served.guard, force: new Map([['v1', 'a test']]) },
    sortedVersions,
    versions: new Map(sortedVersions.map((one) => [one.name, one])),
  };
  const running = await startGateway(served, { load: () => changed });
  onTestFinished(() => running.close());
  const adapter = async () => {
    const response = await fetch(`http://127.0.0.1:${running.adminPort}/api/status`);
    const { versions } = (await response.json()) as { versions: { adapter: object }[] };
    return versions[0]?.adapter;
  };
  expect((await ask(running.port, get('/v1/drinks/7'))).status).toBe(502);
  expect((await ask(running.port, get('/v1/unknown'))).status).toBe(410);
  expect(await adapter()).toMatchObject({ failures: [{ route: 'GET /drinks/{id}', count: 1 }], not_adapted: 1 });
  expect((await running.reload('admin')).kind).toBe('reloaded');
  expect(await adapter()).toMatchObject({ failures: [], not_adapted: 0 });
});
