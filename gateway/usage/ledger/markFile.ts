import { createHash } from 'node:crypto';
import { linkSync, lstatSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { baseOf, isId, majorOf, rootBase } from '../../config/api.ts';
import { realPathOf } from '../../config/location.ts';
import { makeFolder, readRegularFile } from '../../shared/fileSystem.ts';

// The file that keeps the marks of calls (`callMarks.ts`). It has a header, and a table for each process that serves. A table has one
// number per major of the API at the root: the time of its last mark. Versions of other APIs have places behind the tables: each has the
// id beside the time, so that it is known after a crash which version was called, whatever a reload has changed. Without such a version
// the file ends with the tables, as in earlier releases, which take a longer file for a damaged one.

const magic = 'version-gateway calls 1\n';
export const tableBytes = 1024;
export const bytesPerSlot = 8;
export const slotsPerTable = tableBytes / bytesPerSlot;
/** The number of processes that can have a table: a few more than `gateway.workers` allows, because a replaced worker runs on for a while. */
export const maxMarkingProcesses = 1_100;
const fileBytes = tableBytes * (1 + maxMarkingProcesses);
/** In the first slot, versions without a slot of their own are marked. */
export const sharedSlot = 0;
/** The number of the versions of other APIs that one process can mark: as many as a large host lists, and as many again. */
export const placesPerProcess = 512;
export const placeBytes = 128;
const longestId = placeBytes - bytesPerSlot;
const largestFileBytes = fileBytes + placeBytes * placesPerProcess * maxMarkingProcesses;
// The content of an unused slot. Not 0, so that a file with lost blocks, which are read as zeros, is known to be damaged.
const unused = -1;
// From the time of a mark until the kernel has written it.
const writingMs = 1_000;
const unusedPlace = Buffer.alloc(placeBytes);
const damaged = 'its content is damaged';
const unusedTable = Buffer.from(new Float64Array(slotsPerTable).fill(unused).buffer);

/** The last call of one version that one process began to answer. */
export interface CallMark {
  /** The number of the table. */
  readonly process: number;
  /** The id, `v1`; '' for all versions. */
  readonly version: string;
  /** Epoch ms. Larger than every earlier mark in the same table, even if the clock was set back in between. */
  readonly at: number;
}

/** What tells a file apart from a copy of it. */
export interface FileState {
  /** The inode and, if the file system knows it, the time of its creation. */
  readonly id: string;
  /** When the content or the inode was last changed, epoch ms. No program can set this time. */
  readonly changedAt: number;
}

export interface MarkFile extends FileState {
  readonly marks: readonly CallMark[];
}

/** The marks of a ledger are beside it. A ledger behind a symbolic link has the same ones as without the link. */
export function markFileOf(ledger: string): string {
  return `${realPathOf(ledger)}.calls`;
}

/** Where the marks of a ledger are written if its disk does not allow it. */
export function spareMarkFileOf(ledger: string): string {
  const name = createHash('sha256')
    .update(resolve(realPathOf(ledger)))
    .digest('hex')
    .slice(0, 16);
  return join(tmpdir(), `version-gateway-${name}.calls`);
}

/** Where every process marks the calls of a version. Undefined: in one of its places, if the version can have one. */
export function slotOf(version: string): number | undefined {
  if (version === '' || version.length > longestId) return sharedSlot;
  if (baseOf(version) !== rootBase) return undefined;
  const major = majorOf(version);
  return major < slotsPerTable ? major : sharedSlot;
}

/** Of a slot. The slots from `slotsPerTable` on are the places. */
export function offsetOf(process: number, slot: number): number {
  if (slot < slotsPerTable) return tableBytes * (1 + process) + slot * bytesPerSlot;
  return fileBytes + (process * placesPerProcess + slot - slotsPerTable) * placeBytes;
}

/** Writes a place to the start of `buffer`, which has room for one. */
export function writePlace(buffer: Buffer, version: string, at: number): void {
  buffer.fill(0);
  buffer.writeDoubleLE(at);
  buffer.write(version, bytesPerSlot, 'latin1');
}

/** Undefined: the place is unused. @throws Error if it is damaged */
export function readPlace(content: Buffer, offset: number): Omit<CallMark, 'process'> | undefined {
  const end = offset + placeBytes;
  // Places are not made in advance, so an unused one before a used one is a hole of the file.
  if (content.compare(unusedPlace, 0, placeBytes, offset, end) === 0) return undefined;
  const at = content.readDoubleLE(offset);
  const version = content.toString('latin1', offset + bytesPerSlot, end).replace(/\0+$/, '');
  if (!isTime(at) || !isId(version)) throw new Error(damaged);
  return { version, at };
}

/** Undefined: there is no such file. @throws Error with the reason why the file cannot be used */
export function readMarkFile(file: string): MarkFile | undefined {
  if (!lstatSync(file, { throwIfNoEntry: false })) return undefined;
  const marks = marksIn(readRegularFile(file, largestFileBytes));
  return { ...stateOf(file), marks };
}

/** Like `readMarkFile`, in a folder where every user may write: a file of another user is not read. */
export function readSpareMarkFile(file: string): MarkFile | undefined {
  const owner = lstatSync(file, { throwIfNoEntry: false })?.uid;
  // Windows knows no user ids: all of them are 0.
  return owner === (process.getuid?.() ?? 0) ? readMarkFile(file) : undefined;
}

/**
 * Makes a file with these marks. Its tables have their full size, so that further marks need no room. Marks of other APIs become marks
 * of all versions: the ledger has usually recorded them, and no place is kept for versions of the past. @throws system errors
 */
export function makeMarkFile(file: string, marks: readonly CallMark[] = []): FileState {
  return viaTemporary(file, contentOf(marks), (temporary) => renameSync(temporary, file));
}

/** Makes the file unless another process has made it. @throws system errors */
export function makeMarkFileIfMissing(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })) return;
  viaTemporary(file, contentOf([]), (temporary) => linkSync(temporary, file));
}

