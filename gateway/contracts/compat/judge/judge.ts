import type { Documents } from '../../../contract/document/documents.ts';
import { below, pointerOf } from '../../../contract/document/located.ts';
import { positionsOf, type TextPosition } from '../../../contract/document/positions.ts';
import type { RouteName } from '../../../contract/routes.ts';
import { type ContractComparison, compareContracts } from '../diff/contracts.ts';
import { basisOf, defaultLevelOf } from '../rules/rules.ts';
import { needlessMajorSentence, routeInWords } from '../rules/words.ts';
import {
  type Finding,
  findingFingerprint,
  findingsOf,
  hasBreakingFinding,
  type LevelOverrides,
  limitedToRoutes,
} from './findings.ts';

/** Accepts a finding until a date. After this date, the change has to be reviewed again. */
export interface Exemption {
  readonly rule: string;
  /** As in the report: `GET /cocktails`. */
  readonly route: string;
  /** A place in the old or the new contract; places below it are included. Undefined: the whole route. */
  readonly pointer: string | undefined;
  readonly reason: string;
  /** Epoch ms. */
  readonly until: number;
}

export interface StaleExemption {
  readonly exemption: Exemption;
  readonly why: 'expired' | 'unused';
}

export interface ExemptedFinding<F extends Finding = Finding> {
  readonly finding: F;
  readonly exemption: Exemption;
}

/** Applies exemptions, and records which of them are used. An expired exemption has no effect. */
export class Exemptions {
  readonly #exemptions: readonly Exemption[];
  readonly #now: number;
  readonly #used = new Set<Exemption>();

  constructor(exemptions: readonly Exemption[], now: number) {
    this.#exemptions = exemptions;
    this.#now = now;
  }

  /**
   * Removes the exempt routes from each finding. If no route remains, the finding is exempted. An exemption for a finding
   * outside all routes has `nameOutsideRoutes` as its route.
   */
  apply(
    findings: readonly Finding[],
    nameOutsideRoutes = 'the document',
  ): { readonly findings: Finding[]; readonly exempted: ExemptedFinding[] } {
    const exempted: ExemptedFinding[] = [];
    const notExempted = findings.flatMap((finding) => {
      if (finding.level === 'info') return [finding];
      const names = finding.routes.length === 0 ? [nameOutsideRoutes] : finding.routes.map(routeInWords);
      const exemptionOfEach = names.map((name) => this.#exemptionFor(finding, name));
      const exemption = exemptionOfEach.find((one) => one !== undefined);
      if (exemption === undefined) return [finding];
      const routes = finding.routes.filter((_route, index) => exemptionOfEach[index] === undefined);
      if (routes.length > 0) return [limitedToRoutes(finding, routes)];
      exempted.push({ finding, exemption });
      return [];
    });
    return { findings: notExempted, exempted };
  }

  get expired(): StaleExemption[] {
    return this.#exemptions.filter((one) => one.until <= this.#now).map((exemption) => ({ exemption, why: 'expired' }));
  }

  /** Expired or unused exemptions. Complete only after `apply` has seen every finding. */
  get stale(): StaleExemption[] {
    const expired = new Set(this.expired.map(({ exemption }) => exemption));
    return this.#exemptions.flatMap((exemption): StaleExemption[] => {
      if (expired.has(exemption)) return [{ exemption, why: 'expired' }];
      return this.#used.has(exemption) ? [] : [{ exemption, why: 'unused' }];
    });
  }

  #exemptionFor(finding: Finding, route: string): Exemption | undefined {
    const match = this.#exemptions.find(
      (one) =>
        one.until > this.#now &&
        one.rule === finding.rule &&
        one.route === route &&
        (one.pointer === undefined || pointersOf(finding).some((pointer) => isAtOrBelow(pointer, one.pointer ?? ''))),
    );
    if (match) this.#used.add(match);
    return match;
  }
}

function pointersOf(finding: Finding): string[] {
  return [finding.old, finding.new].flatMap((site) => (site ? [pointerOf(site.place)] : []));
}

function isAtOrBelow(pointer: string, whole: string): boolean {
  return pointer === whole || pointer.startsWith(`${whole}/`);
}

/** `past`: a contract and an earlier revision of it. `majors`: two majors, between which breaking changes are allowed. */
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
  readonly staleExemptions: readonly StaleExemption[];
  /** Rules that are switched off. Their changes are missing in the report, so the report cannot state "no changes". */
  readonly rulesOff: readonly string[];
  /** Contracts that were not compared, and why. */
  readonly notCompared: readonly string[];
  /** Why the calls of the routes are not known, as a sentence without a full stop. It does not decide the result. */
  readonly unknownCalls?: string | undefined;
}

