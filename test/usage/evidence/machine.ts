import type * as markFiles from '../../../gateway/usage/ledger/markFile.ts';

// Imports no module of the gateway, so that `vi.mock` can use it in place of one.

/** The machine of a simulated gateway: what the kernel tells programs. There is one at a time. */
class Machine {
  /** The true time, epoch ms. */
  now = 0;
  /** How far the clock is off, ms. */
  skew = 0;
  isDiskFull = false;
  /** When the file with the marks was last changed, by the clock of the machine. */
  marksChangedAt = 0;
  #boots = 0;
  #bootedAt = 0;

  readonly clock = { now: (): number => this.now + this.skew, monotonic: (): number => this.now - this.#bootedAt };

  get bootId(): string {
    return `boot-${this.#boots}`;
  }

  boot(): void {
    this.#boots += 1;
    this.#bootedAt = this.now;
  }

  noteChangedMarks(): void {
    this.marksChangedAt = this.clock.now();
  }
}

export const machine = new Machine();

/** The functions that ask the kernel about the file with the marks, or that need room on the disk. */
export function markFilesOn(host: typeof machine, original: typeof markFiles): typeof markFiles {
  const withTime = <State extends markFiles.FileState | undefined>(state: State): State =>
    state && { ...state, changedAt: host.marksChangedAt };
  return {
    ...original,
    currentBootId: () => host.bootId,
    readMarkFile: (file) => withTime(original.readMarkFile(file)),
    readSpareMarkFile: (file) => withTime(original.readSpareMarkFile(file)),
    stateOf: (file) => withTime(original.stateOf(file)),
    makeMarkFile: (file, marks) => {
      if (host.isDiskFull) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      const made = original.makeMarkFile(file, marks);
      host.noteChangedMarks();
      return withTime(made);
    },
    // On another disk.
    makeMarkFileIfMissing: (file) => {
      original.makeMarkFileIfMissing(file);
      host.noteChangedMarks();
    },
  };
}
