import { pointerOf } from '../document/located.ts';
import type { TextPosition } from '../document/textPositions.ts';
import type { Site } from '../finding.ts';
import { frameOf } from './frame.ts';
import type { PlacedExempted, PlacedFinding } from './report.ts';
import { isThere } from './sides.ts';
import type { Paint, TextOptions } from './text.ts';
import { callsInWords, dayOf, headingOf, moreRoutes, placeInWords, saidOf, shown } from './words.ts';

const styles = { error: 'red', warn: 'yellow', info: 'green' } as const;
const names = { error: 'error', warn: 'warning', info: 'info' } as const;
const namedRoutes = 3;

export function levelAsText(level: PlacedFinding['level'], paint: Paint): string {
  return paint(styles[level], names[level]);
}

/** `isJudged`: the finding counts against the change; false between majors, where it is listed only. */
export function findingAsText(finding: PlacedFinding, isJudged: boolean, { paint, showAll }: TextOptions): string[] {
  const { level, rule, routes, old, oldAt, new: now, newAt, hint } = finding;
  const label =
    isJudged || level === 'info'
      ? levelAsText(level, paint)
      : paint('yellow', level === 'error' ? 'breaks' : 'may break');
  const head = `  ${label}  ${shown(saidOf(finding), 500)}  ${paint('dim', rule)}`;
  const notes = [
    hint === undefined ? '' : `It ${shown(hint)}.`,
    callsInWords(finding),
    moreRoutes(routes, showAll ? Number.POSITIVE_INFINITY : namedRoutes),
  ].filter((note) => note !== '');
  const places = [placeAsText('old', old, oldAt, showAll), placeAsText('new', now, newAt, showAll)].flat();
  return [
    head,
    ...notes.map((note) => `    ${note}`),
    ...[...places, ...frameAsText(finding)].map((line) => paint('dim', `    ${line}`)),
  ];
}

export function exemptedAsText({ finding, exemption }: PlacedExempted, paint: Paint): string {
  const { reason, until } = exemption;
  const words = `${shown(headingOf(finding), 200)}: ${shown(saidOf(finding))}  ${finding.rule}`;
  return paint('dim', `  ${words}\n    until ${dayOf(until)}: ${shown(reason)}`);
}

function placeAsText(
  name: string,
  site: Site | undefined,
  at: TextPosition | undefined,
  withPointer: boolean,
): string[] {
  if (!isThere(site)) return [];
  const pointer = withPointer ? `  ${shown(pointerOf(site.place), 500)}` : '';
  return [`${name}  ${placeInWords(site.place.file.name, at)}${pointer}`];
}

/** Of what is there now, or of what is gone. */
function frameAsText({ old, oldAt, new: now, newAt }: PlacedFinding): string[] {
  if (isThere(now) && newAt) return frameOf(now, newAt);
  return isThere(old) && oldAt ? frameOf(old, oldAt) : [];
}
