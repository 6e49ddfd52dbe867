import { sizeColumns } from '../../usage/ledger/schema.ts';
import { dayMs, msPerSpan, spanAt } from '../../usage/ledger/spans.ts';
import { addUpBrownoutSql, addUpRouteClientSql, addUpSizesSql } from './batchFunctions.ts';
import type { Sql } from './postgres.ts';
import { partitionSizes, schemaName, sumTables } from './schema.ts';

/**
 * The names to fold: all names of a version on one day, except the `keep` names with the most requests. The counts of the folded
 * names are added to the name `others`.
 */
export interface Folding {
  readonly subject: 'client' | 'route';
  readonly others: string;
  readonly keep: number;
  /** The id of the version. */
  readonly version: number;
  readonly day: number;
}

/**
 * Adds the folded names of one day to `others`, in the caller's transaction. Other days and all sums of the version stay the
 * same. Needs `namesLock`. @throws StoreError
 */
export async function foldNames(sql: Sql, { subject, others, keep, version, day }: Folding): Promise<void> {
  const othersId = await idOf(sql, subject, others);
  // Of names with equal requests, the latest are kept: a new regular client may have only one request. A name with 0 requests was also
  // in use, by requests that began on an earlier day. So it counts like a name with 1 request.
  const rows = await sql.query<{ item: number }>(
    `SELECT item FROM ${schemaName}.${subject}_day WHERE version = $1 AND span = $2 AND item <> $3
      ORDER BY GREATEST(requests, 1) DESC, last DESC OFFSET $4`,
    [version, day, othersId, keep],
  );
  const foldedIds = rows.map(({ item }) => item);
  for (const { name, spanLength, keys, counts } of sumTables) {
    if (spanLength === 'block' || !(name.startsWith(subject) || name.startsWith('pair'))) continue;
    // The tables of pairs have the columns `client` and `route`, all others the column `item`.
    const column = keys.includes('item') ? 'item' : subject;
    const spanRange = spanLength === 'day' ? [day, day] : [day * 24, day * 24 + 23];
    const otherKeys = keys.filter((key) => key !== column);
    const groupColumns = ['version', 'span', ...otherKeys].join(', ');
    await sql.query(
      `WITH removed AS (
          DELETE FROM ${schemaName}.${name}
          WHERE version = $1 AND span BETWEEN $2 AND $3 AND ${column} = ANY($4::int[]) RETURNING *
        )
        INSERT INTO ${schemaName}.${name} AS t (${groupColumns}, ${column}, ${counts.join(', ')}, first, last)
        SELECT ${groupColumns}, $5::int, ${counts.map((count) => `SUM(${count})`).join(', ')}, MIN(first), MAX(last)
        FROM removed GROUP BY ${groupColumns}
        ON CONFLICT (version, span, ${keys.join(', ')}) DO UPDATE SET
          ${counts.map((count) => `${count} = t.${count} + excluded.${count}`).join(', ')},
          first = LEAST(t.first, excluded.first), last = GREATEST(t.last, excluded.last)`,
      [version, ...spanRange, foldedIds, othersId],
    );
  }
  if (subject === 'client') await foldBrownouts(sql, version, day, foldedIds, othersId);
  else await foldSizes(sql, version, day, foldedIds, othersId);
  await sumBlock(sql, subject, version, day, [...foldedIds, othersId]);
  await correctSeenTimes(sql, subject, version, day, foldedIds, othersId);
}

async function idOf(sql: Sql, subject: Folding['subject'], name: string): Promise<number> {
  await sql.query(`INSERT INTO ${schemaName}.${subject}s (name) VALUES ($1) ON CONFLICT DO NOTHING`, [name]);
  const [row] = await sql.query<{ id: number }>(`SELECT id FROM ${schemaName}.${subject}s WHERE name = $1`, [name]);
  return row?.id ?? 0;
}

/**
 * Replaces the sums of a block, for these names, by the sums of its days. A block has `partitionSizes.day` days. The columns `first`
 * and `last` count from the start of the span, in ms.
 */
async function sumBlock(
  sql: Sql,
  subject: Folding['subject'],
  version: number,
  day: number,
  items: readonly number[],
): Promise<void> {
  const block = spanAt('block', day * dayMs);
  const firstDay = block * partitionSizes.day;
  const where = 'WHERE version = $1 AND item = ANY($2::int[])';
  const counts = ['requests', 'errors', 'served', 'failing', 'refused'];
  await sql.query(`DELETE FROM ${schemaName}.${subject}_block ${where} AND span = $3`, [version, items, block]);
  await sql.query(
    `INSERT INTO ${schemaName}.${subject}_block (version, span, item, ${counts.join(', ')}, first, last)
      SELECT version, $3::int, item, ${counts.map((count) => `SUM(${count})`).join(', ')},
        MIN((span - $4::int) * ${dayMs}::bigint + first), MAX((span - $4::int) * ${dayMs}::bigint + last)
      FROM ${schemaName}.${subject}_day ${where} AND span BETWEEN $4 AND $5 GROUP BY version, item`,
    [version, items, block, firstDay, firstDay + partitionSizes.day - 1],
  );
}

/**
 * For each brownout that refused folded clients on this day: moves all refused requests of these clients, also of other days, to
 * `othersId`.
 */
async function foldBrownouts(sql: Sql, version: number, day: number, foldedIds: readonly number[], othersId: number) {
  await sql.query(
    `WITH removed AS (
        DELETE FROM ${schemaName}.brownout_client
        WHERE version = $1 AND client = ANY($2::int[]) AND first < $3 AND last >= $4 RETURNING *
      )
      INSERT INTO ${schemaName}.brownout_client AS t (version, brownout, client, refused, first, last)
      SELECT version, brownout, $5::int, SUM(refused), MIN(first), MAX(last) FROM removed GROUP BY version, brownout
      ON CONFLICT (version, brownout, client) DO UPDATE SET ${addUpBrownoutSql}`,
    [version, foldedIds, (day + 1) * dayMs, day * dayMs, othersId],
  );
}

