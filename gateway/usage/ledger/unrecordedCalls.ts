import type { DatabaseSync } from 'node:sqlite';
import { everyVersionIn } from '../../config/api.ts';
import { jumpToleranceMs } from '../../shared/clock.ts';
import { type Loss, longestSilenceMs } from '../evidence/coverage.ts';
import type { MarksAtStart } from './callMarks.ts';
import { type CallMark, type FileState, isSameFile, isWrittenAt, lastMarkOf } from './markFile.ts';

// The calls that may be missing in a ledger because a process ended before it had counted them.

// Counts reach the file some seconds after the calls.
const maxCountingDelayMs = 60_000;
const endedUncounted = 'the gateway ended before it had counted them';
const replacedMarks = 'the file with the marks of calls was removed, damaged or replaced while the gateway was stopped';
const missingRun = 'a later run has marked calls, and the ledger lacks it: its journal was removed, or it is a copy';

/** What the ledger has of a run: where it wrote its marks. */
export interface RecordedMarks {
  readonly bootId: string;
  readonly file: FileState;
}

/** The last run in a ledger. */
interface LastRun {
  readonly began: number;
  readonly seen: number;
  /** It has ended, and everything that it counted is in the ledger. */
  readonly closed: boolean;
  /** Undefined: it wrote no marks. */
  readonly marks: RecordedMarks | undefined;
}

/** The end of one or more processes. Instants in epoch ms. */
interface ProcessEnd {
  /** When the processes may have begun. */
  readonly began: number;
  readonly now: number;
  readonly cause: string;
}

/**
 * The calls that may be missing in the ledger, one loss for each version. `marks`: of the processes that have ended. `countedUntil`:
 * the latest mark up to which the calls of a process are counted; 0: none is.
 */
export function lossesOf(
  marks: readonly CallMark[],
  countedUntil: (process: number) => number,
  { began, now, cause }: ProcessEnd,
): Loss[] {
  const uncounted = marks.filter(({ process, at }) => at > countedUntil(process));
  return [...Map.groupBy(uncounted, ({ version }) => version)].map(([version, ofVersion]) => {
    // A process keeps only its last mark, so earlier calls of the version may be missing, too.
    const from = Math.min(...ofVersion.map(({ process, at }) => countedUntil(process) || Math.min(began, at)));
    const what = version === '' ? 'Calls' : `Calls of /${version}`;
    // Not until the last mark: a call may have come after its mark, and the clock may have been wrong when it was marked.
    return { version, from: Math.min(from, now), until: now, reason: `${what} may be missing: ${cause}.` };
  });
}

/**
 * The calls that the runs in a ledger may not have counted. `found`: the marks that are there; undefined: not known.
 * Empty for a new ledger. @throws the errors of SQLite
 */
export function unrecordedCalls(database: DatabaseSync, found: MarksAtStart | undefined, now: number): Loss[] {
  const besideOthers = lossesBesideOthers(database, now);
  const last = lastRunIn(database);
  if (last === undefined) return besideOthers;
  const rows = database.prepare('SELECT process, until FROM counted').all();
  const countedUntil = new Map(rows.map(({ process, until }) => [Number(process), Number(until)]));
  // A copy of a file has fewer calls than were marked after it was made.
  const end = { began: last.began, now, cause: endedUncounted };
  const ofVersions = lossesOf(found?.marks ?? [], (process) => countedUntil.get(process) ?? 0, end);
  const ofAll = lossOfAll(last, found, now);
  return [...besideOthers, ...ofVersions, ...(ofAll ? [ofAll] : [])];
}

/** The calls that open runs beside which another gateway wrote the ledger may not have counted: one loss for each of these runs. */
function lossesBesideOthers(database: DatabaseSync, now: number): Loss[] {
  const reason = `Calls may be missing: ${endedUncounted}, beside another gateway.`;
  const runs = database.prepare(`SELECT began, seen FROM runs AS run WHERE closed = 0 AND ${isBesideOthers}`).all();
  return runs.map((run) => {
    const [began, seen] = [Number(run['began']), Number(run['seen'])];
    const from = Math.min(now, Math.max(began, seen - maxCountingDelayMs));
    return { version: '', from, until: Math.max(from, Math.min(now, seen + longestSilenceMs)), reason };
  });
}

/**
 * Why calls of any version may be missing. The marks tell which versions were called only if they are in the file that the run wrote:
 * a copy, such as one from a backup, lacks the later marks.
 */
