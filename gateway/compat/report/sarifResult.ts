import { routeInWords } from '../diff/routes.ts';
import { pointerOf } from '../document/located.ts';
import type { TextPosition } from '../document/textPositions.ts';
import type { Exemption } from '../exemptions.ts';
import type { Site } from '../finding.ts';
import { rules } from '../rules/rules.ts';
import type { Comparing, PlacedFinding } from './report.ts';
import { type Base, isThere, uriOf } from './sides.ts';
import { dayOf, shown } from './words.ts';

export interface SarifText {
  readonly text: string;
}

interface SarifLocation {
  readonly physicalLocation: {
    readonly artifactLocation: { readonly uri: string };
    readonly region?: { readonly startLine: number; readonly startColumn: number };
  };
  readonly logicalLocations?: readonly { readonly fullyQualifiedName: string }[];
  readonly message?: SarifText;
}

export interface SarifResult {
  readonly ruleId: string;
  readonly ruleIndex: number;
  readonly level: 'error' | 'warning' | 'note';
  readonly message: SarifText;
  readonly locations: readonly [SarifLocation];
  readonly relatedLocations?: readonly SarifLocation[];
  readonly partialFingerprints: { readonly 'finding/v1': string };
  readonly suppressions: readonly { kind: 'external'; status: 'accepted'; justification: string }[];
  readonly properties: { readonly routes: readonly string[]; readonly routeCount: number; readonly calls?: number };
}

export const sarifLevels = { error: 'error', warn: 'warning', info: 'note' } as const;
const listedRoutes = 100;

export function sarifResult(
  finding: PlacedFinding,
  comparing: Comparing,
  base: Base,
  exemption: Exemption | undefined,
): SarifResult {
  const { rule, level, sentence, routes, old, oldAt, hint, fingerprint, calls } = finding;
  const related = isThere(old) ? [{ ...locationOf(old, oldAt, base), message: { text: 'As it was' } }] : [];
  return {
    ...{ ruleId: rule, ruleIndex: rules.findIndex(({ id }) => id === rule), level: sarifLevels[level] },
    message: sarifText(hint === undefined ? sentence : `${sentence}. It ${hint}.`),
    locations: [mainLocation(finding, comparing, base)],
    ...(related.length > 0 ? { relatedLocations: related } : {}),
    partialFingerprints: { 'finding/v1': fingerprint },
    suppressions: exemption ? [suppression(exemption)] : [],
    properties: {
      routes: routes.slice(0, listedRoutes).map((route) => shown(routeInWords(route))),
      routeCount: routes.length,
      ...(calls === undefined ? {} : { calls }),
    },
  };
}

/** Some viewers take `[a](b)` for a link; without arguments, braces are text for all of them. */
export function sarifText(text: string): SarifText {
  return { text: shown(text, 1000).replaceAll('](', '] (') };
}

/** In the new contract, if it is there; the file alone, if its place there is not known. */
function mainLocation({ old, oldAt, new: now, newAt }: PlacedFinding, comparing: Comparing, base: Base): SarifLocation {
  if (now && (isThere(now) || newAt)) return locationOf(now, newAt, base);
  if (isThere(old)) return locationOf(old, oldAt, base);
  return { physicalLocation: { artifactLocation: { uri: uriOf(comparing.new, base) } } };
}

function locationOf({ place }: Site, at: TextPosition | undefined, base: Base): SarifLocation {
  const pointer = pointerOf(place);
  return {
    physicalLocation: {
      artifactLocation: { uri: uriOf(place.file.name, base) },
      ...(at ? { region: { startLine: at.line, startColumn: at.column } } : {}),
    },
    ...(pointer === '' ? {} : { logicalLocations: [{ fullyQualifiedName: shown(pointer, 1000) }] }),
  };
}

function suppression({ reason, until }: Exemption): SarifResult['suppressions'][number] {
  return { kind: 'external', status: 'accepted', justification: `${shown(reason, 1000)} (until ${dayOf(until)})` };
}