/** The largest sizes of the folded routes become sizes of `othersId`. */
async function foldSizes(sql: Sql, version: number, day: number, foldedIds: readonly number[], othersId: number) {
  await sql.query(
    `WITH removed AS (
        DELETE FROM ${schemaName}.sizes WHERE version = $1 AND span = $2 AND route = ANY($3::int[]) RETURNING *
      )
      INSERT INTO ${schemaName}.sizes AS t (version, span, route, ${sizeColumns.join(', ')})
      SELECT version, span, $4::int, ${sizeColumns.map((column) => `MAX(${column})`).join(', ')} FROM removed GROUP BY version, span
      ON CONFLICT (version, span, route) DO UPDATE SET ${addUpSizesSql}`,
    [version, day, foldedIds, othersId],
  );
}

/** Corrects the times of first and last requests, per version and per route, and deletes names that are not used any more. */
async function correctSeenTimes(
  sql: Sql,
  subject: Folding['subject'],
  version: number,
  day: number,
  foldedIds: readonly number[],
  othersId: number,
): Promise<void> {
  const [begin, end] = [day * dayMs, (day + 1) * dayMs];
  // The last request of the last span in which not all requests failed. It may itself have failed.
  const lastUseSql = (ms: number): string =>
    `MAX(CASE WHEN failing = 0 OR requests > failing THEN span * ${ms}::bigint + last ELSE 0 END)`;
  if (subject === 'client') {
    const used = lastUseSql(msPerSpan.block);
    const items = [...foldedIds, othersId];
    // `used` and `accepted`, the last request with a 2xx, are kept. The blocks have all other columns.
    const deletedRows = await sql.query<{ client: number; used: number; accepted: number }>(
      `DELETE FROM ${schemaName}.version_client WHERE version = $1 AND client = ANY($2::int[]) RETURNING client, used, accepted`,
      [version, items],
    );
    const rowByClient = new Map(deletedRows.map((one) => [one.client, one]));
    const usedBy = (client: number): number => rowByClient.get(client)?.used ?? 0;
    // The sums of a block lack a request of an earlier block that went on. A use on the folded day becomes one of the others.
    const usedOnDay = items.map(usedBy).filter((at) => at >= begin && at < end);
    const usedByOthers = usedOnDay.reduce((latest, at) => Math.max(latest, at), usedBy(othersId));
    const usedBefore = foldedIds.map(usedBy).map((at) => (at < begin ? at : 0));
    const lastUses = [...usedBefore, usedByOthers];
    const accepted = items.map((client) => rowByClient.get(client)?.accepted ?? 0);
    const ofClient = (column: string): string =>
      `COALESCE((SELECT one.${column} FROM unnest($3::int[], $4::bigint[], $5::bigint[]) AS one(client, accepted, used) WHERE client = item), 0)`;
    await sql.query(
      `INSERT INTO ${schemaName}.version_client (version, client, first, last, used, accepted)
        SELECT version, item, MIN(span * ${msPerSpan.block}::bigint + first), MAX(span * ${msPerSpan.block}::bigint + last),
          GREATEST(${used}, ${ofClient('used')}), ${ofClient('accepted')}
        FROM ${schemaName}.client_block WHERE version = $1 AND item = ANY($2::int[]) GROUP BY version, item`,
      [version, items, items, accepted, lastUses],
    );
  }
  await sql.query(
    `INSERT INTO ${schemaName}.route_client AS t (version, route, client, last, first, used)
      SELECT version, route, client, MAX(span * ${dayMs}::bigint + last), MIN(span * ${dayMs}::bigint + first), ${lastUseSql(dayMs)}
      FROM ${schemaName}.pair_day
      WHERE version = $1 AND span = $2 AND ${subject} = $3 GROUP BY version, route, client
      ON CONFLICT (version, route, client) DO UPDATE SET ${addUpRouteClientSql}`,
    [version, day, othersId],
  );
  const stillUsed =
    subject === 'client'
      ? `SELECT client FROM ${schemaName}.version_client WHERE version = $1`
      : `SELECT item FROM ${schemaName}.route_block WHERE version = $1`;
  await sql.query(
    `DELETE FROM ${schemaName}.route_client WHERE version = $1 AND ${subject} = ANY($2::int[])
      AND ${subject} NOT IN (${stillUsed})`,
    [version, foldedIds],
  );
  await sql.query(
    `DELETE FROM ${schemaName}.route_client WHERE version = $1 AND ${subject} = ANY($2::int[]) AND first >= $3 AND last < $4`,
    [version, foldedIds, begin, end],
  );
  // Only the rows of earlier days have the exact time of the last request before this day. Reading them costs too much,
  // so the end of the day before is stored.
  await sql.query(
    `UPDATE ${schemaName}.route_client SET last = $3, used = CASE WHEN used IS NOT NULL THEN LEAST(used, $3) END WHERE version = $1 AND ${subject} = ANY($2::int[])
      AND last >= $4 AND last < $5`,
    [version, foldedIds, begin - 1, begin, end],
  );
  const usageTable = subject === 'client' ? 'version_client' : 'route_client';
  await sql.query(
    `DELETE FROM ${schemaName}.${subject}s WHERE id = ANY($1::int[])
      AND id NOT IN (SELECT ${subject} FROM ${schemaName}.${usageTable})`,
    [foldedIds],
  );
}
