import { apiOf } from '../../config/api.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { dayText } from '../../shared/instant.ts';
import { ago, inBytes, inWholeUnits, plural, printableExcerpt, withCommas } from '../../shared/text.ts';
import { type CallEvidence, mayLackCalls } from '../../usage/evidence/callEvidence.ts';
import { type RequestSizes, sizeParts } from '../../usage/evidence/requestSizes.ts';
import { forceLine, type Refusal, type VersionUsage } from '../lifecycle/reloadGuard.ts';
import { lastPeriodInWords } from '../retirement/words.ts';
import { changedVersions, type RecentRefusals, type RouteWithoutAdapter, type TooLarge } from './ownAnswers.ts';
import { plannedAnswer, servesAnyone, sizeAnswers } from './plan.ts';
import { distinctSizes } from './sizeWords.ts';

/** How versions are used, with what the edit would answer to their recent requests. */
export interface EditUsage extends VersionUsage {
  /** Undefined: it is not known, because the ledger does not answer, or there is none; or the edit refuses no requests by itself. */
  readonly ownRefusals?: RecentRefusals | undefined;
  /** Whether the ledger has the requests of a version with their sizes, within `guard.quiet`. */
  sizes?(version: string): CallEvidence;
}

/** Refusals of an edit after which the gateway itself would refuse requests that backends answer now. `now`: epoch ms. */
export function editRefusals(before: Snapshot, after: Snapshot, usage: EditUsage, now: number): Refusal[] {
  return [...basePathRefusals(before, after, usage, now), ...requestRefusals(before, after, usage, now)];
}

/** Refusals of versions in use whose present paths the gateway would answer 404, because the edit changes `gateway.base_path`. */
function basePathRefusals(before: Snapshot, after: Snapshot, usage: EditUsage, now: number): Refusal[] {
  const [from, to] = [before, after].map(({ gateway }) => gateway.basePath || '/');
  if (from === to) return [];
  return after.sortedVersions.flatMap(({ name }) => {
    if (apiOf(name, after).guard.quiet === 0) return [];
    const isLost = isServed(name, before, before, now) && !isAtOldPath(name, after, before, now);
    const evidence = usage.calls(name);
    const requests = usage.ownRefusals?.atOldPaths.get(name) ?? 0;
    if (!isLost || evidence === undefined || (evidence.called === 'no' && requests === 0)) return [];
    const known = evidence.called === 'yes' || requests > 0;
    const calls =
      evidence.called === 'yes'
        ? `was last called ${ago(evidence.lastCall ?? now, now)}.`
        : known
          ? `had ${plural(requests, 'request')} in ${lastPeriodInWords(usage.ownRefusals?.periods.get(name) ?? 0)}.`
          : `its calls may be missing. ${reasonsIn(evidence)}`;
    const message = `/${name} is answered 404 at its present paths, because gateway.base_path changes from ${from} to ${to}, and ${calls}`;
    return [{ version: name, message, force: forceLine([name]), known }];
  });
}

/** Refusals of versions of which the gateway would refuse some requests, by a limit of their size or by an adapter. */
function requestRefusals(before: Snapshot, after: Snapshot, usage: EditUsage, now: number): Refusal[] {
  const { ownRefusals } = usage;
  const versions = changedVersions({ candidate: after, running: before });
  const served = versions.filter((name) => isServed(name, before, before, now) && isServed(name, after, before, now));
  return served.flatMap((version) => {
    const { quiet } = apiOf(version, after).guard;
    if (quiet === 0) return [];
    const refusal = (message: string, known: boolean) => ({ version, message, force: forceLine([version]), known });
    const tooLarge = ownRefusals?.tooLarge.filter((one) => one.version === version) ?? [];
    const bySize = [...Map.groupBy(tooLarge, ({ part, isKnown }) => `${part} ${isKnown}`).values()];
    const found = [
      ...bySize.map((list) =>
        refusal(sizeMessage(list, ownRefusals?.periods.get(version) ?? 0), list[0]?.isKnown === true),
      ),
      ...adapterRefusals(ownRefusals, version).map(({ message, isKnown }) => refusal(message, isKnown)),
    ];
    const evidence = usage.sizes?.(version);
    const isKnown = evidence !== undefined && !mayLackCalls(evidence);
    if (isKnown || found.some(({ known }) => known)) return found;
    const reasons = evidence === undefined ? '' : ` ${reasonsIn(evidence)}`;
    const missing = `requests in the last ${inWholeUnits(quiet)} (guard.quiet) may be missing.${reasons}`;
    const changes = changesIn(version, before, after);
    return [
      ...found,
      refusal(`/${version} may refuse requests that it serves now, because ${changes}, and ${missing}`, false),
    ];
  });
}

