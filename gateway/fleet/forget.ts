import { printableExcerpt } from '../shared/text.ts';
import { type FleetInstance, instancesOf } from './fleetView.ts';
import { markGone, readGateways } from './membership.ts';
import type { Sql } from './postgres.ts';

/** `forgotten`: how many gateways with this name were silent. `refused`: why there was nothing to forget, and the remedy. */
export type ForgetOutcome = { readonly forgotten: number } | { readonly refused: string };

/** Marks a silent gateway as gone, because an operator knows that it does not exist any more. @throws StoreError */
export async function forgetGateway(
  sql: Sql,
  name: string,
  reason: string,
  silentAfter: number,
): Promise<ForgetOutcome> {
  const { rows, now } = await readGateways(sql);
  const instances = instancesOf({ rows, now, unheard: [] }, now, silentAfter);
  const named = instances.filter((one) => one.name === name);
  const silent = named.filter(({ state }) => state === 'silent').flatMap(({ row }) => row?.instance ?? []);
  if (silent.length === 0) return { refused: refusal(name, named, instances) };
  const forgotten = await markGone(sql, silent, reason, now - silentAfter);
  return { forgotten: forgotten.length };
}

function refusal(name: string, named: readonly FleetInstance[], all: readonly FleetInstance[]): string {
  const shown = printableExcerpt(name);
  const state = named.find((one) => one.state === 'heard')?.state ?? named[0]?.state;
  if (state === 'heard') return `Gateway ${shown} is heard.  Stop it first.`;
  if (state !== undefined) return `Gateway ${shown} has already ${state === 'left' ? 'left' : 'been marked as gone'}.`;
  const silent = all.filter((one) => one.state === 'silent').map((one) => printableExcerpt(one.name));
  const which = silent.length === 0 ? 'No gateway is silent.' : `These gateways are silent: ${silent.join(', ')}.`;
  return `The fleet has no gateway ${shown}.  ${which}`;
}
