import { pointerOf } from '../../../contract/document/located.ts';
import type { TextPosition } from '../../../contract/document/positions.ts';
import type { RouteName } from '../../../contract/routes.ts';
import { isoText } from '../../../shared/instant.ts';
import { shortened } from '../../../shared/text.ts';
import type { Site } from '../judge/findings.ts';
import type { Between, CompatReport, Exemption, PlacedFinding } from '../judge/judge.ts';
import { basisOf, type Rule } from '../rules/rules.ts';
import { looksRenamedPhrase } from '../rules/words.ts';
import { type CompatSummary, compatSummary } from './summary.ts';
import { notesOf } from './words.ts';

// In characters. Longer texts, and the JSON of longer values, are cut.
const longestText = 4096;

export interface JsonSide {
  readonly file: string;
  /** RFC 6901. */
  readonly pointer: string;
  readonly line: number | null;
  readonly column: number | null;
  /** Absent if the contract has no value there. With `cut`: a string, the beginning of the value's JSON. */
  readonly value?: unknown;
  readonly cut?: true;
}

export interface JsonFinding {
  readonly rule: string;
  readonly level: PlacedFinding['level'];
  /** Whether the versioning rules forbid the change. */
  readonly basis: Rule['basis'];
  readonly message: string;
  readonly subject: string;
  readonly routes: readonly RouteName[];
  readonly old: JsonSide | null;
  readonly new: JsonSide | null;
  readonly fingerprint: string;
  readonly hint: string | null;
  /** In the last 30 days; null if they were not counted. */
  readonly calls: number | null;
}

interface JsonExemption {
  readonly rule: string;
  readonly route: string;
  readonly pointer: string | null;
  readonly reason: string;
  readonly until: string;
}

/** The format of docs/compat-report.schema.json. */
export interface JsonReport {
  readonly version: 1;
  readonly comparings: readonly {
    /** Two revisions of one contract (`past`), or two majors (`majors`). */
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
  readonly summary: CompatSummary;
}

/** The report for programs. Escape control characters when you print the report: the output may go to a terminal. */
export function reportAsJson(report: CompatReport): JsonReport {
  return {
    version: 1,
    comparings: report.pairs.map(({ between, title, old, new: now, findings, exempted }) => ({
      between,
      title: cut(title),
      old: cut(old),
      new: cut(now),
      findings: findings.map(findingAsJson),
      exempted: exempted.map(({ finding, exemption }) => ({
        finding: findingAsJson(finding),
        exemption: exemptionAsJson(exemption),
      })),
    })),
    stale: report.staleExemptions.map(({ why, exemption }) => ({ why, exemption: exemptionAsJson(exemption) })),
    off: report.rulesOff.map(cut),
    notes: notesOf(report).map(cut),
    summary: compatSummary(report),
  };
}

function findingAsJson(finding: PlacedFinding): JsonFinding {
  const { rule, level, sentence, subject, routes, old, oldAt, new: now, newAt, renamedTo } = finding;
  return {
    rule,
    level,
    basis: basisOf(rule),
    message: cut(sentence),
    subject: cut(subject),
    routes: routes.map(({ kind, method, path }) => ({ kind, method: cut(method), path: cut(path) })),
    old: sideAsJson(old, oldAt),
    new: sideAsJson(now, newAt),
    fingerprint: finding.fingerprint,
    hint: renamedTo === undefined ? null : cut(looksRenamedPhrase(renamedTo)),
    calls: finding.calls ?? null,
  };
}

function sideAsJson(site: Site | undefined, at: TextPosition | undefined): JsonSide | null {
  if (site === undefined) return null;
  const { place, value } = site;
  const side = {
    file: cut(place.file.name),
    pointer: cut(pointerOf(place)),
    line: at?.line ?? null,
    column: at?.column ?? null,
  };
  if (value === undefined) return side;
  const { text, isCut } = cutJson(value, longestText);
  return isCut ? { ...side, value: text, cut: true } : { ...side, value };
}

function exemptionAsJson({ rule, route, pointer, reason, until }: Exemption): JsonExemption {
  return {
    rule: cut(rule),
    route: cut(route),
    pointer: pointer === undefined ? null : cut(pointer),
    reason: cut(reason),
    until: isoText(until),
  };
}

function cut(text: string): string {
  return text.length > longestText ? shortened(text, longestText).toWellFormed() : text;
}

/** The JSON of a value, cut after `longest` characters. The value may be very long, or contain itself. */
export function cutJson(value: unknown, longest: number): { readonly text: string; readonly isCut: boolean } {
  let text = '';
  const isFull = (): boolean => text.length > longest;
  const writeString = (one: string): void => {
    text += JSON.stringify(one.length > longest ? one.slice(0, longest + 1) : one);
  };
  const writeAll = <T>(open: string, items: readonly T[], write: (item: T) => void, close: string): void => {
    text += open;
    for (const [index, item] of items.entries()) {
      if (isFull()) return;
      if (index > 0) text += ',';
      write(item);
    }
    text += close;
  };
  // Each level writes at least a bracket, so the limit of the length also limits the depth.
  const writeValue = (one: unknown): void => {
    if (isFull()) return;
    if (Array.isArray(one)) writeAll('[', one, writeValue, ']');
    else if (typeof one === 'object' && one !== null) {
      const map = one as Record<string, unknown>;
      const writeEntry = (key: string): void => {
        writeString(key);
        text += ':';
        writeValue(map[key]);
      };
      writeAll('{', Object.keys(map), writeEntry, '}');
    } else if (typeof one === 'string') writeString(one);
    else text += JSON.stringify(one) ?? 'null';
  };
  writeValue(value);
  return { text: text.slice(0, longest), isCut: isFull() };
}
