import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Postgres } from '../../../gateway/operate/fleet/postgres.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

async function connect(): Promise<Postgres> {
  return Postgres.open({ store: await server.database(), passwordFile: undefined });
}

describe('Postgres', () => {
  it('returns big integers and sums as numbers', async () => {
    const sql = await connect();
    const rows = await sql.query(
      'SELECT 5000000000::bigint AS a, SUM(x)::numeric AS b FROM (VALUES ($1::int)) AS t(x)',
      [7],
    );
    expect(rows).toEqual([{ a: 5_000_000_000, b: 7 }]);
    await sql.close();
  });

  it('rolls a failed transaction back', async () => {
    const sql = await connect();
    await sql.query('CREATE TABLE t (x int)');
    const failing = sql.transaction(async (inner) => {
      await inner.query('INSERT INTO t VALUES (1)');
      await inner.query('SELECT nonsense');
    });
    await expect(failing).rejects.toMatchObject({ name: 'StoreError', code: '42703' });
    expect(await sql.query('SELECT * FROM t')).toEqual([]);
    await sql.close();
  });

  it('answers again after the server crashed and came back', async () => {
    const sql = await connect();
    await sql.query('SELECT 1');
    await server.crash();
    await expect(sql.query('SELECT 1')).rejects.toMatchObject({ name: 'StoreError', code: 'ECONNREFUSED' });
    await server.start();
    expect(await sql.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await sql.close();
  });

  it('reads the password from a file, and never shows it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'vg-password-'));
    const file = join(folder, 'password');
    const store = await server.database();
    await expect(Postgres.open({ store, passwordFile: file })).rejects.toThrow(
      `fleet.password_file: ${file} cannot be read: there is no such file`,
    );
    writeFileSync(file, 'p@ss/word#1\n');
    const sql = await Postgres.open({ store: store.replace(/test\d+$/, 'missing'), passwordFile: file });
    const failure = await sql.query('SELECT 1').catch(String);
    expect(failure).toContain('database "missing" does not exist');
    expect(failure).not.toContain('p@ss');
    await sql.close();
  });
});
