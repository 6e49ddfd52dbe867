import type { ClientUse } from '../usage/queries.ts';

/**
 * Whether a client is one of those that do not count. They may be named as the ledger does (`user-agent:kube-probe`),
 * as they call themselves (`kube-probe`), or by their name in `usage.names`.
 */
export function ignores(names: readonly string[]): (one: Pick<ClientUse, 'client' | 'name'>) => boolean {
  const known = new Set(names);
  return ({ client, name }) =>
    known.has(client) || known.has(client.slice(client.indexOf(':') + 1)) || (name !== undefined && known.has(name));
}
