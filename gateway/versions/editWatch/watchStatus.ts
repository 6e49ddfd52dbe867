import type { EditedValue } from '../../config/writtenValues.ts';
import { type Instant, isoText, isoTextOrNull, rfc3339 } from '../../shared/instant.ts';
import { inLargestUnit, plural, withCommas } from '../../shared/text.ts';
import type { Answer } from '../../usage/evidence/remark.ts';
import { type MetricValues, metricOf } from '../../usage/observability/exposition.ts';
import type { AnswerCounts } from '../../usage/observability/report.ts';
import { lostIn } from './answerHistory.ts';

/** An applied edit. */
export interface WatchedEdit {
  /** Epoch ms. */
  readonly at: number;
  /** The changes of all versions and settings, as the reload lists them. */
  readonly changes: readonly string[];
}

/** What is known about the lost requests of one version since an edit. */
export interface VersionWatch {
  /** The path segment, `v2`. */
  readonly version: string;
  /** Whether its share of lost requests has jumped. */
  jumped: Answer;
  /** `recovered`: after a jump, the share is again as before the edit. */
  state: 'watching' | 'ended' | 'recovered';
  /** The oldest first. Several: their effects cannot be told apart. */
  readonly edits: readonly WatchedEdit[];
  /** When the watch ends, epoch ms. */
  readonly until: number;
  readonly before: AnswerCounts;
  readonly beforeMs: number;
  after: AnswerCounts;
  afterMs: number;
  /** What differs in routes.yaml before the first and after the last edit. Comparing large files takes time, so it is done on demand. */
  readonly editedValues: () => readonly EditedValue[];
  /** Epoch ms. */
  foundAt: number | undefined;
  recoveredAt: number | undefined;
  /** A process does not answer, so its requests since the edit are not counted. */
  hasSilentWorker: boolean;
}

/** Whether the share of the version has jumped, and is not known to be as before again. */
export function isStanding({ jumped, state }: Pick<VersionWatch, 'jumped' | 'state'>): boolean {
  return jumped === 'yes' && state !== 'recovered';
}

/** A watch in `GET /api/status`. Texts are safe to print, with secrets masked. */
export interface EditWatchStatus {
  readonly version: string;
  readonly jumped: Answer;
  /** False while `jumped` is `not known`. */
  readonly known: boolean;
  readonly state: VersionWatch['state'];
  /** What was found, in one or two sentences. */
  readonly text: string;
  /** With those changes that concern the version. */
  readonly edits: readonly { readonly at: Instant; readonly changes: readonly string[] }[];
  readonly until: Instant;
  readonly found_at: Instant | null;
  readonly recovered_at: Instant | null;
  readonly before: CountsJson;
  readonly after: CountsJson;
  /** The lines of routes.yaml that undo the edit, as far as they concern the version. Empty if no request was lost since. */
  readonly undo: readonly UndoJson[];
  /** The number of all such lines. `undo` has the first ten. */
  readonly undo_lines: number;
}

interface CountsJson {
  readonly seconds: number;
  readonly requests: number;
  readonly lost: number;
  /** Status → lost requests. */
  readonly statuses: Readonly<Record<string, number>>;
}

interface UndoJson {
  readonly key: string;
  /** In the edited file; null: the edit removed the key. */
  readonly line: number | null;
  /** null: there was, or is, no single value. */
  readonly before: string | null;
  readonly after: string | null;
  readonly text: string;
}

const maxUndoLines = 10;

export function watchStatus(watch: VersionWatch): EditWatchStatus {
  const { version, jumped, state, edits, until, foundAt, recoveredAt, before, beforeMs, after, afterMs } = watch;
  const undo = lostIn(after) > 0 ? linesToUndo(watch) : [];
  return {
    version,
    jumped,
    known: jumped !== 'not known',
    state,
    text: textOf(watch),
    edits: edits.map(({ at, changes }) => ({ at: isoText(at), changes: changesOf(version, changes) })),
    until: isoText(until),
    found_at: isoTextOrNull(foundAt),
    recovered_at: isoTextOrNull(recoveredAt),
    before: countsJson(before, beforeMs),
    after: countsJson(after, afterMs),
    undo: undo.slice(0, maxUndoLines).map(({ key, line, before: old, after: current, undo: text }) => {
      return { key, line: line ?? null, before: old ?? null, after: current ?? null, text };
    }),
    undo_lines: undo.length,
  };
}

function countsJson(counts: AnswerCounts, ms: number): CountsJson {
  return { seconds: Math.round(ms / 1000), requests: counts.requests, lost: lostIn(counts), statuses: counts.lost };
}

/** The lines for the log when a jump is found. */
export function jumpLines(watch: VersionWatch): string[] {
  return [textOf(watch), ...undoLines(watchStatus(watch))];
}

