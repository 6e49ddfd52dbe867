import { closeSync, openSync, readSync, renameSync, writeSync } from 'node:fs';
import { ledgerFailure } from './failure.ts';
import { copyName } from './file.ts';
import {
  bytesPerSlot,
  type CallMark,
  currentBootId,
  type FileState,
  isSameFile,
  isWrittenAt,
  lastMarkOf,
  type MarkFile,
  makeMarkFile,
  makeMarkFileIfMissing,
  markFileOf,
  maxMarkingProcesses,
  offsetOf,
  placeBytes,
  placesPerProcess,
  readMarkFile,
  readPlace,
  readSpareMarkFile,
  removeQuietly,
  sharedSlot,
  slotOf,
  slotsPerTable,
  spareMarkFileOf,
  stateOf,
  tableBytes,
  writePlace,
} from './markFile.ts';

// Which versions were called lately. Counts reach the ledger some seconds after the calls, and later if the disk is full. If the gateway
// or a worker is killed in between, the marks tell the next start of which versions calls are missing. A mark is written in place,
// before the request is forwarded. So it needs no room on the disk, and it survives the process, because the kernel has it. It does not
// survive a loss of power.

/** All calls of one process up to a mark are counted in the ledger. */
export interface CountedMark {
  readonly process: number;
  /** The latest mark that is covered; epoch ms. */
  readonly until: number;
}

/** What the marks told when the gateway started. */
export interface MarksAtStart {
  /** Epoch ms. */
  readonly readAt: number;
  /** Of earlier runs. */
  readonly marks: readonly CallMark[];
  /** The files that had them, as they were found. */
  readonly found: readonly FileState[];
  /** The file for the marks of this run, as it was made. Undefined: this run cannot write marks. */
  readonly own: FileState | undefined;
  /** Identifies the run of the operating system; '' if it is not known. */
  readonly bootId: string;
}

/** Where processes write their marks. */
export interface MarkFiles {
  readonly file: string;
  /** Used if `file` cannot be written any more. */
  readonly spare: string;
}

/** The marks of a gateway, as the process sees them that owns the ledger. */
export class CallMarks {
  readonly files: MarkFiles;
  readonly atStart: MarksAtStart;

  private constructor(files: MarkFiles, atStart: MarksAtStart) {
    this.files = files;
    this.atStart = atStart;
  }

  /** Reads the marks of earlier runs, and makes a new file that continues them. `notice` receives why that is not possible. */
  static open(ledger: string, now: number, notice: (line: string) => void = () => {}): CallMarks {
    const [file, spare] = [markFileOf(ledger), spareMarkFileOf(ledger)];
    const beside = usableOrRenamed(file, now, notice);
    const read = { ...marksIn([beside, spareMarks(spare)]), readAt: now, bootId: currentBootId() };
    try {
      return new CallMarks({ file, spare }, { ...read, own: continued(file, beside, read.marks) });
    } catch (error) {
      const { reason } = ledgerFailure(error);
      // Marks that nobody writes would look as if no version had been called.
      removeQuietly(file);
      try {
        makeMarkFileIfMissing(spare);
        // Something else may be there: every user may write in this folder.
        if (readSpareMarkFile(spare) === undefined) throw error;
        notice(`${file} cannot be written: ${reason}.  Calls are marked in ${spare} until the next start.`);
        return new CallMarks({ file: spare, spare }, { ...read, own: stateOf(spare) });
      } catch {
        notice(`${file} cannot be written: ${reason}.  If the gateway is killed, coverage restarts for all versions.`);
        return new CallMarks({ file, spare }, { ...read, own: undefined });
      }
    }
  }

  /** The marks of one process; undefined if they are not known. */
  of(process: number): readonly CallMark[] | undefined {
    const { own: made } = this.atStart;
    if (made === undefined || process >= maxMarkingProcesses) return undefined;
    const { file, spare } = this.files;
    try {
      const own = readMarkFile(file);
      // The process writes to the file that was made at the start, also after another one has taken its place.
      if (own === undefined || !isSameFile(own, made)) return undefined;
      return marksIn([own, spareMarks(spare)]).marks.filter((mark) => mark.process === process);
    } catch {
      return undefined;
    }
  }

  /** Called when the ledger has recorded the marks of earlier runs. */
  onRecorded(): void {
    const { file, spare } = this.files;
    if (file !== spare && spareMarks(spare)) removeQuietly(spare);
  }
}

/** Reads the marks of a ledger that a gateway may be writing. Changes nothing. */
export function marksBeside(ledger: string, now: number): MarksAtStart {
  let beside: MarkFile | undefined;
  try {
    beside = readMarkFile(markFileOf(ledger));
  } catch {
    // Damaged marks are no marks.
  }
  const read = marksIn([beside, spareMarks(spareMarkFileOf(ledger))]);
  return { ...read, readAt: now, own: undefined, bootId: currentBootId() };
}

/** Writes the marks of one process that serves. */
export class CallMarker {
  readonly process: number;
  /** The last mark. After a count of everything up to now, all calls up to this mark are counted. */
  last = 0;
  readonly #files: MarkFiles;
  #descriptor: number | undefined;
  readonly #value = Buffer.alloc(placeBytes);
  /** The slots of the versions of other APIs than the one at the root. */
  readonly #places = new Map<string, number>();
  #nextPlace = slotsPerTable;

