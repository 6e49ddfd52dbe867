import { collectChanges } from '../collect.ts';
import { compareContracts } from '../diff/contracts.ts';
import type { Route } from '../diff/routes.ts';
import type { Documents } from '../document/documents.ts';
import { below } from '../document/located.ts';
import { renamesIn } from '../judge/renames.ts';
import { levelOf, ruleFor } from '../rules/rules.ts';
import { groupsOf } from './groups.ts';
import type { End, Guide } from './guide.ts';
import { rank, routeInGuide, type Told, text } from './routeInGuide.ts';
import { Side } from './side.ts';
import { type Contracts, topicOf } from './topics.ts';
import { anchorFor } from './words.ts';

export interface GuideQuestion {
  readonly old: Documents;
  readonly now: Documents;
  /** `v1`. */
  readonly from: string;
  readonly to: string;
  /** Where a path of the older major is in the newer one; null: nowhere. */
  readonly moved: (path: string) => string | null;
  readonly end: End;
}

/** Holds two majors against each other, for their clients. @throws CompareError for a `$ref` that leads nowhere */
export function buildGuide({ old, now, from, to, moved, end }: GuideQuestion): Guide {
  const comparison = compareContracts(old, now, levelOf, { old: from, new: to, moved });
  const renames = renamesIn(comparison);
  const was = new Map(
    comparison.routes.flatMap(({ route, was: before }) => (before ? [[route, before] as const] : [])),
  );
  const contracts: Contracts = { old: new Side(old), now: new Side(now), was };
  const changes = collectChanges(comparison).filter(({ change }) => !isQuiet(change) && change.kind !== 'route');
  const taken = new Set<string>();
  const told = groupsOf(changes).map((group): Told => {
    const isShared = group.spots.length > 1;
    const anchor = isShared ? anchorFor(`shared ${group.subject}`, taken) : '';
    return { group, isShared, topic: topicOf(group, anchor, contracts, renames) };
  });
  const byRoute = new Map<Route, Told[]>(comparison.routes.map(({ route }) => [route, []]));
  for (const one of told) for (const { route } of one.group.spots) byRoute.get(route)?.push(one);
  const around = { taken, contracts, bases: { old: end.oldBase, now: end.newBase }, renames };
  const routes = comparison.routes.map((one) => routeInGuide(one, byRoute.get(one.route) ?? [], around));
  return {
    from,
    to,
    title: text(below(below(old.root, 'info'), 'title').value),
    end,
    routes: routes.sort((a, b) => rank(a) - rank(b)),
    shared: told.filter(({ isShared }) => isShared).map(({ topic }) => topic),
  };
}

/** What no client has to know: words, and what is said in another way. */
function isQuiet(change: Parameters<typeof ruleFor>[0]): boolean {
  const { id } = ruleFor(change);
  return id === 'docs-only' || id === 'path-param-renamed' || id === 'structure-equivalent';
}
