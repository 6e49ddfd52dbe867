import { afterEach, beforeAll, expect, it } from 'vitest';
import { acceptedRecord, configHash } from '../../../gateway/config/acceptedConfig.ts';
import { answerSettingsOf } from '../../../gateway/config/answerSettings.ts';
import { rootApi } from '../../../gateway/config/api.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Sql } from '../../../gateway/operate/fleet/postgres.ts';
import { schemaName } from '../../../gateway/operate/fleet/schema.ts';
import { mergeBrownouts, readSharedConfig, writeSharedConfig } from '../../../gateway/operate/fleet/sharedConfig.ts';
import { startStore } from '../../support/postgres.ts';

let sql: Sql;
beforeAll(async () => {
  const opened = await startStore();
  ({ sql } = opened);
  return opened.close;
});
afterEach(() => sql.query(`TRUNCATE ${schemaName}.accepted`));

const snapshot = snapshotFrom({
  routes: {
    '/v1': { upstream: 'http://127.0.0.1:1', deprecation: '2026-01-01', sunset: '2027-01-01' },
    '/v2': { upstream: 'http://127.0.0.1:2' },
  },
  guard: { force: { '/v1': 'agreed with all clients' } },
});
const accepted = (gateway: string, age: number) => ({
  record: acceptedRecord(snapshot),
  hash: configHash(snapshot),
  gateway,
  age,
  answers: JSON.stringify(answerSettingsOf(snapshot)),
});

it('has no configuration at first', async () => {
  expect(await readSharedConfig(sql)).toBeUndefined();
});

it('ignores a configuration in an unknown format', async () => {
  await sql.query(
    `INSERT INTO ${schemaName}.accepted (id, config, hash, gateway) VALUES (1, '{"format": 2}', 'x', 'gw')`,
  );
  expect(await readSharedConfig(sql)).toBeUndefined();
});

it('returns the configuration that was accepted last', async () => {
  await writeSharedConfig(sql, accepted('gw-1', 0));
  const found = await readSharedConfig(sql);
  expect(found).toMatchObject({ hash: configHash(snapshot), gateway: 'gw-1', answers: accepted('gw-1', 0).answers });
  expect(found?.config.versions.get('v1')).toMatchObject({ sunset: snapshot.versions.get('v1')?.sunset });
  expect(found && rootApi(found.config).guard.force).toEqual(new Map([['v1', 'agreed with all clients']]));
});

it('is not replaced by one that was accepted earlier', async () => {
  await writeSharedConfig(sql, accepted('gw-1', 0));
  await writeSharedConfig(sql, accepted('gw-2', 60_000));
  expect((await readSharedConfig(sql))?.gateway).toBe('gw-1');
  await writeSharedConfig(sql, accepted('gw-3', 0));
  expect((await readSharedConfig(sql))?.gateway).toBe('gw-3');
});

it('the first decision about a brownout counts in the fleet, and only an approval is replaced', async () => {
  const record = { version: 'v1', at: 1_800_000_000_000, state: 'approved', reason: null, changed: 1 } as const;
  const skipped = { ...record, state: 'skipped', reason: 'no successor' } as const;
  const stopped = { ...record, state: 'stopped', reason: 'stopped by an operator', changed: 2 } as const;
  expect(await mergeBrownouts(sql, [])).toEqual([]);
  const answers = await Promise.all([mergeBrownouts(sql, [record]), mergeBrownouts(sql, [record])]);
  expect(answers).toEqual([[record], [record]]);
  expect(await mergeBrownouts(sql, [{ ...record, changed: 3 }])).toEqual([record]);
  expect(await mergeBrownouts(sql, [stopped, { ...skipped, at: 1 }])).toEqual([{ ...skipped, at: 1 }, stopped]);
  expect(await mergeBrownouts(sql, [record, { ...record, at: 1 }])).toEqual([{ ...skipped, at: 1 }, stopped]);
});