  /** If no file can be written, marks are only numbered. */
  constructor(files: MarkFiles, process: number) {
    this.#files = files;
    this.process = process;
    if (!this.#open(files.file)) this.#useSpare();
  }

  /** `version`: '' for a call that may be of any version. `now`: epoch ms. */
  mark(version: string, now: number): void {
    this.last = Math.max(Math.ceil(now), this.last + 1);
    if (this.#descriptor === undefined || this.#write(version)) return;
    this.#useSpare();
    if (!this.#write(version)) this.close();
  }

  /**
   * How the calls of a version that routes.yaml does not list are marked: as those of the version, or '' as calls of any version. At most
   * half of the places are for such versions, so that a scanner leaves places for the others.
   */
  nameOfUnlisted(version: string): string {
    return this.#slotOf(version, placesPerProcess / 2) === sharedSlot ? '' : version;
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #open(file: string): boolean {
    try {
      const descriptor = openSync(file, 'r+');
      this.#descriptor = descriptor;
      const table = Buffer.alloc(tableBytes);
      readSync(descriptor, table, 0, tableBytes, offsetOf(this.process, 0));
      for (let at = 0; at < tableBytes; at += bytesPerSlot) {
        const mark = table.readDoubleLE(at);
        // The file may have been damaged since the start.
        if (Number.isSafeInteger(mark)) this.last = Math.max(this.last, mark);
      }
      this.#readPlaces(descriptor);
      return true;
    } catch {
      this.close();
      return false;
    }
  }

  /** An earlier process with the same number may have marked calls there. */
  #readPlaces(descriptor: number): void {
    const places = Buffer.alloc(placesPerProcess * placeBytes);
    const length = readSync(descriptor, places, 0, places.length, offsetOf(this.process, slotsPerTable));
    this.#places.clear();
    this.#nextPlace = slotsPerTable;
    for (let at = 0; at < length; at += placeBytes) {
      const mark = readPlace(places, at);
      if (mark === undefined) continue;
      const slot = slotsPerTable + at / placeBytes;
      this.#places.set(mark.version, slot);
      this.#nextPlace = slot + 1;
      this.last = Math.max(this.last, mark.at);
    }
  }

  #slotOf(version: string, maxPlaces: number): number {
    const slot = slotOf(version) ?? this.#places.get(version);
    if (slot !== undefined) return slot;
    if (this.#nextPlace >= slotsPerTable + maxPlaces) return sharedSlot;
    this.#places.set(version, this.#nextPlace);
    this.#nextPlace += 1;
    return this.#nextPlace - 1;
  }

  #write(version: string): boolean {
    const slot = this.#slotOf(version, placesPerProcess);
    // The tables have all the room that they need. A place may be the first one on a full disk.
    return this.#writeTo(slot, version) || (slot >= slotsPerTable && this.#writeTo(sharedSlot, ''));
  }

  #writeTo(slot: number, version: string): boolean {
    if (this.#descriptor === undefined) return false;
    try {
      const isPlace = slot >= slotsPerTable;
      if (isPlace) writePlace(this.#value, version, this.last);
      else this.#value.writeDoubleLE(this.last);
      const length = isPlace ? placeBytes : bytesPerSlot;
      return writeSync(this.#descriptor, this.#value, 0, length, offsetOf(this.process, slot)) === length;
    } catch {
      return false;
    }
  }

  /**
   * The disk may have become read-only, or a file system that copies on write may have no room. Without the file, the next start knows
   * that marks are missing. If the file cannot be removed, the spare file tells what was called.
   */
  #useSpare(): void {
    const { file, spare } = this.#files;
    this.close();
    removeQuietly(file);
    if (file === spare) return;
    try {
      makeMarkFileIfMissing(spare);
      this.#open(spare);
    } catch {
      // Nothing can be written anywhere.
    }
  }
}

function marksIn(files: readonly (MarkFile | undefined)[]): Pick<MarksAtStart, 'marks' | 'found'> {
  const found = files.filter((one) => one !== undefined);
  return {
    marks: found.flatMap(({ marks }) => marks),
    found: found.map(({ id, changedAt }) => ({ id, changedAt })),
  };
}

function spareMarks(file: string): MarkFile | undefined {
  try {
    return readSpareMarkFile(file);
  } catch {
    return undefined;
  }
}

/** The file as it is. A file that cannot be used is renamed. */
function usableOrRenamed(file: string, now: number, notice: (line: string) => void): MarkFile | undefined {
  try {
    return readMarkFile(file);
  } catch (error) {
    const problem = `${file} cannot be used: ${ledgerFailure(error).reason}.  Coverage may restart for all versions.`;
    const copy = copyName(file, 'corrupt', now);
    try {
      renameSync(file, copy);
      notice(`${problem}  It was renamed to ${copy}.`);
    } catch {
      notice(problem);
    }
    return undefined;
  }
}

/**
 * Makes a new file for each run, with the marks of the earlier ones. So a file from a backup is never the file of the last run, even
 * if it was copied into its place. @throws system errors
 */
function continued(file: string, earlier: MarkFile | undefined, marks: readonly CallMark[]): FileState {
  try {
    return makeMarkFile(file, marks);
  } catch (error) {
    // Marks of this run would hide that another program has changed the file, while the ledger cannot record it.
    if (earlier === undefined || !isWrittenAt(earlier, lastMarkOf(earlier.marks))) throw error;
    // The disk is full. The present file has all the room that it needs.
    closeSync(openSync(file, 'r+'));
    return stateOf(file);
  }
}
