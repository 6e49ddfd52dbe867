import { randomBytes } from 'node:crypto';
import { createReadStream, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ShadowStatus } from '../../../gateway/contracts/shadow/sampling/comparisonStatus.ts';
import { LedgerReader } from '../../../gateway/usage/ledger/reader.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { answer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { gatewayMain } from '../../support/gatewayMain.ts';
import { run } from '../../support/process.ts';
import { ask, get } from '../../support/rawClient.ts';
import { everything } from './shadowedGateway.ts';

const json = 'Content-Type: application/json';

const schema = { type: 'object', properties: { name: { type: 'string' }, price: { type: 'number' } } };
const content = { 'application/json': { schema } };
const operation = { get: { responses: { 200: { description: 'A drink', content } } } };
const contract = {
  openapi: '3.1.0',
  info: { title: 'Drinks', version: '1' },
  paths: { '/drinks': operation, '/broken': operation },
};

async function contains(file: string, markers: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  let rest = '';
  for await (const piece of createReadStream(file, { encoding: 'latin1' })) {
    const text = rest + piece;
    for (const marker of markers) if (text.includes(marker)) found.add(marker);
    rest = text.slice(-100);
  }
  return [...found].map((marker) => `${file} contains ${marker}`);
}

it('keeps no body in memory, and writes none to the ledger or a log', async () => {
  // The gateway process learns them from bodies only: a value of each version, a name, and a text that is not JSON.
  const [old, now, key, text] = ['old', 'now', 'key', 'text'].map((word) => `${word}${randomBytes(9).toString('hex')}`);
  const body = (name: string, price: unknown): string =>
    answer(200, JSON.stringify({ name, price, [`${key}@x.test`]: 1 }), json);
  const notJson = answer(200, `{"a": ${text}`, json);
  const v1 = await startBackend(({ raw }) => (raw.includes('/broken') ? notJson : body(`${old}`, 1)));
  const v2 = await startBackend(({ raw }) => (raw.includes('/broken') ? notJson : body(`${now}`, `${now}`)));
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'contract.json'), JSON.stringify(contract));
  const store = join(folder, 'usage.db');
  const file = {
    gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0' },
    usage: { store },
    log: { access: './access.log' },
    routes: {
      '/v1': { upstream: v1.url, contract: 'contract.json', shadow: { ...everything, control: '100%' } },
      '/v2': { upstream: v2.url, contract: 'contract.json' },
    },
  };
  writeFileSync(join(folder, 'routes.yaml'), JSON.stringify(file));
  const hook = new URL('heapSnapshots.ts', import.meta.url).pathname;
  const args = ['--import', hook, gatewayMain, 'start', '--config', join(folder, 'routes.yaml')];
  const gateway = run(process.execPath, args, { HEAP_FOLDER: folder });
  const [, port] = await gateway.printed(/listens on https?:\/\/127\.0\.0\.1:(\d+)/);
  const [, admin] = await gateway.printed(/(http:\/\/127\.0\.0\.1:\d+)\/readyz/);

  await eventually(async () => {
    for (const path of ['/v1/drinks', '/v1/broken']) await ask(Number(port), get(path, 'X-Client-Id: shop'));
    const { shadows } = (await (await fetch(`${admin}/api/shadow`)).json()) as { shadows: ShadowStatus[] };
    expect(shadows[0]?.copies['shadow']?.['compared']).toBeGreaterThan(20);
    expect(shadows[0]?.copies['control']?.['compared']).toBeGreaterThan(20);
  });
  // The comparison has found something, so the bodies were read.
  await eventually(async () => {
    const ledger = LedgerReader.open(store);
    const rows = await ledger.evidence?.of('v1');
    ledger.close();
    expect(rows?.filter(({ kind }) => kind === 'shadow').length).toBeGreaterThan(0);
  });

  gateway.child.kill('SIGWINCH');
  const [, written] = await gateway.printed(/wrote (\d+) heap snapshots/);
  const files = readdirSync(folder).map((name) => join(folder, name));
  const snapshots = files.filter((name) => name.endsWith('.heapsnapshot'));
  expect([snapshots.length, Number(written) > 2]).toEqual([Number(written), true]);
  // The search works: the route is in both.
  expect((await Promise.all(snapshots.map((one) => contains(one, ['/drinks'])))).flat().length).toBeGreaterThan(1);
  expect((await Promise.all(files.map((one) => contains(one, [old, now, key, text].map(String))))).flat()).toEqual([]);
  expect(gateway.output()).not.toMatch(new RegExp([old, now, key, text].join('|')));
});
