import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { addCounts, type Counts, type UsageBatch, type UsageRow } from '../usageRow.ts';
import { NameFolding, type NameLimits } from './nameLimits.ts';
import { addUpBrownout, addUpRouteClient, addUpSizes, addUpSums, type Subject, subjects } from './schema.ts';
import { msPerSpan, type SpanLength, spanAt } from './spans.ts';

const lengthNames = Object.keys(msPerSpan) as SpanLength[];
// Above this number the cache is cleared. The ids of names that are still in use are then read again.
const maxCachedNames = 100_000;

type SpanStatement = readonly [length: SpanLength, statement: StatementSync];

/** The statements on the tables of one subject, and the ids of its names. */
interface SubjectTables {
  readonly findName: StatementSync;
  readonly createName: StatementSync;
  readonly sumStatements: readonly SpanStatement[];
  readonly ids: Map<string, number>;
}

/** Writes batches to an open ledger, within the caller's transaction. Throws the errors of SQLite. */
export class LedgerWriter {
  readonly #tables: Readonly<Record<Subject, SubjectTables>>;
  readonly #addVersionClient: StatementSync;
  readonly #addRouteClient: StatementSync;
  readonly #pairStatements: readonly SpanStatement[];
  readonly #addBrownout: StatementSync;
  readonly #addSizes: StatementSync;
  readonly #setMark: StatementSync;
  readonly #folding: NameFolding;

