import { dateText } from '../../shared/instant.ts';
import { baseOf, idOfReference } from '../api.ts';
import type { Fault } from '../fault.ts';
import type { DriftSettings, ShadowSettings } from '../shadowSettings.ts';
import type { Contract } from '../snapshot.ts';
import { faultAt, hasValue } from '../source.ts';
import { isRoute, splitRoute, unmatchedPath } from './lifecycle.ts';
import type { ConfigRule, RouteEntry, RuleContext, WarningRule } from './rule.ts';

const yearMs = 366 * 86_400_000;
// A process may have some dozens of response bodies of this size in memory.
const largestBodyBytes = 8 * 1024 * 1024;
const highestRatePerSecond = 1000;
const longestTimeoutMs = 60_000;

type DraftShadow = NonNullable<RouteEntry['route']['shadow']>;

/** A fault of one key of a shadow. */
type ShadowFault = readonly [key: keyof DraftShadow, message: string, remedy: string];

/** Undefined without a shadow, or if it is not complete. */
export function shadowOf({ name, route: { shadow } }: RouteEntry): ShadowSettings | undefined {
  if (shadow?.to === undefined || shadow.until === undefined) return undefined;
  const { to, sample, rate, in_flight: inFlight, timeout, body, control, credentials, routes, until } = shadow;
  const deny = routes.deny.map(splitRoute);
  const values = shadow.values === 'on';
  return {
    to: idOfReference(baseOf(name), to),
    sample,
    rate,
    inFlight,
    timeout,
    body,
    control,
    credentials,
    deny,
    values,
    until,
  };
}

/** Undefined without `drift`, or if it is not complete. */
export function driftOf({ drift }: RouteEntry['route']): DriftSettings | undefined {
  return drift?.until === undefined ? undefined : { ...drift, until: drift.until };
}

/** The faults that `check` finds in the shadows of all versions. `check` returns undefined if a shadow is correct. */
function shadowFaults(
  { source, entries }: RuleContext,
  check: (shadow: DraftShadow, entry: RouteEntry) => ShadowFault | undefined,
): Fault[] {
  return entries.flatMap((entry) => {
    const found = entry.route.shadow && check(entry.route.shadow, entry);
    if (found === undefined) return [];
    const [key, message, remedy] = found;
    const path = ['routes', entry.key, 'shadow'];
    return [faultAt(source, hasValue(source, [...path, key]) ? [...path, key] : path, message, remedy)];
  });
}

/** `shadow.to` is another version in the same file, and has an upstream. */
export const shadowHasTarget: ConfigRule = (context) =>
  shadowFaults(context, ({ to }, { key, route }) => {
    const { entries, source } = context;
    const others = entries.filter((entry) => entry.key !== key && entry.route.upstream !== undefined);
    const remedy =
      others.length === 0 ? 'Add a version with an upstream.' : `Write ${others.map((one) => one.key).join(' or ')}.`;
    // A value of a wrong type is already reported.
    if (to === undefined && hasValue(source, ['routes', key, 'shadow', 'to'])) return undefined;
    if (to === undefined) return ['to', `The shadow of ${key} does not name the version that gets the copies.`, remedy];
    if (route.upstream === undefined)
      return ['to', `${key} has no upstream, so there are no responses to compare.`, 'Remove shadow.'];
    if (to === key) return ['to', `${key} cannot be its own shadow.`, remedy];
    const target = entries.find((entry) => entry.key === to);
    if (target === undefined) return ['to', `${to} is not in this ${source.api ? 'API' : 'file'}.`, remedy];
    return target.route.upstream === undefined ? ['to', `${to} has no upstream.`, remedy] : undefined;
  });

/** A forgotten shadow must not send copies forever. */
export const shadowNeedsEnd: ConfigRule = (context, now) =>
  shadowFaults(context, ({ until }, { key }) => {
    if (until === undefined && hasValue(context.source, ['routes', key, 'shadow', 'until'])) return undefined;
    const latest = dateText(Math.floor((now + yearMs) / 86_400_000) * 86_400_000);
    const remedy = `Write a date of the next months, at most ${latest}.`;
    if (until === undefined) return ['until', `The shadow of ${key} has no end.`, remedy];
    return until > now + yearMs ? ['until', `${dateText(until)} is more than a year ahead.`, remedy] : undefined;
  });

export const shadowHasLimits: ConfigRule = (context) =>
  shadowFaults(context, ({ body, rate, timeout }) => {
    if (body > largestBodyBytes) return ['body', 'The largest compared body is more than 8MiB.', 'Write 8MiB or less.'];
    if (timeout > longestTimeoutMs) return ['timeout', 'The timeout is longer than a minute.', 'Write 1m or less.'];
    if (rate > highestRatePerSecond)
      return ['rate', `The rate is more than ${highestRatePerSecond}/s.`, `Write ${highestRatePerSecond}/s or less.`];
    return rate > 0
      ? undefined
      : ['rate', 'A rate of 0 copies nothing.', 'Write a rate such as 5/s, or remove shadow.'];
  });

