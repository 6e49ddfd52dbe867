import { resolve } from 'node:path';
import { dateText } from '../../shared/instant.ts';
import type { BrownoutWindow } from '../clientRules.ts';
import type { Fault } from '../fault.ts';
import { parseNames } from '../names.ts';
import type { Identifier } from '../snapshot.ts';
import { faultAt, faultAtKey, hasValue } from '../source.ts';
import { isRoute, splitRoute, unmatchedPath } from './lifecycle.ts';
import {
  type ConfigRule,
  isInService,
  leavesApi,
  type RouteEntry,
  type RuleContext,
  successorEntry,
  type WarningRule,
} from './rule.ts';

/**
 * Returns a function that finds the ledger names of a client by a word of routes.yaml. Like an entry of `retire.ignore_clients`,
 * `word` may be a name in the ledger (`user-agent:kube-probe`), that name without its kind (`kube-probe`), or a name of `usage.names`.
 */
export function clientFinder({ config, source, files }: RuleContext): (word: string) => readonly string[] {
  const kinds = config.usage.identify.map(kindOf);
  const file = config.usage.names;
  const content = file === undefined ? undefined : files.read(resolve(source.folder, file));
  const namesOrProblem = content && 'text' in content ? parseNames(content.text()) : '';
  const entriesByName = Map.groupBy(typeof namesOrProblem === 'string' ? [] : namesOrProblem, ([, name]) => name);
  return (word) => {
    const clientsWithName = (entriesByName.get(word) ?? []).map(([client]) => client);
    return [...new Set([word, ...kinds.map((kind) => `${kind}:${word}`), ...clientsWithName])];
  };
}

const tagPattern = /(?:^|:)#/;

/** Leaves out the clients whose kind is not in `usage.identify`, because no request has such a client. */
export function identifiableClients(clients: readonly string[], identify: readonly Identifier[]): readonly string[] {
  const kinds = identify.map(kindOf);
  return clients.filter((client) => !client.includes(':') || kinds.some((kind) => client.startsWith(`${kind}:`)));
}

function kindOf(identifier: Identifier): string {
  if (identifier.by === 'header') return identifier.name;
  return identifier.by === 'jwt' ? `jwt-${identifier.claim}` : identifier.by;
}

/**
 * A waiver begins when its version is retired, so it must end after the sunset. Without a sunset, it must end after the
 * deprecation.
 */
export const waiversEndLater: ConfigRule = ({ source, entries }) =>
  entries.flatMap(({ key, route: { waivers, deprecation, sunset } }) =>
    waivers.flatMap(({ until }, index) => {
      const [name, end] = sunset === undefined ? ['deprecation', deprecation] : ['sunset', sunset];
      if (end === undefined || until > end) return [];
      const message = `${dateText(until)} is not later than the ${name} of ${key}, ${dateText(end)}.`;
      const remedy = `Write a date after ${dateText(end)}, or remove the waiver.`;
      return [faultAt(source, ['routes', key, 'waivers', index, 'until'], message, remedy)];
    }),
  );

export const freezeNeedsDate: ConfigRule = ({ source, entries }) =>
  entries
    .filter(({ key, route: { freeze } }) => freeze && !hasValue(source, ['routes', key, 'freeze', 'from']))
    .map(({ key }) => {
      const remedy = 'Add the date from which clients are new: from: YYYY-MM-DD.';
      return faultAtKey(source, ['routes', key, 'freeze'], 'The freeze has no `from`.', remedy);
    });

/** Warns of a freeze that a retirement has made useless. The other lines of a version may stay when it is retired. */
export const freezeOfRetiredVersion: WarningRule = ({ source, entries }) =>
  entries
    .filter(({ route: { freeze, retired } }) => freeze !== undefined && retired)
    .map(({ key }) => {
      const message = `${key} is retired, so its freeze has no effect.`;
      return faultAtKey(source, ['routes', key, 'freeze'], message, 'Remove the freeze.');
    });

/** A version that is already answered 410 when its freeze begins has no clients that the freeze could keep out. */
export const freezeBeginsInService: ConfigRule = ({ source, entries }) =>
  entries.flatMap(({ key, route: { freeze, retired, sunset, after_sunset: afterSunset } }) => {
    if (freeze === undefined || retired) return [];
    if (afterSunset === 'serve' || sunset === undefined || freeze.from === undefined || freeze.from < sunset) return [];
    const message = `The freeze begins at ${dateText(freeze.from)}, when ${key} is already answered 410 (after_sunset: gone).`;
    return [faultAt(source, ['routes', key, 'freeze', 'from'], message, `Write a date before ${dateText(sunset)}.`)];
  });

