import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../config/temporary.ts';
import { type CountedGateway, countedGateway } from './countedGateway.ts';

// Backups of the ledger of one gateway, as docs/backup.md describes them. Real processes and files.

async function startCovered(): Promise<CountedGateway> {
  const gateway = await countedGateway();
  await gateway.start();
  expect((await gateway.verdict('v1')).answer).toBe('yes');
  return gateway;
}

/** As `sqlite3 usage.db "VACUUM INTO 'copy.db'"` does. */
function vacuumInto(store: string): string {
  const copy = join(temporaryFolder(), 'copy.db');
  const database = new DatabaseSync(store, { readOnly: true });
  database.prepare('VACUUM INTO ?').run(copy);
  database.close();
  return copy;
}

function copyFolder(disk: string): string {
  const copy = temporaryFolder();
  cpSync(disk, copy, { recursive: true });
  return copy;
}

function emptyFolder(disk: string): void {
  for (const name of readdirSync(disk)) rmSync(join(disk, name), { recursive: true });
}

async function callAndEnd(gateway: CountedGateway): Promise<void> {
  expect(await gateway.call('v1')).toBe(200);
  expect(await gateway.end('SIGTERM')).toBe(0);
}

/** The versions of which calls may be missing. */
async function uncovered(gateway: CountedGateway): Promise<string[]> {
  const found: string[] = [];
  for (const version of ['v1', 'v2']) {
    const { answer } = await gateway.verdict(version);
    // The verdict and the guard agree.
    expect([version, await gateway.guardAccepts(version)]).toEqual([version, answer === 'yes']);
    if (answer !== 'yes') found.push(version);
  }
  return found;
}

it('a copy of the running ledger, while the marks of calls are kept', async () => {
  const gateway = await startCovered();
  const copy = vacuumInto(gateway.store);
  await callAndEnd(gateway);
  for (const suffix of ['', '-wal', '-shm']) rmSync(gateway.store + suffix, { force: true });
  cpSync(copy, gateway.store);
  await gateway.start();
  expect(await uncovered(gateway)).toEqual(['v1']);
});

it('a copy of the running ledger in an empty folder', async () => {
  const gateway = await startCovered();
  const copy = vacuumInto(gateway.store);
  await callAndEnd(gateway);
  emptyFolder(gateway.disk);
  cpSync(copy, gateway.store);
  await gateway.start();
  expect(await uncovered(gateway)).toEqual(['v1', 'v2']);
});

it('a copy of the stopped ledger in an empty folder', async () => {
  const gateway = await startCovered();
  await gateway.end('SIGTERM');
  const copy = vacuumInto(gateway.store);
  await gateway.start();
  await callAndEnd(gateway);
  emptyFolder(gateway.disk);
  cpSync(copy, gateway.store);
  await gateway.start();
  expect(await uncovered(gateway)).toEqual(['v1', 'v2']);
});

it.each([
  ['was stopped', true],
  ['ran', false],
])('a copy of the whole folder, made while the gateway %s', async (_when, isStopped) => {
  const gateway = await startCovered();
  if (isStopped) await gateway.end('SIGTERM');
  const copy = copyFolder(gateway.disk);
  if (isStopped) await gateway.start();
  await callAndEnd(gateway);
  emptyFolder(gateway.disk);
  cpSync(copy, gateway.disk, { recursive: true });
  await gateway.start();
  expect(await uncovered(gateway)).toEqual(['v1', 'v2']);
});

it.each([
  ['a copy of the running ledger', vacuumInto],
  ['a copy that SQLite made, page by page', (store: string) => restoredInto(store, join(temporaryFolder(), 'copy.db'))],
])('%s, restored through SQLite while the gateway runs', async (_name, copyOf) => {
  const gateway = await startCovered();
  const copy = await copyOf(gateway.store);
  expect(await gateway.call('v1')).toBe(200);
  expect(await uncovered(gateway)).toEqual(['v1']);
  await restoredInto(copy, gateway.store);
  // The call is lost, and with it the time.
  expect(await uncovered(gateway)).toEqual(['v1', 'v2']);
  expect(gateway.stderr()).toContain('its content was replaced');
});

it('a copy of the running ledger, copied into its place while the gateway runs', async () => {
  const gateway = await startCovered();
  const copy = vacuumInto(gateway.store);
  expect(await gateway.call('v1')).toBe(200);
  expect(await uncovered(gateway)).toEqual(['v1']);
  // A checkpoint, such as SQLite makes after some thousand rows, so that the journal does not have all that the copy lacks.
  const database = new DatabaseSync(gateway.store);
  database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
  database.close();
  expect(await uncovered(gateway)).toEqual(['v1']);
  writeFileSync(gateway.store, readFileSync(copy));
  expect(await uncovered(gateway)).toEqual(['v1', 'v2']);
  expect(gateway.stderr()).toContain('its content was replaced');
});

/** As `sqlite3 TO ".restore FROM"` does. */
async function restoredInto(from: string, to: string): Promise<string> {
  const database = new DatabaseSync(from, { readOnly: true });
  await backup(database, to);
  database.close();
  return to;
}