/** The denied routes are routes of the version. */
export const shadowRoutes: ConfigRule = ({ source, entries, contracts }) =>
  entries.flatMap((entry) =>
    (entry.route.shadow?.routes.deny ?? []).flatMap((name, index): Fault[] => {
      const at = ['routes', entry.key, 'shadow', 'routes', 'deny', index];
      const { method, path } = splitRoute(name);
      if (!isRoute({ method, path }) || !['GET', 'HEAD'].includes(method)) {
        const remedy = 'Write GET or HEAD and a path below the version, such as "GET /export".';
        return [faultAt(source, at, `${name} is not a route that could be copied.`, remedy)];
      }
      // `/drinks/mine` may be denied alone, although the contract lists only `/drinks/{id}`.
      const isListed = ({ paths }: Contract): boolean => paths.find(path) !== undefined;
      const fault = unmatchedPath(path, entry, contracts.get(entry.key), isListed);
      return fault ? [faultAt(source, at, ...fault)] : [];
    }),
  );

export const shadowIsOver: WarningRule = (context, now) =>
  shadowFaults(context, ({ until }, { key }) =>
    until === undefined || until > now
      ? undefined
      : [
          'until',
          `The shadow of ${key} ended on ${dateText(until)}, so nothing is copied.`,
          'Move `until`, or remove shadow.',
        ],
  );

/** A version that an adapter serves has no backend that could answer copies. */
export const shadowOfAdapted: WarningRule = (context) =>
  shadowFaults(context, ({ to }) => {
    const adapter = context.entries.find(({ key }) => key === to)?.route.adapter;
    if (adapter?.mode !== 'serve') return undefined;
    const message = `${to} is served from ${adapter.from} by an adapter, so nothing is copied to it.`;
    return ['to', message, 'Name another version, or remove shadow.'];
  });

/** Differences are classified by the contracts of both versions. */
export const shadowWithoutContract: WarningRule = (context) =>
  shadowFaults(context, ({ to }, { key }) => {
    const lacking = [key, to ?? ''].filter((one) => !context.contracts.has(one));
    const message = `${lacking.join(' and ')} ${lacking.length > 1 ? 'have' : 'has'} no contract, so differences cannot be classified.`;
    return lacking.length === 0 ? undefined : ['to', message, 'Add contract.'];
  });

/** `drift` needs responses to compare, a contract to compare them with, an end, and limits. */
export const driftIsUsable: ConfigRule = ({ source, entries }, now) =>
  entries.flatMap(({ key, route }) => {
    const { drift } = route;
    if (drift === undefined) return [];
    const at = ['routes', key, 'drift'];
    const latest = dateText(Math.floor((now + yearMs) / 86_400_000) * 86_400_000);
    const endRemedy = `Write a date of the next months, at most ${latest}.`;
    const faults: Fault[] = [];
    // `driftKey`: '' for a fault of the whole section.
    const addFault = (driftKey: string, message: string, remedy: string): void => {
      const hasKey = driftKey !== '' && hasValue(source, [...at, driftKey]);
      faults.push(faultAt(source, hasKey ? [...at, driftKey] : at, message, remedy));
    };
    if (route.upstream === undefined)
      addFault('', `${key} has no upstream, so there are no responses to compare.`, 'Remove drift.');
    if (route.contract === undefined)
      addFault('', `${key} has no contract to compare its responses with.`, 'Add contract, or remove drift.');
    // A value of a wrong type is already reported.
    if (drift.until === undefined && !hasValue(source, [...at, 'until']))
      addFault('', `The drift of ${key} has no end.`, endRemedy);
    if (drift.until !== undefined && drift.until > now + yearMs)
      addFault('until', `${dateText(drift.until)} is more than a year ahead.`, endRemedy);
    if (drift.body > largestBodyBytes)
      addFault('body', 'The largest compared body is more than 8MiB.', 'Write 8MiB or less.');
    if (drift.rate > highestRatePerSecond)
      addFault('rate', `The rate is more than ${highestRatePerSecond}/s.`, `Write ${highestRatePerSecond}/s or less.`);
    if (drift.rate <= 0)
      addFault('rate', 'A rate of 0 compares nothing.', 'Write a rate such as 5/s, or remove drift.');
    return faults;
  });

export const driftIsOver: WarningRule = ({ source, entries }, now) =>
  entries.flatMap(({ key, route: { drift } }) => {
    if (drift?.until === undefined || drift.until > now) return [];
    const message = `The drift of ${key} ended on ${dateText(drift.until)}, so nothing is compared.`;
    return [faultAt(source, ['routes', key, 'drift', 'until'], message, 'Move `until`, or remove drift.')];
  });
