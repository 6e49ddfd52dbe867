import type { Documents } from '../../../contract/document/documents.ts';
import { below } from '../../../contract/document/located.ts';
import { type Route, withoutNames } from '../../../contract/routes.ts';
import { compareContracts, type RouteComparison } from '../diff/contracts.ts';
import { collectChanges, renamedChanges } from '../judge/findings.ts';
import { defaultLevelOf, type RuleId, ruleFor } from '../rules/rules.ts';
import { routeInWords, subjectOf } from '../rules/words.ts';
import { ContractExamples } from './examples.ts';
import { type OldAndNew, requestLines } from './excerpts.ts';
import { type ChangeGroup, groupChanges } from './groups.ts';
import {
  changeCount,
  type Guide,
  type GuideRoute,
  isBreakingRoute,
  type RouteState,
  type Topic,
  type VersionEnd,
} from './guide.ts';
import { type TopicContext, topicOf } from './topics.ts';

export interface GuideInput {
  readonly old: Documents;
  readonly new: Documents;
  /** `v1`. */
  readonly from: string;
  readonly to: string;
  /** Maps a path of the older major to its path in the newer one; null if it was removed. */
  readonly moved: (path: string) => string | null;
  readonly versionEnd: VersionEnd;
}

/** Compares two majors and describes the changes for clients. @throws CompareError for a broken `$ref` */
export function buildGuide({ old, new: newContract, from, to, moved, versionEnd }: GuideInput): Guide {
  const comparison = compareContracts(old, newContract, defaultLevelOf, { old: from, new: to, moved });
  const context: RouteContext = {
    contracts: { old: new ContractExamples(old), new: new ContractExamples(newContract) },
    oldRoutes: new Map(
      comparison.routes.flatMap(({ route, oldRoute }) => (oldRoute ? [[route, oldRoute] as const] : [])),
    ),
    newNameByRemoval: renamedChanges(comparison),
    anchors: new Set(),
    baseUrls: { old: versionEnd.oldBaseUrl, new: versionEnd.newBaseUrl },
  };
  const changes = collectChanges(comparison).filter(({ change }) => {
    return change.kind !== 'route' && !unlistedRules.has(ruleFor(change).id);
  });
  const topics = groupChanges(changes).map((group): GroupTopic => {
    const isShared = group.occurrences.length > 1;
    const anchor = isShared ? uniqueAnchor(`shared ${group.subject}`, context.anchors) : '';
    return { group, isShared, topic: topicOf(group, anchor, context) };
  });
  const topicsByRoute = new Map<Route, GroupTopic[]>(comparison.routes.map(({ route }) => [route, []]));
  for (const one of topics) for (const { route } of one.group.occurrences) topicsByRoute.get(route)?.push(one);
  const routes = comparison.routes.map((one) => guideRoute(one, topicsByRoute.get(one.route) ?? [], context));
  return {
    from,
    to,
    title: stringOrEmpty(below(below(old.root, 'info'), 'title').value),
    versionEnd,
    routes: routes.sort((a, b) => workRank(a) - workRank(b)),
    shared: topics.filter(({ isShared }) => isShared).map(({ topic }) => topic),
  };
}

/** Changes under these rules do not affect clients. */
const unlistedRules: ReadonlySet<RuleId> = new Set(['docs-only', 'path-param-renamed', 'structure-equivalent']);

interface GroupTopic {
  readonly group: ChangeGroup;
  readonly isShared: boolean;
  readonly topic: Topic;
}

interface RouteContext extends TopicContext {
  /** The anchors that are in use. */
  readonly anchors: Set<string>;
  readonly baseUrls: OldAndNew<string>;
}

function guideRoute(
  { route, oldRoute, comparison }: RouteComparison,
  topics: readonly GroupTopic[],
  { anchors, contracts, baseUrls, newNameByRemoval }: RouteContext,
): GuideRoute {
  const [first] = comparison.changes;
  const isRemoved = first?.kind === 'route' && first.effect === 'removed';
  const ownTopics = topics.filter(({ isShared }) => !isShared).map(({ topic }) => topic);
  const isMoved =
    oldRoute !== undefined && oldRoute.path !== route.path && withoutNames(oldRoute.path) !== withoutNames(route.path);
  const showsRequestLine = isMoved || ownTopics.some(({ subject }) => subject === 'Parameters');
  return {
    anchor: uniqueAnchor(routeInWords(oldRoute ?? route), anchors),
    state: isRemoved ? 'removed' : isMoved ? 'moved' : stateOf(oldRoute !== undefined, topics.length),
    old: oldRoute,
    new: isRemoved ? undefined : route,
    summary: stringOrEmpty(below((oldRoute ?? route).operation, 'summary').value),
    renamedTo: (isRemoved && newNameByRemoval.get(first)) || '',
    requestLine:
      showsRequestLine && oldRoute ? requestLines({ old: oldRoute, new: route }, contracts, baseUrls) : undefined,
    topics: ownTopics,
    shared: topics
      .filter(({ isShared }) => isShared)
      .map(({ group, topic }) => ({
        topic,
        // A getter, because a guide shows only the first few: hundreds of routes may share hundreds of schemas.
        get where() {
          const occurrence = group.occurrences.find((one) => one.route === route);
          return occurrence ? subjectOf(occurrence.steps) : '';
        },
      })),
  };
}

function stateOf(existed: boolean, topicCount: number): RouteState {
  if (!existed) return 'new';
  return topicCount > 0 ? 'changed' : 'unchanged';
}

/** A lower rank means more work for clients. */
function workRank(route: GuideRoute): number {
  const { state } = route;
  if (state === 'removed') return 0;
  if (isBreakingRoute(route)) return 1;
  if (state === 'moved') return 2;
  // Errors and warnings. A changed route without them has only additions.
  if (changeCount(route) > 0) return 3;
  return state === 'changed' ? 4 : state === 'new' ? 5 : 6;
}

/** An anchor of lower-case letters, digits and hyphens. Adds it to `anchors`. */
function uniqueAnchor(text: string, anchors: Set<string>): string {
  const slug =
    text
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')
      .slice(0, 80) || 'route';
  let anchor = slug;
  for (let suffix = 2; anchors.has(anchor); suffix += 1) anchor = `${slug}-${suffix}`;
  anchors.add(anchor);
  return anchor;
}

function stringOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
