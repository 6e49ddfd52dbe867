// The tables of the ledger. The names of versions, clients and routes are stored once and referred to by id. Requests are
// added up per version, per client, per route, and per client and route, so that each query reads as few rows as possible.

/** The SQLite application id of a ledger: the letters VGUL. */
export const applicationId = 0x5647554c;
/** A ledger with a higher version was written by a later release and is not touched. */
export const schemaVersion = 9;
/** The version that records how runs ended (`runs.closed`), lost calls (`losses`), and the sizes of requests (`sizes`). */
export const lossesVersion = 9;
/** Since this version of the ledger, the tables of clients per route tell which requests failed. Earlier versions lack columns. */
export const routeOutcomesVersion = 5;

export const subjects = ['version', 'client', 'route'] as const;
export type Subject = (typeof subjects)[number];

// A block is 30 days.
const spanLengths = ['hour', 'day', 'block'];

/** `item`: the client or route, 0 in the tables of versions. `first` and `last`: ms from the start of the span. */
const sumTables = subjects.flatMap((subject) =>
  spanLengths.map(
    (length) => `
  CREATE TABLE ${subject}_${length} (
    version INTEGER NOT NULL, span INTEGER NOT NULL, item INTEGER NOT NULL,
    requests INTEGER NOT NULL, errors INTEGER NOT NULL, served INTEGER NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL,
    failing INTEGER NOT NULL DEFAULT 0, refused INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (version, span, item)
  ) WITHOUT ROWID;`,
  ),
);

const pairOutcomes = ['served', 'failing', 'refused'].map((column) => `${column} INTEGER NOT NULL DEFAULT 0`);

/**
 * Requests per client and route. There is no table of blocks, because it would have nearly as many rows as the table of days: most
 * clients use most of their routes on few days of a month. And routes are read only for a few clients at a time.
 */
const pairTables = ['hour', 'day'].map(
  (length) => `
  CREATE TABLE pair_${length} (
    version INTEGER NOT NULL, span INTEGER NOT NULL, client INTEGER NOT NULL, route INTEGER NOT NULL,
    requests INTEGER NOT NULL, errors INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    ${pairOutcomes.join(', ')},
    PRIMARY KEY (version, span, client, route)
  ) WITHOUT ROWID;`,
);

const nameTables = subjects.map(
  (subject) => `CREATE TABLE ${subject}s (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);`,
);

const acceptedColumn = 'accepted INTEGER NOT NULL DEFAULT 0';
const lossesColumn = 'losses TEXT';
/** The columns of sizes, in bytes. */
export const sizeColumns = ['body', 'target', 'head'] as const;
const outboxSizes = sizeColumns.map((column) => `${column} INTEGER NOT NULL DEFAULT 0`);
const sizesInOutbox = `, ${outboxSizes.join(', ')}`;
// `epoch`: the number of the run of the gateway.
const outboxRows = `
  CREATE TABLE outbox_rows (
    epoch INTEGER NOT NULL, seq INTEGER NOT NULL,
    version TEXT NOT NULL, client TEXT NOT NULL, route TEXT NOT NULL, hour INTEGER NOT NULL,
    requests INTEGER NOT NULL, errors INTEGER NOT NULL, served INTEGER NOT NULL, failing INTEGER NOT NULL,
    refused INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, used INTEGER NOT NULL,
    ${acceptedColumn},
    brownout INTEGER NOT NULL DEFAULT 0${sizesInOutbox},
    PRIMARY KEY (epoch, hour, version, client, route, brownout)
  ) WITHOUT ROWID;
  CREATE INDEX outbox_rows_of_batch ON outbox_rows (epoch, seq);
`;

/**
 * The batches that wait for the shared store of a fleet. `epoch`, `seq`: the numbers of the run and of the batch in it. `rows`: the
 * batch as JSON; NULL: its rows are in `outbox_rows`. `losses`: the calls that may be missing, as JSON; NULL: none. `since`: when the
 * batch began to wait. `size`: the number of its rows. Without a fleet these tables stay empty.
 */
const outboxTables = `
  CREATE TABLE outbox (
    epoch INTEGER NOT NULL, seq INTEGER NOT NULL, began INTEGER NOT NULL, seen INTEGER NOT NULL, restarted INTEGER,
    salt TEXT NOT NULL, since INTEGER NOT NULL, size INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0, rows TEXT,
    ${lossesColumn}, PRIMARY KEY (epoch, seq)
  );
  ${outboxRows}
`;

