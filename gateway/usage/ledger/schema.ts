// The shape of the ledger. Names stand once, in tables of their own, and everything else refers to them by number. What
// a client, a route and a client on a route did is added up apart, so that each question reads as few rows as there are.

/** Marks a SQLite file as a ledger: the letters VGUL. */
export const applicationId = 0x5647554c;
/** A ledger with a higher one was written by a later release, and is left alone. */
export const schemaVersion = 3;

export const subjects = ['version', 'client', 'route'] as const;
export type Subject = (typeof subjects)[number];

const spanLengths = ['hour', 'day', 'block'];

/** `item`: the client or route, 0 in the tables of versions. `first` and `last`: ms from the beginning of the span. */
const factTables = subjects.flatMap((subject) =>
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

/**
 * What a client did with a route. There are no blocks of them: in a month most clients use most of their routes on few
 * days, so that blocks would be nearly as many rows again, and the routes are asked of a few clients at a time only.
 */
const pairTables = ['hour', 'day'].map(
  (length) => `
  CREATE TABLE pair_${length} (
    version INTEGER NOT NULL, span INTEGER NOT NULL, client INTEGER NOT NULL, route INTEGER NOT NULL,
    requests INTEGER NOT NULL, errors INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (version, span, client, route)
  ) WITHOUT ROWID;`,
);

const nameTables = subjects.map(
  (subject) => `CREATE TABLE ${subject}s (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);`,
);

export const schema = `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
  -- When a process wrote to the ledger: what lies between was not counted, and is no silence. Epoch ms.
  CREATE TABLE runs (id INTEGER PRIMARY KEY, began INTEGER NOT NULL, seen INTEGER NOT NULL);
  ${nameTables.join('\n  ')}
  ${factTables.join('\n')}
  ${pairTables.join('\n')}
  -- Who was ever seen where, and when the last time: to tell how many there are without adding anything up. Epoch ms.
  -- used: when the last request came that did not fail; 0: never.
  CREATE TABLE version_client (
    version INTEGER NOT NULL, client INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    used INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (version, client)
  ) WITHOUT ROWID;
  CREATE TABLE route_client (
    version INTEGER NOT NULL, route INTEGER NOT NULL, client INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (version, route, client)
  ) WITHOUT ROWID;
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${schemaVersion};
`;

const outcomeColumns = subjects.flatMap((subject) =>
  spanLengths.flatMap((length) =>
    ['failing', 'refused'].map(
      (column) => `ALTER TABLE ${subject}_${length} ADD COLUMN ${column} INTEGER NOT NULL DEFAULT 0;`,
    ),
  ),
);

/**
 * What makes a ledger of the version before into one of this, by that version. What was not counted stays unknown: a
 * request of which it is not known whether it failed counts as use.
 */
export const migrations: Readonly<Record<number, string>> = {
  1: `${pairTables.join('\n')} PRAGMA user_version = 2;`,
  2: `${outcomeColumns.join('\n')} ALTER TABLE version_client ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
    UPDATE version_client SET used = last; PRAGMA user_version = 3;`,
};
