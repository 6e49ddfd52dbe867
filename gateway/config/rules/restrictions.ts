import { resolve } from 'node:path';
import { parseNames } from '../names.ts';
import { faultAt, has } from '../source.ts';
import { type ConfigRule, dateText, type RuleContext, type WarningRule } from './rule.ts';

/**
 * Finds the names in the ledger of a client that the file names. Like an entry of `retire.ignore_clients`, `word` may be a name in
 * the ledger (`user-agent:kube-probe`), that name without its kind (`kube-probe`), or a name of `usage.names`.
 */
export function clientFinder({ draft, source, files }: RuleContext): (word: string) => readonly string[] {
  const kinds = draft.usage.identify.map((identifier) => {
    if (identifier.by === 'header') return identifier.name;
    return identifier.by === 'jwt' ? `jwt-${identifier.claim}` : identifier.by;
  });
  const file = draft.usage.names;
  const content = file === undefined ? undefined : files.read(resolve(source.folder, file));
  const names = content && 'text' in content ? parseNames(content.text()) : '';
  const byName = Map.groupBy(typeof names === 'string' ? [] : names, ([, name]) => name);
  return (word) => {
    const named = (byName.get(word) ?? []).map(([client]) => client);
    return [...new Set([word, ...kinds.map((kind) => `${kind}:${word}`), ...named])];
  };
}

/** A waiver begins when its version is retired, so it must end later. */
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
    .filter(({ key, route: { freeze } }) => freeze && !has(source, ['routes', key, 'freeze', 'from']))
    .map(({ key }) => {
      const remedy = 'Add the date from which clients are new: from: YYYY-MM-DD.';
      return faultAt(source, ['routes', key, 'freeze'], 'The freeze has no from.', remedy, 'key');
    });

/** A version that is answered 410 has no clients that a freeze could keep out. */
export const freezeOfServedVersion: ConfigRule = ({ source, entries }) =>
  entries.flatMap(({ key, route: { freeze, retired, sunset, after_sunset: afterSunset } }) => {
    if (freeze === undefined) return [];
    if (retired) {
      const message = `${key} is retired, so its freeze has no effect.`;
      return [faultAt(source, ['routes', key, 'freeze'], message, 'Remove the freeze.', 'key')];
    }
    if (afterSunset === 'serve' || sunset === undefined || freeze.from === undefined || freeze.from < sunset) return [];
    const message = `The freeze begins at ${dateText(freeze.from)}, when ${key} is already answered 410 (after_sunset: gone).`;
    return [faultAt(source, ['routes', key, 'freeze', 'from'], message, `Write a date before ${dateText(sunset)}.`)];
  });

/** A client that is known by its user agent or address only is never new. */
export const freezeNeedsIdentity: ConfigRule = ({ source, draft, entries }) => {
  if (draft.usage.identify.some(({ by }) => by === 'header' || by === 'jwt')) return [];
  return entries.flatMap(({ key, route }) => {
    if (route.freeze === undefined) return [];
    const message = 'usage.identify only has user-agent and address, and no such client is ever new.';
    const remedy = 'Add a header or a JWT claim to usage.identify, or remove the freeze.';
    return [faultAt(source, ['routes', key, 'freeze'], message, remedy, 'key')];
  });
};

/** The ledger forgets the time before the freeze while the version is still served. */
export const freezeOutlivesLedger: WarningRule = ({ source, draft, entries }, now) =>
  entries.flatMap(({ key, route: { freeze, sunset = now } }) => {
    const since = (freeze?.from ?? Number.NaN) - draft.retire.quiet;
    if (Number.isNaN(since) || Math.max(sunset, now) - since <= draft.usage.retention) return [];
    const message = `The freeze of ${key} becomes inactive before ${key} ends: usage.retention is shorter than the time from ${dateText(since)} to the end.`;
    return [faultAt(source, ['routes', key, 'freeze', 'from'], message, 'Make usage.retention longer.')];
  });
