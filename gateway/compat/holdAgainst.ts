import { type ContractComparison, compareContracts } from './diff/contracts.ts';
import type { Documents } from './document/documents.ts';
import { positionsOf } from './document/positions.ts';
import type { Exemptions } from './exemptions.ts';
import type { Finding, RouteName } from './finding.ts';
import { findingsOf, isBreaking, type Levels } from './findings.ts';
import { needlessMajor } from './needlessMajor.ts';
import type { Comparing, PlacedFinding } from './report/report.ts';
import { levelOf } from './rules/rules.ts';

/** Two contracts, and what is known of them. */
export interface Held {
  readonly title: string;
  readonly between: Comparing['between'];
  readonly old: Documents;
  readonly new: Documents;
  /** As segments (`v1`), where they are known. */
  readonly versions: { readonly old?: string; readonly new?: string };
}

export interface Judgement {
  readonly levels: Levels;
  readonly exemptions: Exemptions;
  /** Requests to a route in the last 30 days; undefined: nobody counted. */
  readonly callsOf: (version: string | undefined, route: RouteName) => number | undefined;
}

/** Compares, and says what the rules make of it. @throws CompareError */
export function holdAgainst(held: Held, { levels, exemptions, callsOf }: Judgement): Comparing {
  const { title, between, old, new: now, versions } = held;
  const comparison = compareContracts(old, now, levelOf, versions);
  const judged = findingsOf(comparison, levels);
  const needless = between === 'majors' ? needlessMajors(comparison, judged, held, levels) : [];
  // Between majors, all else is fine, and no exemption is of use for it.
  const { findings, exempted } =
    between === 'majors' ? exemptions.apply(needless, `/${versions.new}`) : exemptions.apply(judged);
  const calls = ({ routes }: Finding): number | undefined => sum(routes.map((route) => callsOf(versions.old, route)));
  const all = between === 'majors' ? [...findings, ...judged] : findings;
  const place = placing([...all, ...exempted.map(({ finding }) => finding)], calls);
  return {
    title,
    between,
    old: old.root.place.file.name,
    new: now.root.place.file.name,
    findings: all.map(place),
    exempted: exempted.map(({ finding, exemption }) => ({ finding: place(finding), exemption })),
  };
}

/** The one thing that can be wrong between majors: to have broken nothing. Which levels rules are set to is not asked. */
function needlessMajors(
  comparison: ContractComparison,
  judged: readonly Finding[],
  { versions, old, new: now }: Held,
  levels: Levels,
): Finding[] {
  const level = levels.get('major-without-breaking-change') ?? 'error';
  if (level === 'off' || isBreaking(judged)) return [];
  const differing = levels.size === 0 ? judged : findingsOf(comparison);
  if (isBreaking(differing)) return [];
  return [needlessMajor(differing, versions, old, now, level)];
}

/** The text of a contract is searched only for what there is to show. */
function placing(
  findings: readonly Finding[],
  calls: (finding: Finding) => number | undefined,
): (finding: Finding) => PlacedFinding {
  const sites = findings.flatMap((finding) => [finding.old, finding.new]).filter((site) => site !== undefined);
  const files = new Set(sites.map(({ place }) => place.file));
  const positions = new Map(
    [...files].flatMap((file) => {
      const places = sites.map(({ place }) => place).filter((place) => place.file === file);
      return [...positionsOf(file, places)];
    }),
  );
  return (finding) => ({
    ...finding,
    oldAt: finding.old && positions.get(finding.old.place),
    newAt: finding.new && positions.get(finding.new.place),
    calls: calls(finding),
  });
}

function sum(counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? undefined : known.reduce((total, count) => total + count, 0);
}
