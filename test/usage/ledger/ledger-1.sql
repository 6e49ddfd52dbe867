CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
-- When a process wrote to the ledger: what lies between was not counted, and is no silence. Epoch ms.
CREATE TABLE runs (id INTEGER PRIMARY KEY, began INTEGER NOT NULL, seen INTEGER NOT NULL);
CREATE TABLE versions (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
CREATE TABLE clients (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
CREATE TABLE routes (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);

CREATE TABLE version_hour (
  version INTEGER NOT NULL, span INTEGER NOT NULL, item INTEGER NOT NULL,
  requests INTEGER NOT NULL, errors INTEGER NOT NULL, served INTEGER NOT NULL,
  first INTEGER NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (version, span, item)
) WITHOUT ROWID;

CREATE TABLE version_day (
  version INTEGER NOT NULL, span INTEGER NOT NULL, item INTEGER NOT NULL,
  requests INTEGER NOT NULL, errors INTEGER NOT NULL, served INTEGER NOT NULL,
  first INTEGER NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (version, span, item)
) WITHOUT ROWID;

CREATE TABLE version_block (
  version INTEGER NOT NULL, span INTEGER NOT NULL, item INTEGER NOT NULL,
  requests INTEGER NOT NULL, errors INTEGER NOT NULL, served INTEGER NOT NULL,
  first INTEGER NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (version, span, item)
) WITHOUT ROWID;

CREATE TABLE client_hour (
  version INTEGER NOT NULL, span INTEGER NOT NULL, item INTEGER NOT NULL,
  requests INTEGER NOT NULL, errors INTEGER NOT NULL, served INTEGER NOT NULL,
  first INTEGER NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (version, span, item)
) WITHOUT ROWID;

CREATE TABLE client_day (
  version INTEGER NOT NULL, span INTEGER NOT NULL, item INTEGER NOT NULL,
  requests INTEGER NOT NULL, errors INTEGER NOT NULL, served INTEGER NOT NULL,
  first INTEGER NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (version, span, item)
) WITHOUT ROWID;

CREATE TABLE client_block (
  version INTEGER NOT NULL, span INTEGER NOT NULL, item INTEGER NOT NULL,
  requests INTEGER NOT NULL, errors INTEGER NOT NULL, served INTEGER NOT NULL,
  first INTEGER NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (version, span, item)
) WITHOUT ROWID;

CREATE TABLE route_hour (
  version INTEGER NOT NULL, span INTEGER NOT NULL, item INTEGER NOT NULL,
  requests INTEGER NOT NULL, errors INTEGER NOT NULL, served INTEGER NOT NULL,
  first INTEGER NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (version, span, item)
) WITHOUT ROWID;

CREATE TABLE route_day (
  version INTEGER NOT NULL, span INTEGER NOT NULL, item INTEGER NOT NULL,
  requests INTEGER NOT NULL, errors INTEGER NOT NULL, served INTEGER NOT NULL,
  first INTEGER NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (version, span, item)
) WITHOUT ROWID;

CREATE TABLE route_block (
  version INTEGER NOT NULL, span INTEGER NOT NULL, item INTEGER NOT NULL,
  requests INTEGER NOT NULL, errors INTEGER NOT NULL, served INTEGER NOT NULL,
  first INTEGER NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (version, span, item)
) WITHOUT ROWID;
-- Who was ever seen where, and when the last time: to tell how many there are without adding anything up. Epoch ms.
CREATE TABLE version_client (
  version INTEGER NOT NULL, client INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (version, client)
) WITHOUT ROWID;
CREATE TABLE route_client (
  version INTEGER NOT NULL, route INTEGER NOT NULL, client INTEGER NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (version, route, client)
) WITHOUT ROWID;
PRAGMA application_id = 1447515468;
PRAGMA user_version = 1;