/** What the edits changed, and how to undo it, one item per line. */
export function undoLines({ edits, undo, undo_lines: count }: EditWatchStatus): string[] {
  const more = count - undo.length;
  return [
    ...edits.flatMap(({ changes }) => changes).map((change) => `  the edit changed ${change}`),
    ...undo.map(({ text }) => `  to undo it: ${text}`),
    ...(more > 0 ? [`  and ${plural(more, 'more line')}`] : []),
  ];
}

/** For the log, when a version that has jumped is as before. */
export function recoveryLine({ version, edits }: VersionWatch): string {
  return `/${version} is answered again as before the ${editsInWords(edits)}`;
}

/** For the log, when the watch of an edit has ended. Undefined: there was no version to watch. */
export function watchEndLine(edit: WatchedEdit, watches: readonly VersionWatch[]): string | undefined {
  const found = watches
    .filter(({ edits }) => edits.at(-1) === edit)
    .map((watch) => {
      const why = watch.jumped === 'not known' ? ` (${whyNotKnown(watch)})` : '';
      const since = watch.edits.length > 1 ? ` since the ${editsInWords(watch.edits)}` : '';
      return `/${watch.version}: ${watch.jumped}${since}${why}`;
    });
  if (found.length === 0) return undefined;
  return `60 s after the ${editsInWords([edit])}: are more requests lost than before?  ${found.join('; ')}`;
}

function textOf(watch: VersionWatch): string {
  const { version, jumped, edits, state } = watch;
  const since = `since the ${editsInWords(edits)}`;
  if (jumped === 'no') return `/${version} does not lose more requests ${since}: ${comparison(watch)}`;
  if (jumped === 'not known') {
    const when = state === 'watching' ? 'not known yet' : 'not known';
    return `Whether /${version} loses more requests ${since} is ${when}: ${whyNotKnown(watch)}`;
  }
  const now = state === 'recovered' ? 'lost' : 'loses';
  return `/${version} ${now} requests ${since}: ${comparison(watch)}`;
}

/** How many were lost: `12 of 12 in 20 s (404: 12), against 0 of 25 in the 5 min before`. */
function comparison({ before, beforeMs, after, afterMs }: VersionWatch): string {
  const statuses = Object.entries(after.lost).map(([status, count]) => `${status}: ${withCommas(count)}`);
  const list = statuses.length > 0 ? ` (${statuses.join(', ')})` : '';
  return `${share(after)} in ${inLargestUnit(afterMs)}${list}, against ${share(before)} in the ${inLargestUnit(beforeMs)} before`;
}

function share(counts: AnswerCounts): string {
  return `${withCommas(lostIn(counts))} of ${withCommas(counts.requests)}`;
}

function whyNotKnown(watch: VersionWatch): string {
  const { before, beforeMs, after, hasSilentWorker } = watch;
  if (before.requests === 0 && after.requests === 0) return 'no requests before and since';
  if (after.requests === 0) return 'no requests since';
  if (before.requests === 0)
    return `no requests in the ${inLargestUnit(beforeMs)} before; since, ${share(after)} were lost`;
  if (hasSilentWorker) return `a worker does not answer, so its requests are not counted: ${comparison(watch)}`;
  const wereMostLost = lostIn(before) * 2 > before.requests;
  return `${wereMostLost ? 'most requests were lost before, too' : 'too few requests'}: ${comparison(watch)}`;
}

function editsInWords(edits: readonly WatchedEdit[]): string {
  const [first = '', ...others] = edits.map(({ at }) => rfc3339(at));
  const last = others.at(-1);
  if (last === undefined) return `edit of ${first}`;
  return others.length === 1 ? `edits of ${first} and ${last}` : `edits from ${first} to ${last}`;
}

/** The changes of the version and of shared settings. If there are none, those of other versions. */
function changesOf(version: string, changes: readonly string[]): readonly string[] {
  const concerning = changes.filter((change) => !change.startsWith('/') || change.startsWith(`/${version}:`));
  return concerning.length > 0 ? concerning : changes;
}

/** Keys of these sections change how the requests of every version are answered. */
const sharedSections: ReadonlySet<string> = new Set(['gateway', 'defaults']);

/** The lines of the version and of shared settings. If there are none, those of other versions, whose backend it may share. */
function linesToUndo(watch: VersionWatch): EditedValue[] {
  const { version } = watch;
  const edited = watch.editedValues();
  const concerning = edited.filter((one) => one.version === `/${version}` || sharedSections.has(one.section));
  return concerning.length > 0 ? concerning : edited.filter(({ section }) => section === 'routes');
}

/** What is not known has no sample: 0 would say that no requests are lost. */
export function editWatchGauge(
  watches: readonly Pick<EditWatchStatus, 'version' | 'jumped' | 'known' | 'state'>[],
): MetricValues {
  const samples = [...Map.groupBy(watches, ({ version }) => version)].flatMap(([version, ofVersion]) => {
    const isKnown = ofVersion.every(({ known }) => known);
    const value = ofVersion.some(isStanding) ? 1 : isKnown ? 0 : undefined;
    return value === undefined ? [] : [{ labels: { version }, value }];
  });
  return metricOf('version_gateway_lost_requests_jumped', samples);
}
