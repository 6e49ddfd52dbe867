import type { Request } from 'express';
import { period } from '../config/schema/units.ts';
import type { Snapshot } from '../config/snapshot.ts';
import { successorOf } from '../lifecycle/successor.ts';
import { groupings } from '../usage/report/usagePage.ts';
import type { UsageReportQuery } from '../usage/report/usageReport.ts';
import type { UsageQueries } from '../usage/usageQueries.ts';
import { BadParameter } from './badParameter.ts';
import { pageIn, pageParameters } from './pageIn.ts';

/** What a query string asks of the ledger at `now`. @throws BadParameter */
export function questionIn(
  query: Request['query'],
  snapshot: Snapshot,
  queries: UsageQueries,
  now: number,
): UsageReportQuery {
  expectOnly(query, ['since', 'by', 'version', 'step', ...pageParameters]);
  const version = versionIn(query, snapshot, queries);
  const by = oneOf(query, 'by', groupings) ?? (version === undefined ? 'version' : 'client');
  const step = oneOf(query, 'step', ['day', 'hour'] as const);
  if (step !== undefined && by !== 'day') throw new BadParameter('`step` goes with `by=day` only.');
  const since = Math.max(0, now - (durationIn(query, 'since') ?? 30 * 86_400_000));
  const successor = successorsIn(snapshot, now);
  if (by === 'migration' && version !== undefined && successor(version) === undefined)
    throw new BadParameter(`\`version\`: /${version} has no successor to which its clients could move.`);
  return { by, version, since, until: now, step: step ?? 'day', successor, page: pageIn(query, by) };
}

/** ms; undefined: it is not given. @throws BadParameter */
export function durationIn(query: Request['query'], name: string): number | undefined {
  const text = textIn(query, name);
  if (text === undefined) return undefined;
  const { success, data } = period.safeParse(text);
  if (!success) throw new BadParameter(`\`${name}\` is a duration from 1ms to 36500d, such as 7d or 36h.`);
  return data;
}

/** What is misspelt would be taken for absent, and the answer for another one. @throws BadParameter */
export function expectOnly(query: Request['query'], names: readonly string[]): void {
  const stray = Object.keys(query).find((name) => !names.includes(name));
  if (stray === undefined) return;
  const known = names.map((name) => `\`${name}\``).join(', ');
  throw new BadParameter(`\`${stray.slice(0, 40)}\` is no parameter of this; it has ${known}.`);
}

function versionIn(query: Request['query'], snapshot: Snapshot, queries: UsageQueries): string | undefined {
  const version = textIn(query, 'version')?.replace(/^\//, '');
  if (version === undefined || snapshot.versions.has(version)) return version;
  if (removedIn(queries, snapshot).includes(version)) return version;
  throw new BadParameter(`\`version\`: ${nobodyKnows(queries, snapshot)}`);
}

/** The versions that are in the ledger all the same, although the file lists them no more. */
export function removedIn(queries: UsageQueries, snapshot: Snapshot): string[] {
  const known = queries.totals(0).map((one) => one.version);
  return known.filter((name) => name !== '' && !snapshot.versions.has(name)).sort();
}

/** What to say of a version that is nowhere. */
export function nobodyKnows(queries: UsageQueries | undefined, snapshot: Snapshot): string {
  const listed = snapshot.byMajor.map(({ name }) => `/${name}`).join(', ');
  const removed = queries ? removedIn(queries, snapshot) : [];
  const more = removed.slice(0, 20).map((name) => `/${name}`);
  const also = more.length > 0 ? `, the ledger also ${more.join(', ')}` : '';
  return `neither the configuration nor the ledger knows it.  The configuration has ${listed}${also}.`;
}

function oneOf<Word extends string>(query: Request['query'], name: string, words: readonly Word[]): Word | undefined {
  const text = textIn(query, name);
  const word = words.find((one) => one === text);
  if (text !== undefined && word === undefined) throw new BadParameter(`\`${name}\` is one of ${words.join(', ')}.`);
  return word;
}

function textIn(query: Request['query'], name: string): string | undefined {
  const value = query[name];
  if (value === undefined || typeof value === 'string') return value;
  throw new BadParameter(`\`${name}\` is given once, as text.`);
}

/** A version that is no longer in the file sends its clients to the lowest live one above it. */
function successorsIn(snapshot: Snapshot, now: number): (version: string) => string | undefined {
  return (name) => {
    if (name === '') return undefined;
    const version = snapshot.versions.get(name);
    if (version) return successorOf(version, snapshot, now)?.name;
    return snapshot.byMajor.find(({ major, retired }) => major > Number(name.slice(1)) && !retired)?.name;
  };
}