/** Whether the edited configuration still finds the version at its present paths. */
function isAtOldPath(version: string, snapshot: Snapshot, before: Snapshot, now: number): boolean {
  return plannedAnswer({ version }, snapshot, before.gateway.basePath, now) !== 'unknown_version';
}

function isServed(version: string, snapshot: Snapshot, before: Snapshot, now: number): boolean {
  return servesAnyone(version, snapshot, before.gateway.basePath, now);
}

function reasonsIn({ missing, pending }: CallEvidence): string {
  return [...missing, ...pending].map(({ text }) => text).join(' ');
}

/** `list`: about one limit of one version, at least one route, the largest first. */
function sizeMessage(list: readonly TooLarge[], period: number): string {
  const [{ version, route, part, setting, limit, current, largest, at, isKnown }] = list as [TooLarge];
  const { status, words } = sizeAnswers[part];
  const [limitWords, largestWords] = distinctSizes(limit, largest);
  const others = list.length - 1;
  const more = others === 0 ? '' : ` (and larger than the new limit at ${plural(others, 'more route')})`;
  const change = `${setting} changes from ${inBytes(current ?? 0)} to ${limitWords}`;
  const largestOf = `the ${words} of ${lastPeriodInWords(period)} was ${largestWords}, at ${printableExcerpt(route)}${more}`;
  if (isKnown)
    return `/${version} answers ${status} to requests that it serves now, because ${change}, and ${largestOf}.`;
  const day = dayText(at);
  const why = `on ${day} it was larger than the present limit, so smaller ones of that day are not known`;
  return `/${version} may answer ${status} to requests that it serves now, because ${change}: ${largestOf}; ${why}.`;
}

const maxNamedRoutes = 5;

/** Messages about routes in use that adapters lack. */
export function adapterRouteMessages(refusals: RecentRefusals | undefined): string[] {
  const versions = new Set(refusals?.notAdapted.map(({ version }) => version));
  return [...versions].flatMap((version) => adapterRefusals(refusals, version).map(({ message }) => message));
}

function adapterRefusals(refusals: RecentRefusals | undefined, version: string) {
  const notAdapted = refusals?.notAdapted.filter((one) => one.version === version) ?? [];
  return [...Map.groupBy(notAdapted, ({ isKnown }) => isKnown)].map(([isKnown, list]) => {
    return { message: adapterMessage(list, refusals?.periods.get(version) ?? 0), isKnown };
  });
}

/** `list`: routes of one version, at least one. */
function adapterMessage(list: readonly RouteWithoutAdapter[], period: number): string {
  const [{ version, isKnown }] = list as [RouteWithoutAdapter];
  const requests = list.reduce((sum, one) => sum + one.requests, 0);
  const named = list.slice(0, maxNamedRoutes).map(({ route }) => printableExcerpt(route));
  const more = list.length > named.length ? ` and ${plural(list.length - named.length, 'more route')}` : '';
  const what = `${named.join(', ')}${more} (${withCommas(requests)} in ${lastPeriodInWords(period)})`;
  return isKnown
    ? `/${version} answers 410 to requests that it serves now, because its adapter does not serve ${what}.`
    : `/${version} may answer 410 to requests that it serves now, because its adapter serves only some of ${what}.`;
}

/** What may refuse requests of a version: the limits that become lower, and the adapter. */
function changesIn(version: string, before: Snapshot, after: Snapshot): string {
  const limitsOf = ({ gateway, versions }: Snapshot): RequestSizes => ({
    body: versions.get(version)?.limits.body ?? 0,
    target: gateway.limits.url,
    head: gateway.limits.head,
  });
  const [current, next] = [limitsOf(before), limitsOf(after)];
  const lowered = sizeParts
    .filter((part) => next[part] < current[part])
    .map((part) => `${sizeAnswers[part].setting} changes from ${inBytes(current[part])} to ${inBytes(next[part])}`);
  return lowered.length > 0 ? lowered.join(' and ') : 'its adapter changes';
}
