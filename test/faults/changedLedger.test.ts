import { copyFileSync, cpSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../config/temporary.ts';
import { eventually } from '../support/eventually.ts';
import { integrityOf } from '../usage/ledger/ledgerFixture.ts';
import { type CountedGateway, countedGateway } from './countedGateway.ts';

// A ledger whose files another program replaces or removes while the gateway writes and reads them. Real processes and files.

interface Prepared {
  readonly gateway: CountedGateway;
  /** `usage.db` as it was before the gateway started. */
  readonly early: string;
  /** A copy that SQLite made while the gateway ran. */
  readonly late: string;
  /** The folder as it was while the gateway ran. */
  readonly folder: string;
}

const journal = ['-wal', '-shm'];

/** A gateway that could retire both versions, and of which v1 was called after the backups. */
async function prepared(): Promise<Prepared> {
  const gateway = await countedGateway();
  const early = join(temporaryFolder(), 'early.db');
  copyFileSync(gateway.store, early);
  await gateway.start();
  expect((await gateway.verdict('v1')).answer).toBe('yes');
  const late = join(temporaryFolder(), 'late.db');
  const database = new DatabaseSync(gateway.store, { readOnly: true });
  database.prepare('VACUUM INTO ?').run(late);
  database.close();
  const folder = temporaryFolder();
  cpSync(gateway.disk, folder, { recursive: true });
  await gateway.call('v1');
  await eventually(async () => expect((await gateway.verdict('v1')).answer).toBe('no'));
  return { gateway, early, late, folder };
}

/** The versions that may be retired. */
async function retirable(gateway: CountedGateway): Promise<string[]> {
  const found: string[] = [];
  for (const version of ['v1', 'v2']) if ((await gateway.verdict(version)).answer === 'yes') found.push(version);
  return found;
}

it.each<[string, (one: Prepared) => void]>([
  ['an early backup is copied into the file', ({ gateway, early }) => copyFileSync(early, gateway.store)],
  ['a late backup is copied into the file', ({ gateway, late }) => copyFileSync(late, gateway.store)],
  ['a folder is copied over the files', ({ gateway, folder }) => cpSync(folder, gateway.disk, { recursive: true })],
  [
    'a backup is copied into the file, and the journal is removed',
    ({ gateway, early }) => {
      copyFileSync(early, gateway.store);
      for (const suffix of journal) rmSync(gateway.store + suffix);
    },
  ],
  [
    'a backup is moved into the place of the file',
    ({ gateway, early }) => {
      copyFileSync(early, `${gateway.store}.restored`);
      renameSync(`${gateway.store}.restored`, gateway.store);
    },
  ],
  [
    'the journal is removed',
    ({ gateway }) => {
      for (const suffix of journal) rmSync(gateway.store + suffix);
    },
  ],
  ['the journal is removed without its index', ({ gateway }) => rmSync(`${gateway.store}-wal`)],
  ['the journal is emptied', ({ gateway }) => truncateSync(`${gateway.store}-wal`)],
  ['the file is emptied', ({ gateway }) => truncateSync(gateway.store)],
])('coverage restarts, and the ledger is written again, when %s', async (_name, change) => {
  const one = await prepared();
  const { gateway } = one;
  change(one);
  // The answer is preceded by a look at the file.
  expect(await retirable(gateway)).toEqual([]);
  expect(gateway.stderr()).toContain('Coverage restarts');
  await gateway.call('v2');
  await eventually(async () => {
    const { reasons } = await gateway.verdict('v2');
    // The call is counted, and nothing is wrong with the ledger but that it is short.
    expect(reasons.map(({ code }) => code)).toEqual(['ledger_short', 'clients_left']);
  });
  expect(gateway.isRunning).toBe(true);
  expect(await gateway.end('SIGTERM')).toBe(0);
  expect(integrityOf(gateway.store)).toBe('ok');
  expect(gateway.stderr()).not.toMatch(/cannot be written|are lost\./);
  const began = coverageBegan(gateway.store);
  await gateway.start();
  expect(await retirable(gateway)).toEqual([]);
  // What was covered since stays covered.
  expect(gateway.stderr()).not.toContain('may be missing');
  expect(coverageBegan(gateway.store)).toBe(began);
});

it('coverage continues when another program checkpoints the journal', async () => {
  const { gateway } = await prepared();
  const other = new DatabaseSync(gateway.store);
  other.exec('PRAGMA wal_checkpoint(PASSIVE)');
  other.close();
  expect(await retirable(gateway)).toEqual(['v2']);
  expect(gateway.stderr()).not.toContain('Coverage restarts');
});

/** When the first run in the ledger began, epoch ms. */
function coverageBegan(store: string): unknown {
  const database = new DatabaseSync(store, { readOnly: true });
  try {
    return database.prepare('SELECT MIN(began) AS began FROM runs').get()?.['began'];
  } finally {
    database.close();
  }
}
