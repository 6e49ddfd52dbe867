import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { addCounts, type Counts, type UsageBatch, type UsageRow } from '../usageRow.ts';
import { NameLimits } from './nameLimits.ts';
import { type Subject, subjects } from './schema.ts';
import { type Length, lengths, spanAt } from './spans.ts';
import { type LedgerSettings, limitsOf } from './writableLedger.ts';

const lengthNames = Object.keys(lengths) as Length[];
// Names of clients come and go; those that are in use are soon known again.
const maxKnown = 100_000;

/** The statements that name or fill the tables of one subject, and the numbers of the names. */
interface Tables {
  readonly find: StatementSync;
  readonly create: StatementSync;
  readonly add: readonly (readonly [length: Length, statement: StatementSync])[];
  readonly ids: Map<string, number>;
}

/** Writes batches into an open ledger, within a transaction of the caller's. Throws what SQLite says. */
export class LedgerWriter {
  readonly #tables: Readonly<Record<Subject, Tables>>;
  readonly #addClient: StatementSync;
  readonly #meet: StatementSync;
  readonly #addPair: readonly (readonly [length: Length, statement: StatementSync])[];
  readonly #mark: StatementSync;
  readonly #bounds: NameLimits;

  constructor(database: DatabaseSync) {
    const [version, client, route] = subjects.map((subject) => tablesOf(database, subject)) as [Tables, Tables, Tables];
    this.#tables = { version, client, route };
    this.#addClient = database.prepare(`INSERT INTO version_client VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
      SET first = MIN(first, excluded.first), last = MAX(last, excluded.last), used = MAX(used, excluded.used)`);
    this.#meet = database.prepare(`INSERT INTO route_client VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE
      SET last = MAX(last, excluded.last)`);
    this.#addPair = (['hour', 'day'] as const).map((length) => [length, pairStatement(database, length)] as const);
    this.#mark = database.prepare(
      `INSERT INTO meta VALUES ('mark', ?) ON CONFLICT DO UPDATE SET value = excluded.value`,
    );
    this.#bounds = new NameLimits(database, (subject, name) => this.#id(subject, name));
  }

  add(batch: UsageBatch, settings: LedgerSettings, mark?: string): void {
    if (mark !== undefined) this.#mark.run(mark);
    const { version: versions, client: clients, route: routes, pairs } = sumsOf(batch);
    for (const sum of versions) this.#addSum('version', sum);
    for (const sum of routes) this.#addSum('route', sum);
    for (const sum of clients) {
      this.#addSum('client', sum);
      const ids = [this.#id('version', sum.version), this.#id('client', sum.item)];
      this.#addClient.run(...ids, sum.first, sum.last, sum.used);
    }
    for (const pair of pairs) this.#add(pair);
    this.#bounds.note('client', clients);
    this.#bounds.note('route', routes);
    // Numbers of names may have gone with what was counted together.
    if (this.#bounds.keep(limitsOf(settings))) this.#forgetNames();
  }

  /** Counts together what is too much for the day before `now` and its own. Epoch ms. */
  settle(now: number, settings: LedgerSettings): void {
    this.#bounds.settle(now, limitsOf(settings));
    this.#forgetNames();
  }

  /** Requests of clients that were counted as others since the last time. */
  takeFolded(): number {
    const { folded } = this.#bounds;
    this.#bounds.folded = 0;
    return folded;
  }

  /** For when numbers of names may have gone: with a transaction that was undone, or with names that nobody has used. */
  forget(): void {
    this.#forgetNames();
    this.#bounds.forget();
  }

  #forgetNames(): void {
    for (const subject of subjects) this.#tables[subject].ids.clear();
  }

  #addSum(
    subject: Subject,
    { version, item, hour, requests, errors, served, failing, refused, first, last }: Sum,
  ): void {
    const versionId = this.#id('version', version);
    const itemId = subject === 'version' ? 0 : this.#id(subject, item);
    for (const [length, statement] of this.#tables[subject].add) {
      const span = spanAt(length, hour);
      const begin = span * lengths[length];
      const counts = [requests, errors, served, first - begin, last - begin, failing, refused];
      statement.run(versionId, span, itemId, ...counts);
    }
  }

  #add({ version, route, client, hour, requests, errors, first, last }: Pair): void {
    const [versionId, routeId] = [this.#id('version', version), this.#id('route', route)];
    const clientId = this.#id('client', client);
    this.#meet.run(versionId, routeId, clientId, last);
    for (const [length, statement] of this.#addPair) {
      const span = spanAt(length, hour);
      const begin = span * lengths[length];
      statement.run(versionId, span, clientId, routeId, requests, errors, first - begin, last - begin);
    }
  }

  #id(subject: Subject, name: string): number {
    const { ids, find, create } = this.#tables[subject];
    const known = ids.get(name);
    if (known !== undefined) return known;
    if (ids.size >= maxKnown) ids.clear();
    const id = Number((find.get(name) ?? create.get(name))?.['id']);
    ids.set(name, id);
    return id;
  }
}

function pairStatement(database: DatabaseSync, length: 'hour' | 'day'): StatementSync {
  return database.prepare(`INSERT INTO pair_${length} VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
    SET requests = requests + excluded.requests, errors = errors + excluded.errors,
      first = MIN(first, excluded.first), last = MAX(last, excluded.last)`);
}

function tablesOf(database: DatabaseSync, subject: Subject): Tables {
  const add = lengthNames.map(
    (length) =>
      [
        length,
        database.prepare(`INSERT INTO ${subject}_${length} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
          SET requests = requests + excluded.requests, errors = errors + excluded.errors,
            served = served + excluded.served, first = MIN(first, excluded.first), last = MAX(last, excluded.last),
            failing = failing + excluded.failing, refused = refused + excluded.refused`),
      ] as const,
  );
  return {
    find: database.prepare(`SELECT id FROM ${subject}s WHERE name = ?`),
    create: database.prepare(`INSERT INTO ${subject}s (name) VALUES (?) RETURNING id`),
    add,
    ids: new Map(),
  };
}

/** What one version, or one client or route of it, did in one hour. `item`: '' for the version. */
export interface Sum extends Counts {
  readonly version: string;
  readonly item: string;
  readonly hour: number;
}

/** What a client did with a route in one hour. */
export interface Pair extends Counts {
  readonly version: string;
  readonly route: string;
  readonly client: string;
  readonly hour: number;
}

/** A batch added up in the ways in which the ledger is asked. */
export function sumsOf(batch: UsageBatch): { version: Sum[]; client: Sum[]; route: Sum[]; pairs: Pair[] } {
  const [version, client, route] = [new Map<string, Sum>(), new Map<string, Sum>(), new Map<string, Sum>()];
  const pairs = new Map<string, Pair>();
  for (const row of batch) {
    addTo(version, row, '');
    addTo(client, row, row.client);
    addTo(route, row, row.route);
    const key = `${row.hour}\0${row.version}\0${row.route}\0${row.client}`;
    const pair = pairs.get(key);
    if (pair) addCounts(pair, row);
    else pairs.set(key, { ...row });
  }
  const values = (sums: Map<string, Sum>): Sum[] => [...sums.values()];
  return { version: values(version), client: values(client), route: values(route), pairs: [...pairs.values()] };
}

function addTo(sums: Map<string, Sum>, row: UsageRow, item: string): void {
  const key = `${row.hour}\0${row.version}\0${item}`;
  const { route: _route, client: _client, ...counts } = row;
  const sum = sums.get(key);
  if (sum) addCounts(sum, row);
  else sums.set(key, { ...counts, item });
}
