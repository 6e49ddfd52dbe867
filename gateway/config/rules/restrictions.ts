import { resolve } from 'node:path';
import { parseNames } from '../names.ts';
import { faultAt } from '../source.ts';
import { type ConfigRule, dateText, type RuleContext } from './rule.ts';

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
