import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Fleet } from '../../../gateway/operate/fleet/fleet.ts';
import { Postgres } from '../../../gateway/operate/fleet/postgres.ts';
import { addAllQueued } from '../../../gateway/operate/fleet/queuedBatches.ts';
import type { ThreadedLedger } from '../../../gateway/usage/ledger/threadedLedger.ts';
import type { UsageBatch } from '../../../gateway/usage/usageRow.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { type MemberSettings, openMember } from './openMember.ts';

export type MemberOptions = Partial<Omit<MemberSettings, 'store' | 'name'>>;

export interface Member {
  readonly fleet: Fleet;
  readonly ledger: ThreadedLedger;
  /** The ledger file of the member. */
  readonly usage: string;
  readonly notices: string[];
  /** Stops the fleet and the ledger as a gateway does. */
  stop(): Promise<void>;
}

/** The ledger and the fleet of a gateway, without the gateway. */
export async function startMember(store: string, options: MemberOptions = {}): Promise<Member> {
  const { usage = join(temporaryFolder(), 'usage.db') } = options;
  const notices: string[] = [];
  const { fleet, ledger } = await openMember({ ...options, store, usage }, (line) => notices.push(line));
  const stop = async (): Promise<void> => {
    await fleet.stop(5_000);
    await ledger.close();
  };
  onTestFinished(async () => {
    await fleet.stop(0);
    await ledger.close();
  });
  return { fleet, ledger, usage, notices, stop };
}

/** Runs one statement on a store. */
export async function query<Row extends object>(store: string, sql: string): Promise<Row[]> {
  const postgres = await Postgres.open({ store, passwordFile: undefined }, { connections: 1 });
  try {
    return await postgres.query<Row>(sql);
  } finally {
    await postgres.close();
  }
}

/** The requests in the store, by `version client route`, with those that are queued. */
export async function sumsIn(store: string): Promise<Record<string, number>> {
  const postgres = await Postgres.open({ store, passwordFile: undefined }, { connections: 1 });
  await addAllQueued(postgres).finally(() => postgres.close());
  const rows = await query<{ key: string; requests: number }>(
    store,
    `SELECT v.name || ' ' || c.name || ' ' || r.name AS key, SUM(requests) AS requests FROM version_gateway.pair_day AS p
      JOIN version_gateway.versions v ON v.id = p.version JOIN version_gateway.clients c ON c.id = p.client
      JOIN version_gateway.routes r ON r.id = p.route GROUP BY 1`,
  );
  return Object.fromEntries(rows.map(({ key, requests }) => [key, requests]));
}

/** The requests in batches, by `version client route`. */
export function sumsOf(batches: readonly UsageBatch[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { version, client, route, requests } of batches.flat()) {
    const key = `${version} ${client} ${route}`;
    sums[key] = (sums[key] ?? 0) + requests;
  }
  return sums;
}