/** A client that is identified only by its user agent or address is never new. */
export const freezeNeedsIdentity: ConfigRule = ({ source, config, entries }) => {
  if (config.usage.identify.some(({ by }) => by === 'header' || by === 'jwt')) return [];
  return entries.flatMap(({ key, route }) => {
    if (route.freeze === undefined) return [];
    const message = 'usage.identify has only user-agent and address, and clients identified by these are never new.';
    const remedy = 'Add a header or a JWT claim to usage.identify, or remove the freeze.';
    return [faultAtKey(source, ['routes', key, 'freeze'], message, remedy)];
  });
};

/** Warns if the ledger deletes the counts from before the freeze while the version is still served. */
export const freezeOutlivesLedger: WarningRule = ({ source, config, entries }, now) =>
  entries.flatMap(({ key, route: { freeze, sunset = now } }) => {
    if (freeze?.from === undefined) return [];
    // A freeze needs the calls of the quiet period before `from`. It is inactive if the ledger does not cover that time.
    const neededSince = freeze.from - config.retire.quiet;
    if (Math.max(sunset, now) - neededSince <= config.usage.retention) return [];
    const message = `The freeze of ${key} becomes inactive before ${key} ends: usage.retention is shorter than the time from ${dateText(neededSince)} to the end.`;
    return [faultAt(source, ['routes', key, 'freeze', 'from'], message, 'Make usage.retention longer.')];
  });

const weekMs = 7 * 86_400_000;
// The owners of a client would mistake a shorter brownout for a network problem.
const shortestBrownoutMs = 15 * 60_000;
// A longer brownout would be an outage.
const longestBrownoutMs = 24 * 3_600_000;

/** The brownouts of a version, in the order of their starts. For a file without faults. */
export function windowsOf({ brownouts }: RouteEntry['route']): BrownoutWindow[] {
  return brownouts
    .map(({ at, for: length, clients: clientShare, routes }) => {
      return { at, end: at + length, clientShare, routes: routes?.map(splitRoute) };
    })
    .sort((a, b) => a.at - b.at);
}

type Window = RouteEntry['route']['brownouts'][number];

/** Makes a rule that checks each brownout of each version. `check` returns a key of the window, a message and a remedy, or undefined. */
function windowRule(
  check: (window: Window, entry: RouteEntry, index: number) => readonly [key: keyof Window, string, string] | undefined,
): ConfigRule {
  return ({ source, entries }) =>
    entries.flatMap((entry) =>
      entry.route.brownouts.flatMap((window, index): Fault[] => {
        const [key, message, remedy] = check(window, entry, index) ?? [];
        if (key === undefined || message === undefined || remedy === undefined) return [];
        return [faultAt(source, ['routes', entry.key, 'brownouts', index, key], message, remedy)];
      }),
    );
}

export const brownoutLengths = windowRule(({ for: length }) => {
  if (length < shortestBrownoutMs) return ['for', 'The brownout is shorter than 15 minutes.', 'Write 15m or more.'];
  return length > longestBrownoutMs
    ? ['for', 'The brownout is longer than 24 hours.', 'Write 24h or less.']
    : undefined;
});

/** Before the deprecation of a version, its clients do not know that it ends. After the sunset, they must have moved already. */
export const brownoutsInDeprecation = windowRule(({ at, for: length }, { key, route: { deprecation, sunset } }) => {
  if (deprecation === undefined)
    return ['at', `${key} has no deprecation.`, 'Add a deprecation before the brownout, or remove the brownout.'];
  if (at < deprecation) {
    const message = `${dateText(at)} is before the deprecation of ${key}, ${dateText(deprecation)}.`;
    return ['at', message, `Move it to ${dateText(deprecation)} or later.`];
  }
  if (sunset === undefined || at + length <= sunset) return undefined;
  const message = `The brownout ends at ${dateText(at + length)}, after the sunset of ${key}, ${dateText(sunset)}.`;
  return ['at', message, 'Let it end before the sunset, or move the sunset.'];
});

export const brownoutsOverlap = windowRule(({ at, for: length }, { route }, index) => {
  const other = route.brownouts
    .slice(0, index)
    .find((earlier) => at < earlier.at + earlier.for && earlier.at < at + length);
  if (other === undefined) return undefined;
  const message = `The brownout overlaps the one that begins at ${dateText(other.at)}.`;
  return ['at', message, 'Move one of the two, or make it shorter.'];
});

