import { rfc3339 } from '../../shared/instant.ts';
import { printableExcerpt } from '../../shared/text.ts';
import { type FleetInstance, instancesOf } from './fleetView.ts';
import { type GatewayRow, leftOrGoneAt, markGone, readGateways } from './membership.ts';
import type { Sql } from './postgres.ts';
import { schemaName } from './schema.ts';

/** `forgotten`: how many gateways with this name were marked as gone. `refused`: why there was nothing to forget, and the remedy. */
export type ForgetOutcome = { readonly forgotten: number } | { readonly refused: string };

/** Which gateway does not exist any more. */
export interface Forgotten {
  readonly name: string;
  /** Why it does not exist any more. */
  readonly reason: string;
  /** When it ended, epoch ms. Undefined: not known, so it may have served clients until it is marked. */
  readonly endedAt: number | undefined;
}

/**
 * Marks a silent gateway as gone, because an operator knows that it does not exist any more. With `endedAt`, also changes gateways that
 * are gone already. `silentAfter`: ms, for gateways that do not report a `silentAfter`. `lastKnownRows`: the rows of silent gateways with
 * this name, as a gateway read them last. The store may have lost them since.
 * @throws StoreError
 */
export async function forgetGateway(
  sql: Sql,
  { name, reason, endedAt }: Forgotten,
  silentAfter: number,
  lastKnownRows: readonly GatewayRow[] = [],
): Promise<ForgetOutcome> {
  const { rows, now } = await readGateways(sql);
  const instances = instancesOf({ rows }, now, silentAfter);
  const sameName = instances.filter((one) => one.name === name);
  if (endedAt !== undefined && endedAt > now)
    return { refused: `--ended-at ${rfc3339(endedAt)} is in the future: the store has ${rfc3339(now)}.` };
  const silent = sameName.filter(({ state }) => state === 'silent').flatMap(({ row }) => row ?? []);
  const lost = lastKnownRows.filter((row) => isLost(row, rows));
  // Several gateways may have had this name, one after the other. Only those are meant that may have ended then.
  const gone = sameName
    .filter(({ state }) => state === 'gone')
    .flatMap(({ row }) => row ?? [])
    .filter((row) => endedAt !== undefined && isHeardUntil(row, endedAt) && endedAt <= (row.goneAt ?? now));
  if (silent.length + lost.length + gone.length === 0) return { refused: refusal(name, sameName, instances) };
  const later = [...silent, ...lost].find((row) => endedAt !== undefined && !isHeardUntil(row, endedAt));
  if (endedAt !== undefined && later !== undefined) {
    const text = `Gateway ${printableExcerpt(name)} was heard at ${rfc3339(later.heard)}, which is later than --ended-at ${rfc3339(endedAt)}.`;
    return { refused: text };
  }
  const marked = await markGone(sql, [...silent, ...gone], reason, endedAt);
  const added = await Promise.all(lost.map((row) => addGone(sql, row, reason, endedAt)));
  return { forgotten: marked.length + added.filter((isAdded) => isAdded).length };
}

/** Whether a gateway was not heard after this. Times are shown to operators in seconds. */
function isHeardUntil({ heard }: GatewayRow, endedAt: number): boolean {
  return Math.floor(heard / 1_000) <= Math.floor(endedAt / 1_000);
}

/**
 * True if the store was set back to an earlier time, for example from a backup: its row of the gateway is missing, or says that the
 * gateway left or was gone before `lastKnown.heard`.
 */
function isLost(lastKnown: GatewayRow, rows: readonly GatewayRow[]): boolean {
  const stored = rows.find(({ instance }) => instance === lastKnown.instance);
  return stored === undefined || (leftOrGoneAt(stored) ?? Number.POSITIVE_INFINITY) < lastKnown.heard;
}

/** Writes the row that the store has lost. So all gateways that remember the lost gateway learn that it is gone. @throws StoreError */
async function addGone(sql: Sql, row: GatewayRow, reason: string, endedAt: number | undefined): Promise<boolean> {
  const { instance, name, release, addresses, config, spooled, spooledSince = null, skewMs, started, heard } = row;
  const added = await sql.query(
    `INSERT INTO ${schemaName}.gateways AS g (instance, epoch, name, release, addresses, versions, config, ready, spooled,
       spooled_since, skew_ms, started, heard, gone_at, gone_reason, ended_at)
     VALUES ($1, 0, $2, $3, $4, '{}', $5, false, $6, $7, $8, to_timestamp($9::float8 / 1000), to_timestamp($10::float8 / 1000),
       now(), $11, $12)
     ON CONFLICT (instance) DO UPDATE SET heard = excluded.heard, spooled = excluded.spooled,
       spooled_since = excluded.spooled_since, left_at = NULL, gone_at = now(), gone_reason = excluded.gone_reason,
       ended_at = excluded.ended_at
     WHERE g.heard <= excluded.heard RETURNING instance`,
    [
      instance,
      name,
      release,
      addresses,
      config,
      spooled,
      spooledSince,
      skewMs,
      started,
      heard,
      reason,
      endedAt ?? null,
    ],
  );
  return added.length > 0;
}

function refusal(name: string, sameName: readonly FleetInstance[], instances: readonly FleetInstance[]): string {
  const shown = printableExcerpt(name);
  const state = sameName.find((one) => one.state === 'heard')?.state ?? sameName[0]?.state;
  if (state === 'heard') return `Gateway ${shown} is heard.  Stop it first.`;
  if (state !== undefined) return `Gateway ${shown} has already ${state === 'left' ? 'left' : 'been marked as gone'}.`;
  const silent = instances.filter((one) => one.state === 'silent').map((one) => printableExcerpt(one.name));
  const which = silent.length === 0 ? 'No gateway is silent.' : `These gateways are silent: ${silent.join(', ')}.`;
  return `The fleet has no gateway ${shown}.  ${which}`;
}