/** The refused requests of each client in each brownout. `brownout`: its start, epoch ms. `first` and `last`: epoch ms. */
const brownoutTable = `
  CREATE TABLE brownout_client (
    version INTEGER NOT NULL, brownout INTEGER NOT NULL, client INTEGER NOT NULL,
    refused INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (version, brownout, client)
  ) WITHOUT ROWID;
`;

/** What was decided about each brownout: approved, skipped, stopped or ended. */
const brownoutRecords = `
  CREATE TABLE brownouts (
    version TEXT NOT NULL, at INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT, changed INTEGER NOT NULL,
    PRIMARY KEY (version, at)
  ) WITHOUT ROWID;
`;

/**
 * How often compared responses had a property, such as a type at a path of the body. The columns are the fields of `EvidenceRow`;
 * `target` is its `to`.
 */
const evidenceTable = `
  CREATE TABLE evidence (
    version TEXT NOT NULL, target TEXT NOT NULL, hash TEXT NOT NULL, kind TEXT NOT NULL, route TEXT NOT NULL,
    status INTEGER NOT NULL, path TEXT NOT NULL, what TEXT NOT NULL, detail TEXT NOT NULL, declares TEXT NOT NULL,
    pairs INTEGER NOT NULL, old_more INTEGER NOT NULL, new_more INTEGER NOT NULL,
    old_share REAL NOT NULL, new_share REAL NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (version, target, hash, kind, route, status, path, what, detail)
  ) WITHOUT ROWID;
`;

/**
 * `losses`: calls of `version` ('' is all versions, `orders/` those of one API) from `began` to `ended` may be missing in the ledger.
 * `counted`: all calls of a serving process up to its mark `until` are in the ledger (`callMarks.ts`). Epoch ms.
 */
const lossTables = `
  CREATE TABLE losses (version TEXT NOT NULL, began INTEGER NOT NULL, ended INTEGER NOT NULL, reason TEXT NOT NULL);
  CREATE TABLE counted (process INTEGER PRIMARY KEY, until INTEGER NOT NULL);
`;

/** Two losses with the same reason are one if the pause between them is shorter. */
export const sameLossMs = 60_000;

/**
 * The largest body, request target and head of the requests to each route on each day (`span`) that a backend answered and that did
 * not fail, in bytes.
 */
const sizesTable = `
  CREATE TABLE sizes (
    version INTEGER NOT NULL, span INTEGER NOT NULL, route INTEGER NOT NULL,
    ${sizeColumns.map((column) => `${column} INTEGER NOT NULL`).join(', ')},
    PRIMARY KEY (version, span, route)
  ) WITHOUT ROWID;
`;

// The runs of earlier releases count as closed, so that an upgrade does not end the coverage of a ledger.
const closedColumn = 'closed INTEGER NOT NULL DEFAULT 1';

export const schema = `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
  -- When processes wrote to the ledger: between runs requests were not counted. Epoch ms. closed: 1 if the run has ended, and the
  -- ledger has all its counts, or a row in the table of losses says what is missing.
  CREATE TABLE runs (id INTEGER PRIMARY KEY, began INTEGER NOT NULL, seen INTEGER NOT NULL, ${closedColumn});
  ${lossTables}
  ${sizesTable}
  ${nameTables.join('\n  ')}
  ${sumTables.join('\n')}
  ${pairTables.join('\n')}
  -- First and last request of each client per version and per route, to count clients without adding up spans. Epoch ms.
  -- used: the last request that neither failed nor was refused by a freeze; 0: there is none.
  -- accepted: the last request that a backend answered 2xx, except requests in which a header of usage.identify occurs twice; 0: there is none.
  -- first and used of a route are NULL if an earlier release has written the row: they are not known.
  CREATE TABLE version_client (
    version INTEGER NOT NULL, client INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    used INTEGER NOT NULL DEFAULT 0, ${acceptedColumn},
    PRIMARY KEY (version, client)
  ) WITHOUT ROWID;
  CREATE TABLE route_client (
    version INTEGER NOT NULL, route INTEGER NOT NULL, client INTEGER NOT NULL, last INTEGER NOT NULL,
    first INTEGER, used INTEGER,
    PRIMARY KEY (version, route, client)
  ) WITHOUT ROWID;
  ${brownoutTable}
  ${brownoutRecords}
  ${evidenceTable}
  ${outboxTables}
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${schemaVersion};
`;