const majorRule = 'major-without-breaking-change';

/** Compares two contracts and judges the differences by the rules. @throws CompareError */
export function compareAndJudge(pair: ComparedContracts, { levels, exemptions, callsOf }: JudgeSettings): PairReport {
  const { title, between, old, new: now, versions } = pair;
  // Alternatives are paired so that the fewest changes are breaking by default. Configured levels do not change the pairs.
  const comparison = compareContracts(old, now, defaultLevelOf, versions);
  const changeFindings = findingsOf(comparison, levels);
  // Between majors all changes are allowed, so exemptions apply only to the finding about a needless major.
  const isMajors = between === 'majors';
  const majorFinding = isMajors ? needlessMajorFinding(comparison, changeFindings, pair, levels) : undefined;
  const { findings: notExempted, exempted } = isMajors
    ? exemptions.apply(majorFinding ? [majorFinding] : [], `/${versions.new}`)
    : exemptions.apply(changeFindings);
  const findings = isMajors ? [...notExempted, ...changeFindings] : notExempted;
  const toPlaced = placerFor([...findings, ...exempted.map(({ finding }) => finding)], ({ routes }) =>
    sum(routes.map((route) => callsOf(versions.old, route))),
  );
  return {
    between,
    title,
    old: old.root.place.file.name,
    new: now.root.place.file.name,
    findings: findings.map(toPlaced),
    exempted: exempted.map(({ finding, exemption }) => ({ finding: toPlaced(finding), exemption })),
  };
}

/** The findings on which the result of the comparison is based. Between majors, that is at most one: the finding about a needless major. */
export function relevantFindings({ between, findings }: PairReport): readonly PlacedFinding[] {
  return between === 'past' ? findings : findings.filter(({ rule }) => rule === majorRule);
}

/**
 * The finding about a new major without a breaking change. Undefined: the rule is off, or a change is breaking by its configured
 * or by its default level, and justifies the major.
 */
function needlessMajorFinding(
  comparison: ContractComparison,
  changeFindings: readonly Finding[],
  { versions, old, new: now }: ComparedContracts,
  levels: LevelOverrides,
): Finding | undefined {
  const level = levels.get(majorRule) ?? 'error';
  if (level === 'off' || hasBreakingFinding(changeFindings)) return undefined;
  const findingsAtDefaults = levels.size === 0 ? changeFindings : findingsOf(comparison);
  if (hasBreakingFinding(findingsAtDefaults)) return undefined;
  const [oldName, newName] = [
    versions.old === undefined ? 'the old major' : `/${versions.old}`,
    versions.new === undefined ? 'the new major' : `/${versions.new}`,
  ];
  // The basis of a rule: what the versioning rules state about its changes. `compatible`: the versioning rules allow the changes.
  const isAdditive = findingsAtDefaults.every(({ rule }) => basisOf(rule) === 'compatible');
  const content = findingsAtDefaults.length === 0 ? 'same' : isAdditive ? 'additions' : 'nothing breaking';
  return {
    rule: majorRule,
    level,
    sentence: needlessMajorSentence(oldName, newName, content),
    subject: '',
    routes: [],
    old: { place: below(old.root, 'info').place, value: undefined },
    new: { place: below(now.root, 'info').place, value: undefined },
    fingerprint: findingFingerprint(majorRule, `/${versions.old ?? ''}\n/${versions.new ?? ''}`),
    renamedTo: undefined,
    collectedChange: undefined,
  };
}

/** A function that adds positions and calls to a finding. Each file is searched once, for the places of all `findings`. */
function placerFor(
  findings: readonly Finding[],
  callsOf: (finding: Finding) => number | undefined,
): (finding: Finding) => PlacedFinding {
  const sites = findings.flatMap((finding) => [finding.old, finding.new]).filter((site) => site !== undefined);
  const placesByFile = Map.groupBy(
    sites.map(({ place }) => place),
    ({ file }) => file,
  );
  const positionByPlace = new Map([...placesByFile].flatMap(([file, places]) => [...positionsOf(file, places)]));
  return (finding) => ({
    ...finding,
    oldAt: finding.old && positionByPlace.get(finding.old.place),
    newAt: finding.new && positionByPlace.get(finding.new.place),
    calls: callsOf(finding),
  });
}

function sum(counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? undefined : known.reduce((total, count) => total + count, 0);
}