function lossOfAll(
  { began, seen, closed, marks }: LastRun,
  found: MarksAtStart | undefined,
  now: number,
): Loss | undefined {
  const isSameBoot = found !== undefined && found.bootId !== '' && found.bootId === marks?.bootId;
  const file = marks && found?.found.find((one) => isSameFile(one, marks.file));
  const loss = (from: number, cause: string): Loss => {
    return { version: '', from: Math.min(from, now), until: now, reason: `Calls may be missing: ${cause}.` };
  };
  // A folder from a backup says, too, that its run ended cleanly. What was called after the backup is not known.
  if (closed && marks) return found && file === undefined ? loss(seen, replacedMarks) : undefined;
  if (closed) return found && found.found.length > 0 ? loss(seen, missingRun) : undefined;
  // Otherwise the file was changed after the last mark; or marks are ahead of a clock that was set back, and tell nothing about it.
  const isUntouched =
    file !== undefined &&
    [lastMarkOf(found?.marks ?? []), marks?.file.changedAt ?? 0].some((at) => isWrittenAt(file, at));
  return isSameBoot && isUntouched ? undefined : loss(Math.max(began, seen - maxCountingDelayMs), endedUncounted);
}

/**
 * The calls since the last write of clients that the gateway of the ledger ignores, so that their calls are not marked, although they
 * count in the question. `ignored`: those that do not count in it, as of `ignoredClientsOf`. Empty for a new ledger.
 * @throws the errors of SQLite
 */
export function unmarkedCalls(database: DatabaseSync, ignored: readonly string[], now: number): Loss[] {
  const { value } = database.prepare(`SELECT value FROM meta WHERE key = 'unmarked'`).get() ?? {};
  const unmarked = JSON.parse(String(value ?? '[]')) as readonly string[];
  const last = lastRunIn(database);
  if (last === undefined || unmarked.every((client) => ignored.includes(client))) return [];
  const reason = 'Calls may be missing: the ledger was last written with other retire.ignore_clients.';
  return [{ version: '', from: Math.min(last.seen, now), until: now, reason }];
}

/**
 * The calls of clients that were ignored, and so not marked, but count from now on. `lostAt`: when such calls may last have been lost,
 * epoch ms; 0: never.
 */
export function lossOfIgnored(before: readonly string[], after: readonly string[], lostAt: number): Loss[] {
  if (lostAt === 0 || before.every((client) => after.includes(client))) return [];
  const cause = 'a process ended before it had counted them, and retire.ignore_clients has changed since';
  return [{ version: '', from: 0, until: lostAt, reason: `Calls may be missing: ${cause}.` }];
}

/** The calls to APIs that the gateway begins to serve: it has not counted what it got there before, nor what another server got. */
export function lossesOfNewApis(before: readonly string[], bases: readonly string[], now: number): Loss[] {
  return bases
    .filter((base) => !before.includes(base))
    .map((base) => {
      const reason = `Calls below ${base} may be missing: the gateway had no API there.`;
      return { version: everyVersionIn(base), from: 0, until: now, reason };
    });
}

// The gateways share the numbers of their processes and the place of their marks, so the marks of such a run tell nothing.
const isBesideOthers = `EXISTS (SELECT 1 FROM runs AS other
  WHERE other.id > run.id OR (other.id < run.id AND other.seen > run.began + ${jumpToleranceMs}))`;

/** The open run, unless another gateway wrote beside it; otherwise the last closed run. Undefined: the ledger has neither. */
function lastRunIn(database: DatabaseSync): LastRun | undefined {
  const row = database
    .prepare(
      `SELECT closed, MAX(began) AS began, MAX(seen) AS seen FROM runs AS run
        WHERE closed = 1 OR NOT ${isBesideOthers} GROUP BY closed ORDER BY closed LIMIT 1`,
    )
    .get();
  if (row === undefined) return undefined;
  const meta = (key: string) => database.prepare('SELECT value FROM meta WHERE key = ?').get(key)?.['value'];
  const marks = recordedMarksIn(String(meta('marks') ?? ''));
  return { began: Number(row['began']), seen: Number(row['seen']), closed: row['closed'] === 1, marks };
}

/** How the ledger keeps where a run wrote its marks. `marks`: undefined if it could not write any. */
export function recordedMarks(marks: RecordedMarks | undefined): string {
  return marks ? `${marks.bootId} ${marks.file.id} ${marks.file.changedAt}` : '';
}

function recordedMarksIn(value: string): RecordedMarks | undefined {
  const [bootId = '', id = '', changedAt] = value.split(' ');
  return id === '' ? undefined : { bootId, file: { id, changedAt: Number(changedAt) } };
}
