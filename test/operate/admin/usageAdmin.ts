import type { UsageQueries } from '../../../gateway/usage/usageQueries.ts';
import { day, hour, ledgerWith, row } from '../../support/ledgerWith.ts';
import { startAdmin } from '../../support/startAdmin.ts';

export const now = Date.parse('2026-11-21T12:34:56Z');
const upstream = 'http://127.0.0.1:3001';
export const routes = { '/v1': { upstream, deprecation: '2026-09-01', sunset: '2026-11-01' }, '/v2': upstream };

export const rows = [
  row('v1', 'x-client-id:ios', now - 2 * day, { requests: 5, errors: 1 }),
  row('v1', 'x-client-id:ios', now - day, { requests: 3 }),
  row('v2', 'x-client-id:ios', now - 3 * day, { requests: 2 }),
  row('v1', 'user-agent:curl', now - hour, { route: 'GET /old', served: 0 }),
  row('v2', 'x-client-id:web', now - hour, { requests: 4 }),
  row('v0', 'user-agent:curl', now - 40 * day),
  row('', 'user-agent:scan', now - hour, { served: 0, errors: 1 }),
];

/** Sends a GET to an admin listener with a ledger of a few clients. */
export async function get(
  path: string,
  usage: UsageQueries = ledgerWith(rows, now - 100 * day).queries,
  retire?: object,
  listed: Readonly<Record<string, unknown>> = routes,
) {
  const admin = await startAdmin(listed, usage, now, retire);
  const response = await fetch(`http://${admin}${path}`);
  const text = await response.text();
  const type = response.headers.get('content-type');
  return { status: response.status, type, text, json: () => JSON.parse(text), headers: response.headers };
}