/** The routes of a brownout are routes of the version. */
export const brownoutRoutes: ConfigRule = ({ source, entries, contracts }) =>
  entries.flatMap((entry) =>
    entry.route.brownouts.flatMap(({ routes = [] }, index) =>
      routes.flatMap((name, routeIndex): Fault[] => {
        const at = ['routes', entry.key, 'brownouts', index, 'routes', routeIndex];
        const { method, path } = splitRoute(name);
        if (!isRoute({ method, path })) {
          const remedy = 'Write a method in capitals and a path below the version, such as "GET /drinks/{id}".';
          return [faultAt(source, at, `${name} is not a route.`, remedy)];
        }
        const fault = unmatchedPath(path, entry, contracts.get(entry.key));
        return fault ? [faultAt(source, at, ...fault)] : [];
      }),
    ),
  );

/** Warns about a future brownout whose start conditions cannot be met. */
export const brownoutCannotStart: WarningRule = (context, now) =>
  context.entries.flatMap((entry) => {
    const { key, route } = entry;
    const index = route.brownouts.findIndex((window) => window.at > now);
    if (index === -1 || !isInService(entry, now)) return [];
    const at = ['routes', key, 'brownouts', index];
    if (!leavesApi(entry) && successorEntry(entry, context, (other) => isInService(other, now)) === undefined) {
      const message = `${key} has no successor, so its brownouts are skipped.`;
      return [faultAtKey(context.source, at, message, 'Add the next major, or remove the brownouts.')];
    }
    const { usage, brownout } = context.config;
    if (usage.retention < weekMs) {
      const message = `usage.retention is shorter than a week, so the brownouts of ${key} are skipped: the ledger does not cover the last week.`;
      return [faultAtKey(context.source, at, message, 'Make usage.retention 7d or longer.')];
    }
    if (usage.names !== undefined || brownout.unnamed === 1) return [];
    const message = 'No client has a name, so brownouts are skipped: it is not known whom to inform.';
    return [faultAtKey(context.source, at, message, 'Name the clients in usage.names, or set brownout.unnamed: 100%.')];
  });

/**
 * Without a key, all tags change with a new ledger. Waivers then no longer name the clients, a freeze treats the clients as new,
 * and brownouts no longer spare them.
 */
export const restrictionsNeedTagKey: WarningRule = (context, now) => {
  const { source, config, entries } = context;
  if (config.usage.tag_key !== undefined) return [];
  const spared = [...config.brownout.spare, ...config.retire.ignore_clients].flatMap(clientFinder(context));
  const sparesTags = spared.some((client) => tagPattern.test(client));
  return entries.flatMap(({ key, route }) => {
    const hasBrownout = sparesTags && windowsOf(route).some(({ end }) => now < end);
    const ruleKey =
      route.waivers.length > 0 ? 'waivers' : route.freeze ? 'freeze' : hasBrownout ? 'brownouts' : undefined;
    if (ruleKey === undefined) return [];
    const message =
      'Without usage.tag_key, the tags of clients change with a new ledger, and these rules no longer recognize the clients.';
    const remedy = `Write tag_key: \${TAG_KEY}, and set the variable to at least 16 characters.`;
    return [faultAtKey(source, ['routes', key, ruleKey], message, remedy)];
  });
};

/** Only a client with the secret can use a waiver by a tag. Any other name is a word that anybody can send. */
export const waivedClientsHaveTags: WarningRule = (context) => {
  const { source, config, entries } = context;
  if (!entries.some(({ route }) => route.waivers.length > 0)) return [];
  const clientsOf = clientFinder(context);
  const kinds = config.usage.identify.map(kindOf);
  return entries.flatMap(({ key, route }) =>
    route.waivers.flatMap(({ client }, index) => {
      const directNames = new Set([client, ...kinds.map((kind) => `${kind}:${client}`)]);
      const namedClients = clientsOf(client).filter((one) => !directNames.has(one));
      const checkedNames = namedClients.length > 0 ? namedClients : [client];
      const claimable = checkedNames.find((one) => !tagPattern.test(one));
      if (claimable === undefined) return [];
      const message = `${claimable} is not a tag: anybody who sends that word gets the waiver.`;
      const remedy = 'Name a client that is identified by a secret, such as an API key, if that matters.';
      return [faultAt(source, ['routes', key, 'waivers', index, 'client'], message, remedy)];
    }),
  );
};
