import { pointerOf } from '../document/located.ts';
import type { TextPosition } from '../document/textPositions.ts';
import type { Exemption } from '../exemptions.ts';
import type { RouteName, Site } from '../finding.ts';
import { basisOf, type Rule } from '../rules/rules.ts';
import { cutJson } from './cutJson.ts';
import type { Between, CompatReport, PlacedFinding } from './report.ts';
import { type Summary, summaryOf } from './summary.ts';

// Enough for what a person would read.
const longest = 4096;

export interface JsonSide {
  readonly file: string;
  /** RFC 6901. */
  readonly pointer: string;
  readonly line: number | null;
  readonly column: number | null;
  /** Left out where nothing stands there; the beginning of its JSON, as a string, where `cut` says so. */
  readonly value?: unknown;
  readonly cut?: true;
}

export interface JsonFinding {
  readonly rule: string;
  readonly level: PlacedFinding['level'];
  readonly basis: Rule['basis'];
  readonly message: string;
  readonly subject: string;
  readonly routes: readonly RouteName[];
  readonly old: JsonSide | null;
  readonly new: JsonSide | null;
  readonly fingerprint: string;
  readonly hint: string | null;
  /** In the last 30 days; null where nobody counted. */
  readonly calls: number | null;
}

interface JsonExemption {
  readonly rule: string;
  readonly route: string;
  readonly pointer: string | null;
  readonly reason: string;
  readonly until: string;
}

/** docs/compat-report.schema.json says the same to programs. */
export interface JsonReport {
  readonly version: 1;
  readonly comparings: readonly {
    readonly between: Between;
    readonly title: string;
    readonly old: string;
    readonly new: string;
    readonly findings: readonly JsonFinding[];
    readonly exempted: readonly { readonly finding: JsonFinding; readonly exemption: JsonExemption }[];
  }[];
  readonly stale: readonly { readonly why: string; readonly exemption: JsonExemption }[];
  readonly off: readonly string[];
  readonly notes: readonly string[];
  readonly summary: Summary;
}

/** For programs. To be printed with the control characters escaped, as a terminal may be where it ends. */
export function asJson(report: CompatReport): JsonReport {
  return {
    version: 1,
    comparings: report.comparings.map(({ between, title, old, new: now, findings, exempted }) => ({
      ...{ between, title: cut(title), old: cut(old), new: cut(now), findings: findings.map(findingAsJson) },
      exempted: exempted.map(({ finding, exemption }) => ({
        finding: findingAsJson(finding),
        exemption: exemptionAsJson(exemption),
      })),
    })),
    stale: report.stale.map(({ why, exemption }) => ({ why, exemption: exemptionAsJson(exemption) })),
    off: report.off.map(cut),
    notes: report.notes.map(cut),
    summary: summaryOf(report),
  };
}

function findingAsJson(finding: PlacedFinding): JsonFinding {
  const { rule, level, sentence, subject, routes, old, oldAt, new: now, newAt, fingerprint, hint, calls } = finding;
  return {
    ...{ rule, level, basis: basisOf(rule), message: cut(sentence), subject: cut(subject) },
    routes: routes.map(({ kind, method, path }) => ({ kind, method: cut(method), path: cut(path) })),
    ...{ old: sideAsJson(old, oldAt), new: sideAsJson(now, newAt), fingerprint },
    ...{ hint: hint === undefined ? null : cut(hint), calls: calls ?? null },
  };
}

function sideAsJson(site: Site | undefined, at: TextPosition | undefined): JsonSide | null {
  if (site === undefined) return null;
  const { place, value } = site;
  const side = { file: cut(place.file.name), pointer: cut(pointerOf(place)), line: at?.line ?? null };
  const { text, isCut } = cutJson(value, longest);
  return {
    ...{ ...side, column: at?.column ?? null },
    ...(value === undefined ? {} : isCut ? { value: text, cut: true } : { value }),
  };
}

function exemptionAsJson({ rule, route, pointer, reason, until }: Exemption): JsonExemption {
  const words = { rule: cut(rule), route: cut(route), pointer: pointer === undefined ? null : cut(pointer) };
  return { ...words, reason: cut(reason), until: new Date(until).toISOString() };
}

function cut(text: string): string {
  return text.length > longest ? `${text.slice(0, longest - 1)}…`.toWellFormed() : text;
}