  constructor(database: DatabaseSync) {
    const [version, client, route] = subjects.map((subject) => tablesOf(database, subject)) as [
      SubjectTables,
      SubjectTables,
      SubjectTables,
    ];
    this.#tables = { version, client, route };
    this.#addVersionClient =
      database.prepare(`INSERT INTO version_client VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
      SET first = MIN(first, excluded.first), last = MAX(last, excluded.last), used = MAX(used, excluded.used),
        accepted = MAX(accepted, excluded.accepted)`);
    this.#addRouteClient = database.prepare(`INSERT INTO route_client VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
      SET ${addUpRouteClient}`);
    this.#pairStatements = (['hour', 'day'] as const).map(
      (length) => [length, pairStatement(database, length)] as const,
    );
    this.#addBrownout = database.prepare(`INSERT INTO brownout_client VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
      SET ${addUpBrownout}`);
    this.#addSizes = database.prepare(`INSERT INTO sizes VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
      SET ${addUpSizes}`);
    this.#setMark = database.prepare(
      `INSERT INTO meta VALUES ('mark', ?) ON CONFLICT DO UPDATE SET value = excluded.value`,
    );
    this.#folding = new NameFolding(database, (subject, name) => this.#id(subject, name));
  }

  /** `batchMark` identifies the batch. The file keeps the mark of its last batch, so that a new thread does not write that batch again. */
  add(batch: UsageBatch, limits: NameLimits, batchMark?: string): void {
    if (batchMark !== undefined) this.#setMark.run(batchMark);
    const { versions, clients, routes, pairs } = sumsOf(batch);
    for (const sum of versions) this.#addSum('version', sum);
    for (const sum of routes) {
      this.#addSum('route', sum);
      const { version, item, hour, body, target, head } = sum;
      // Without a target, no request was answered.
      if (target > 0)
        this.#addSizes.run(
          this.#id('version', version),
          spanAt('day', hour),
          this.#id('route', item),
          body,
          target,
          head,
        );
    }
    for (const sum of clients) {
      this.#addSum('client', sum);
      const ids = [this.#id('version', sum.version), this.#id('client', sum.item)];
      this.#addVersionClient.run(...ids, sum.first, sum.last, sum.used, sum.accepted);
    }
    for (const pair of pairs) this.#addPairSum(pair);
    for (const { version, brownout, client, requests, first, last } of batch) {
      if (brownout === undefined) continue;
      this.#addBrownout.run(this.#id('version', version), brownout, this.#id('client', client), requests, first, last);
    }
    this.#folding.noteWritten('client', clients);
    this.#folding.noteWritten('route', routes);
    // Folding deletes names and with them their ids.
    if (this.#folding.foldExcess(limits)) this.#clearIds();
  }

  /** Applies the limits exactly to the day of `now` (epoch ms) and the day before. */
  applyLimits(now: number, limits: NameLimits): void {
    this.#folding.foldExactly(now, limits);
    this.#clearIds();
  }

  /** How many requests were moved to `other clients` since the last call. */
  takeFolded(): number {
    return this.#folding.takeFolded();
  }

  /** Must be called when ids may have become invalid: after a rollback, or when names were deleted. */
  clearCaches(): void {
    this.#clearIds();
    this.#folding.clear();
  }

  #clearIds(): void {
    for (const subject of subjects) this.#tables[subject].ids.clear();
  }

  #addSum(
    subject: Subject,
    { version, item, hour, requests, errors, served, failing, refused, first, last }: ItemSum,
  ): void {
    const versionId = this.#id('version', version);
    const itemId = subject === 'version' ? 0 : this.#id(subject, item);
    for (const [length, statement] of this.#tables[subject].sumStatements) {
      const span = spanAt(length, hour);
      const begin = span * msPerSpan[length];
      const counts = [requests, errors, served, first - begin, last - begin, failing, refused];
      statement.run(versionId, span, itemId, ...counts);
    }
  }

  #addPairSum(pair: UsageRow): void {
    const { version, route, client, hour, requests, errors, served, failing, refused, first, last, used } = pair;
    const [versionId, routeId] = [this.#id('version', version), this.#id('route', route)];
    const clientId = this.#id('client', client);
    this.#addRouteClient.run(versionId, routeId, clientId, last, first, used);
    for (const [length, statement] of this.#pairStatements) {
      const span = spanAt(length, hour);
      const begin = span * msPerSpan[length];
      const counts = [requests, errors, first - begin, last - begin, served, failing, refused];
      statement.run(versionId, span, clientId, routeId, ...counts);
    }
  }

  #id(subject: Subject, name: string): number {
    const { ids, findName, createName } = this.#tables[subject];
    const cachedId = ids.get(name);
    if (cachedId !== undefined) return cachedId;
    if (ids.size >= maxCachedNames) ids.clear();
    const id = Number((findName.get(name) ?? createName.get(name))?.['id']);
    ids.set(name, id);
    return id;
  }
}

function pairStatement(database: DatabaseSync, length: 'hour' | 'day'): StatementSync {
  return database.prepare(`INSERT INTO pair_${length} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
    SET ${addUpSums}`);
}

function tablesOf(database: DatabaseSync, subject: Subject): SubjectTables {
  const sumStatements = lengthNames.map(
    (length) =>
      [
        length,
        database.prepare(`INSERT INTO ${subject}_${length} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
          SET ${addUpSums}`),
      ] as const,
  );
  return {
    findName: database.prepare(`SELECT id FROM ${subject}s WHERE name = ?`),
    createName: database.prepare(`INSERT INTO ${subject}s (name) VALUES (?) RETURNING id`),
    sumStatements,
    ids: new Map(),
  };
}

const wholeVersion = '';

/** The sum of one version in one hour, or of one of its clients or routes. `item`: the name of the client or route, or `wholeVersion`. */
interface ItemSum extends Counts {
  readonly version: string;
  readonly item: string;
  readonly hour: number;
}

/** The sums that the tables need. `pairs`: by client and route. */
function sumsOf(batch: UsageBatch) {
  const [versions, clients, routes] = [
    new Map<string, ItemSum>(),
    new Map<string, ItemSum>(),
    new Map<string, ItemSum>(),
  ];
  const pairs = new Map<string, UsageRow>();
  for (const row of batch) {
    addToSum(versions, row, wholeVersion);
    addToSum(clients, row, row.client);
    addToSum(routes, row, row.route);
    const key = `${row.hour}\0${row.version}\0${row.route}\0${row.client}`;
    const pair = pairs.get(key);
    if (pair) addCounts(pair, row);
    else pairs.set(key, { ...row });
  }
  return {
    versions: [...versions.values()],
    clients: [...clients.values()],
    routes: [...routes.values()],
    pairs: [...pairs.values()],
  };
}

function addToSum(sums: Map<string, ItemSum>, row: UsageRow, item: string): void {
  const key = `${row.hour}\0${row.version}\0${item}`;
  const { route: _route, client: _client, ...counts } = row;
  const sum = sums.get(key);
  if (sum) addCounts(sum, row);
  else sums.set(key, { ...counts, item });
}
