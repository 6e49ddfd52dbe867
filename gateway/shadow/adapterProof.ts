import type { BeginningAdapter } from '../lifecycle/reloadGuard.ts';
import { plural } from '../shared/text.ts';
import { onlyFails } from '../usage/counting/countedExchange.ts';
import type { UsageQueries } from '../usage/usageQueries.ts';
import { evidenceHash } from './evidence.ts';
import { evidenceOf } from './report.ts';

const mostNamed = 5;

/**
 * What is missing until an adapter may serve clients: clean comparisons of the GET routes that clients have used since `since`, and
 * routes that they use and the adapter does not have. Copies are only sent of GET and HEAD, so other methods are not compared; the
 * row of GET answers HEAD. Undefined: nothing is missing.
 */
export async function missingAdapterProof(
  queries: Pick<UsageQueries, 'evidence' | 'routes' | 'problem'>,
  adapter: BeginningAdapter,
  since: number,
): Promise<string | undefined> {
  const { version, contract, fromContract, hash, pairs, routes } = adapter;
  const used = await queries.routes(version, since);
  const kind = 'adapter';
  const proven = await evidenceOf(queries, version, { kind, hash: evidenceHash(contract, fromContract, hash) });
  if (queries.problem !== undefined) return `the usage ledger cannot be read: ${queries.problem}`;
  if (queries.evidence === undefined) return 'the usage ledger has no comparisons';
  const names = used
    .filter((row) => !onlyFails(row) && !row.route.startsWith('OPTIONS '))
    .map(({ route }) => route.replace(/^HEAD /, 'GET '));
  const missing = [...new Set(names)].flatMap((route) => {
    if (!routes.includes(route)) return [`${route} is in use and not adapted`];
    if (!route.startsWith('GET ')) return [];
    const { pairs: compared = 0, undeclared = 0 } = proven.get(route) ?? {};
    if (undeclared > 0) return [`${route} has ${plural(undeclared, 'undeclared difference')}`];
    return compared < pairs ? [`${route} has ${compared} of ${pairs} comparisons`] : [];
  });
  if (missing.length === 0) return undefined;
  const more = missing.length - mostNamed;
  return missing.slice(0, mostNamed).join(', ') + (more > 0 ? `, and ${plural(more, 'further route')}` : '');
}
