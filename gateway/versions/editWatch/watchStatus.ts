import { baseOf, leadingId, namedApiOf, rootBase } from '../../config/api.ts';
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
  /** The id, `v2`. */
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
  /** The base of the API whose section has the key; absent: the key is in no section of `apis`. */
  readonly api?: string;
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
    undo: undo.slice(0, maxUndoLines).map(({ api, key, line, before: old, after: current, undo: text }) => {
      const place = { ...(api !== undefined && { api }), key, line: line ?? null };
      return { ...place, before: old ?? null, after: current ?? null, text };
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

/** The changes of the version and of shared settings. If there are none, those of other versions, first of its own API. */
function changesOf(version: string, changes: readonly string[]): readonly string[] {
  const ofApi = changesInApi(baseOf(version), changes);
  const concerning = ofApi.filter((change) => !change.startsWith('/') || change.startsWith(`/${version}:`));
  return [concerning, ofApi].find((found) => found.length > 0) ?? changes;
}

/** The changes without those of other APIs. */
function changesInApi(base: string, changes: readonly string[]): string[] {
  return changes.filter((change) => {
    if (change.startsWith('/')) return baseOf(leadingId(change.slice(1).split(':', 1)[0] ?? '') ?? '') === base;
    return !change.startsWith('apis.') || change.startsWith(`apis.${base}.brownout:`);
  });
}

/** The watch without what the edits changed in other APIs, for the receivers of the API of its version. */
export function withoutOtherApis(watch: EditWatchStatus): EditWatchStatus {
  const api = namedApiOf(watch.version);
  // The receivers of the root get the events of all APIs.
  if (api === undefined) return watch;
  const edits = watch.edits.map((edit) => ({ ...edit, changes: changesInApi(api, edit.changes) }));
  const isOfOthers = watch.undo.some((one) => (one.api ?? (one.key.startsWith('routes') ? rootBase : api)) !== api);
  // `linesToUndo` has lines of other APIs only if it has found no others.
  return { ...watch, edits, ...(isOfOthers && { undo: [], undo_lines: 0 }) };
}

/** Keys of these sections change how the requests of every version are answered; in an API, those of its own versions. */
const sharedSections: ReadonlySet<string> = new Set(['gateway', 'defaults', 'apis']);

/**
 * The lines of the version and of shared settings. If there are none, those of other versions, whose backend it may share: first those of
 * its own API.
 */
function linesToUndo(watch: VersionWatch): EditedValue[] {
  const { version } = watch;
  const edited = watch.editedValues();
  const base = namedApiOf(version);
  const concerning = edited.filter(
    ({ version: owner, section, api }) =>
      owner === `/${version}` || (sharedSections.has(section) && (api === undefined || api === base)),
  );
  const routes = edited.filter(({ section }) => section === 'routes');
  const ofApi = routes.filter(({ api }) => api === base);
  return [concerning, ofApi].find((found) => found.length > 0) ?? routes;
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