/** @throws system errors */
export function stateOf(file: string): FileState {
  const { ino, birthtimeNs, ctimeMs } = statSync(file, { bigint: true });
  // A file system that does not know when a file was created has 0, or the time of the last change.
  const folder = statSync(dirname(file), { bigint: true });
  const hasBirth = folder.birthtimeNs > 0n && folder.birthtimeNs !== folder.ctimeNs;
  return { id: hasBirth ? `${ino}.${birthtimeNs}` : String(ino), changedAt: Number(ctimeMs) };
}

/** When the last call was marked, epoch ms; 0: none was. */
export function lastMarkOf(marks: readonly CallMark[]): number {
  return marks.reduce((last, { at }) => Math.max(last, at), 0);
}

/** Whether the file was last changed by what was written at `at`, epoch ms, such as its last mark. */
export function isWrittenAt({ changedAt }: FileState, at: number): boolean {
  return Math.abs(changedAt - at) <= writingMs;
}

/** Whether both are the same file, and not a copy of it. */
export function isSameFile(one: FileState, other: FileState): boolean {
  const [inode, birth] = one.id.split('.');
  const [otherInode, otherBirth] = other.id.split('.');
  return inode === otherInode && (birth === undefined || otherBirth === undefined || birth === otherBirth);
}

/** The kernel makes a new id when the machine starts. '' where it has none. */
export function currentBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return '';
  }
}

export function removeQuietly(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // Nothing can be written there, or it is a folder.
  }
}

function viaTemporary(file: string, content: Buffer, publish: (temporary: string) => void): FileState {
  makeFolder(dirname(file));
  const temporary = `${file}.${process.pid}.new`;
  try {
    // A process with the same id may have been killed here.
    removeQuietly(temporary);
    writeFileSync(temporary, content, { mode: 0o600, flag: 'wx' });
    publish(temporary);
    return stateOf(file);
  } finally {
    removeQuietly(temporary);
  }
}

function contentOf(marks: readonly CallMark[]): Buffer {
  // Little-endian, as on every platform of Node.
  const slots = new Float64Array(fileBytes / bytesPerSlot).fill(unused, slotsPerTable);
  for (const { process, version, at } of marks) {
    const slot = offsetOf(process, slotOf(version) ?? sharedSlot) / bytesPerSlot;
    slots[slot] = Math.max(at, slots[slot] ?? unused);
  }
  const content = Buffer.from(slots.buffer);
  content.write(magic, 'latin1');
  return content;
}

/** @throws Error if the content has another form */
function marksIn(content: Buffer): CallMark[] {
  const bytesOfPlaces = content.length - fileBytes;
  const isWhole = bytesOfPlaces >= 0 && bytesOfPlaces % placeBytes === 0;
  if (!isWhole || content.toString('latin1', 0, magic.length) !== magic) throw new Error(damaged);
  const marks: CallMark[] = [];
  for (let process = 0; process < maxMarkingProcesses; process += 1) {
    // Nearly all tables are unused. A gateway reads the file whenever a worker ends.
    const [begin, end] = [offsetOf(process, 0), offsetOf(process + 1, 0)];
    if (content.compare(unusedTable, 0, tableBytes, begin, end) === 0) continue;
    for (let slot = 0; slot < slotsPerTable; slot += 1) {
      const at = content.readDoubleLE(offsetOf(process, slot));
      if (at === unused) continue;
      if (!isTime(at)) throw new Error(damaged);
      marks.push({ process, version: slot === sharedSlot ? '' : `v${slot}`, at });
    }
  }
  for (let place = 0; place < bytesOfPlaces / placeBytes; place += 1) {
    const mark = readPlace(content, fileBytes + place * placeBytes);
    if (mark) marks.push({ process: Math.floor(place / placesPerProcess), ...mark });
  }
  return marks;
}

function isTime(at: number): boolean {
  return Number.isSafeInteger(at) && at > 0;
}