/** Adds a row to the one with the same key, in a table of sums. */
export const addUpSums = `requests = requests + excluded.requests, errors = errors + excluded.errors,
  served = served + excluded.served, failing = failing + excluded.failing, refused = refused + excluded.refused,
  first = MIN(first, excluded.first), last = MAX(last, excluded.last)`;
/** The same in `brownout_client`. */
export const addUpBrownout = `refused = refused + excluded.refused, first = MIN(first, excluded.first),
  last = MAX(last, excluded.last)`;
/** The same in `evidence`. */
export const addUpEvidence = `pairs = pairs + excluded.pairs, old_more = old_more + excluded.old_more,
  new_more = new_more + excluded.new_more, old_share = old_share + excluded.old_share,
  new_share = new_share + excluded.new_share, first = MIN(first, excluded.first), last = MAX(last, excluded.last)`;
/** The same in `route_client`. NULL stays NULL in `first`; an unknown `used` becomes its latest possible value. */
export const addUpRouteClient = `last = MAX(last, excluded.last), first = MIN(first, excluded.first),
  used = MAX(COALESCE(used, last), excluded.used)`;

/** The same in `sizes`. A row whose sizes are not exceeded is not written. */
export const addUpSizes = `${sizeColumns.map((column) => `${column} = MAX(${column}, excluded.${column})`).join(', ')}
  WHERE ${sizeColumns.map((column) => `excluded.${column} > ${column}`).join(' OR ')}`;

const outboxColumns =
  'epoch, seq, version, client, route, hour, requests, errors, served, failing, refused, first, last, used, accepted';

const outcomeColumns = subjects.flatMap((subject) =>
  spanLengths.flatMap((length) =>
    ['failing', 'refused'].map(
      (column) => `ALTER TABLE ${subject}_${length} ADD COLUMN ${column} INTEGER NOT NULL DEFAULT 0;`,
    ),
  ),
);

/**
 * The statements that migrate a ledger to the next version, by its current version. Earlier releases did not record which
 * requests failed, so all of them count as use. They recorded no sizes, so `sizes_since` says from when on these are known. `replace`
 * removes the columns that a later migration adds with ALTER TABLE.
 */
export const migrations: Readonly<Record<number, string>> = {
  1: `${pairTables.join('\n').replaceAll(`${pairOutcomes.join(', ')},`, '')} PRAGMA user_version = 2;`,
  2: `${outcomeColumns.join('\n')} ALTER TABLE version_client ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
    UPDATE version_client SET used = last; PRAGMA user_version = 3;`,
  3: `${outboxTables.replace(`${acceptedColumn},`, '').replace(`${lossesColumn},`, '').replace(sizesInOutbox, '')}
    PRAGMA user_version = 4;`,
  4: `${['pair_hour', 'pair_day'].flatMap((table) => pairOutcomes.map((column) => `ALTER TABLE ${table} ADD COLUMN ${column};`)).join('\n')}
    ALTER TABLE route_client ADD COLUMN first INTEGER; ALTER TABLE route_client ADD COLUMN used INTEGER;
    ALTER TABLE version_client ADD COLUMN ${acceptedColumn}; ALTER TABLE outbox_rows ADD COLUMN ${acceptedColumn};
    PRAGMA user_version = 5;`,
  // A primary key cannot be changed, so the rows are copied.
  5: `${brownoutTable}
    ALTER TABLE outbox_rows RENAME TO former_outbox_rows; DROP INDEX outbox_rows_of_batch;
    ${outboxRows.replace(sizesInOutbox, '')}
    INSERT INTO outbox_rows (${outboxColumns}) SELECT ${outboxColumns} FROM former_outbox_rows;
    DROP TABLE former_outbox_rows; PRAGMA user_version = 6;`,
  6: `${brownoutRecords} PRAGMA user_version = 7;`,
  7: `${evidenceTable} PRAGMA user_version = 8;`,
  8: `ALTER TABLE runs ADD COLUMN ${closedColumn}; ALTER TABLE outbox ADD COLUMN ${lossesColumn}; ${lossTables} ${sizesTable}
    ${outboxSizes.map((column) => `ALTER TABLE outbox_rows ADD COLUMN ${column};`).join(' ')}
    INSERT INTO meta VALUES ('sizes_since', CAST(unixepoch('subsec') * 1000 AS INTEGER)); PRAGMA user_version = 9;`,
};
