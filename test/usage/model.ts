import type { UsageBatch, UsageRow } from '../../gateway/usage/usageRow.ts';

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;
/** A Wednesday at noon. */
export const noon = Date.parse('2026-11-18T12:00:00Z');

export function row(part: Partial<UsageRow> = {}): UsageRow {
  const { first = noon } = part;
  const hour = first - (first % hourMs);
  return {
    version: 'v1',
    client: 'x-client-id:shop',
    route: 'GET /drinks/{id}',
    hour,
    requests: 1,
    errors: 0,
    served: 1,
    failing: 0,
    refused: 0,
    first,
    last: first,
    used: part.last ?? first,
    accepted: part.last ?? first,
    body: 0,
    target: 0,
    head: 0,
    ...part,
  };
}

/** Reproducible pseudo-random numbers. */
export function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

/** Rows about a few versions, clients and routes within `spanMs` before `noon`. */
export function randomBatch(random: (below: number) => number, count: number, spanMs: number): UsageBatch {
  return Array.from({ length: count }, () => {
    const first = noon - random(spanMs);
    const requests = 1 + random(50);
    return row({
      version: `v${random(3)}`,
      client: `x-client-id:c${random(12)}`,
      route: `GET /r${random(6)}`,
      first,
      last: Math.min(first + random(1_000), first - (first % hourMs) + hourMs - 1),
      requests,
      errors: random(requests + 1),
      served: random(requests + 1),
      failing: random(requests + 1),
      refused: random(requests + 1),
    });
  });
}

/** The sums of rows by a key, most requests first, then by key. */
export function addUp(rows: UsageBatch, keyOf: (row: UsageRow) => string) {
  const groups = new Map<string, UsageRow[]>();
  for (const one of rows) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return new Map(
    [...groups].map(([key, group]) => [
      key,
      {
        requests: total(group, 'requests'),
        errors: total(group, 'errors'),
        served: total(group, 'served'),
        failing: total(group, 'failing'),
        refused: total(group, 'refused'),
        first: Math.min(...group.map(({ first }) => first)),
        last: Math.max(...group.map(({ last }) => last)),
        clients: new Set(group.map(({ client }) => client)).size,
        routes: new Set(group.map(({ route }) => route)).size,
      },
    ]),
  );
}

export function total(rows: UsageBatch, what: 'requests' | 'errors' | 'served' | 'failing' | 'refused'): number {
  return rows.reduce((sum, one) => sum + one[what], 0);
}
