import { type ContractComparison, compareContracts } from '../diff/contracts.ts';
import type { RouteName } from '../diff/routes.ts';
import type { Documents } from '../document/documents.ts';
import { below } from '../document/located.ts';
import type { TextPosition } from '../document/positions.ts';
import { positionsOf } from '../document/positions.ts';
import { basisOf, levelOf } from '../rules/rules.ts';
import { needlessMajorSentence } from '../rules/words.ts';
import type { ExemptedFinding, Exemptions, StaleExemption } from './exemptions.ts';
import { type Finding, findingsOf, fingerprintOf, isBreaking, type LevelOverrides } from './findings.ts';

/** `past`: a contract and an earlier revision of it. `majors`: a major and the one before it, which may break it. */
export type Between = 'past' | 'majors';

/** Two contracts to compare. */
export interface ComparedContracts {
  readonly between: Between;
  /** `/v1`, `/v1 → /v2`, or empty if no version is known. */
  readonly title: string;
  readonly old: Documents;
  readonly new: Documents;
  /** Names in URLs (`v1`), if they are known. */
  readonly versions: { readonly old?: string; readonly new?: string };
}

export interface JudgeSettings {
  readonly levels: LevelOverrides;
  readonly exemptions: Exemptions;
  /** Requests to a route in the last 30 days; undefined if they were not counted. */
  readonly callsOf: (version: string | undefined, route: RouteName) => number | undefined;
}

/** A finding with its positions in the text of the contracts. */
export interface PlacedFinding extends Finding {
  readonly oldAt: TextPosition | undefined;
  readonly newAt: TextPosition | undefined;
  /** Requests to its routes in the last 30 days; undefined if they were not counted. */
  readonly calls: number | undefined;
}

/** The result for one pair of contracts. */
export interface PairReport {
  readonly between: Between;
  readonly title: string;
  /** As the command line names them: `origin/main:services/v1/openapi.yaml`. */
  readonly old: string;
  readonly new: string;
  readonly findings: readonly PlacedFinding[];
  readonly exempted: readonly ExemptedFinding<PlacedFinding>[];
}

/** The result of one run. */
export interface CompatReport {
  readonly pairs: readonly PairReport[];
  readonly stale: readonly StaleExemption[];
  /** Rules that are switched off. Their changes are missing from the report, so it cannot state "no changes". */
  readonly off: readonly string[];
  /** Contracts that were not compared, and why. */
  readonly notes: readonly string[];
}

const majorRule = 'major-without-breaking-change';

/** Compares two contracts and judges the differences by the rules. @throws CompareError */
export function compareAndJudge(pair: ComparedContracts, { levels, exemptions, callsOf }: JudgeSettings): PairReport {
  const { title, between, old, new: now, versions } = pair;
  const comparison = compareContracts(old, now, levelOf, versions);
  const changes = findingsOf(comparison, levels);
  // Everything else is allowed between majors, so that no exemption applies to it.
  const isMajors = between === 'majors';
  const needless = isMajors ? needlessMajor(comparison, changes, pair, levels) : undefined;
  const { findings: kept, exempted } = isMajors
    ? exemptions.apply(needless ? [needless] : [], `/${versions.new}`)
    : exemptions.apply(changes);
  const findings = isMajors ? [...kept, ...changes] : kept;
  const place = placing([...findings, ...exempted.map(({ finding }) => finding)], ({ routes }) =>
    sum(routes.map((route) => callsOf(versions.old, route))),
  );
  return {
    between,
    title,
    old: old.root.place.file.name,
    new: now.root.place.file.name,
    findings: findings.map(place),
    exempted: exempted.map(({ finding, exemption }) => ({ finding: place(finding), exemption })),
  };
}

/** What counts against the change: between majors, only that the new one was not needed. */
export function countedFindings({ between, findings }: PairReport): readonly PlacedFinding[] {
  return between === 'past' ? findings : findings.filter(({ rule }) => rule === majorRule);
}

/** The finding about a new major without a breaking change. Configured levels do not make a change breaking or compatible here. */
function needlessMajor(
  comparison: ContractComparison,
  judged: readonly Finding[],
  { versions, old, new: now }: ComparedContracts,
  levels: LevelOverrides,
): Finding | undefined {
  const level = levels.get(majorRule) ?? 'error';
  if (level === 'off' || isBreaking(judged)) return undefined;
  const changes = levels.size === 0 ? judged : findingsOf(comparison);
  if (isBreaking(changes)) return undefined;
  const [before, after] = [
    versions.old === undefined ? 'the old major' : `/${versions.old}`,
    versions.new === undefined ? 'the new major' : `/${versions.new}`,
  ];
  const isAdditive = changes.every(({ rule }) => basisOf(rule) === 'compatible');
  const content = changes.length === 0 ? 'same' : isAdditive ? 'additions' : 'nothing breaking';
  return {
    rule: majorRule,
    level,
    sentence: needlessMajorSentence(before, after, content),
    subject: '',
    routes: [],
    old: { place: below(old.root, 'info').place, value: undefined },
    new: { place: below(now.root, 'info').place, value: undefined },
    fingerprint: fingerprintOf(majorRule, `/${versions.old ?? ''}\n/${versions.new ?? ''}`),
    renamedTo: undefined,
    source: undefined,
  };
}

/** Adds positions and calls. Each file is searched once, for the places of these findings only. */
function placing(
  findings: readonly Finding[],
  calls: (finding: Finding) => number | undefined,
): (finding: Finding) => PlacedFinding {
  const sites = findings.flatMap((finding) => [finding.old, finding.new]).filter((site) => site !== undefined);
  const byFile = Map.groupBy(
    sites.map(({ place }) => place),
    ({ file }) => file,
  );
  const positions = new Map([...byFile].flatMap(([file, places]) => [...positionsOf(file, places)]));
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
