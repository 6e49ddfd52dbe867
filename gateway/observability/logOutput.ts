import { type Destination, type Dropped, LineBuffer } from './lineBuffer.ts';

// Long enough that a disk in trouble is left alone, and short enough that nobody has to call the operator.
const retryMs = 5000;

export interface LogOutputOptions {
  /** Hears of what keeps it from writing, and when that is over. */
  readonly notice: (line: string) => void;
  readonly dropped: Dropped;
  /** The pause before another try. */
  readonly retry?: number | undefined;
}

/** Where lines go. A file that cannot be opened, or is there no more, is opened again and again; nothing throws. */
export class LogOutput {
  readonly #to: Destination;
  readonly #notice: (line: string) => void;
  readonly #dropped: Dropped;
  readonly #timer: NodeJS.Timeout;
  #lines: LineBuffer | undefined;
  #isTroubled = false;

  constructor(to: Destination, { notice, dropped, retry = retryMs }: LogOutputOptions) {
    this.#to = to;
    this.#notice = notice;
    this.#dropped = dropped;
    this.#lines = this.#open();
    this.#timer = setInterval(() => this.#look(), retry).unref();
  }

  get isTerminal(): boolean {
    return this.#lines?.isTerminal ?? false;
  }

  /** `line` is ASCII. */
  write(line: string): void {
    if (this.#lines) this.#lines.write(line);
    else this.#dropped.lines += 1;
  }

  /** For people: any characters, and at once. */
  writeText(text: string): void {
    if (this.#lines) this.#lines.writeText(text);
    else this.#dropped.lines += 1;
  }

  /** Opens the file anew. */
  async reopen(): Promise<void> {
    const old = this.#lines;
    this.#isTroubled ||= old?.failing === true;
    this.#lines = this.#open();
    await old?.close();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#lines?.close();
  }

  #look(): void {
    if (this.#lines?.isThere) return;
    if (this.#lines && !this.#lines.failing) this.#notice('the file of the access log is gone: another one begins');
    void this.reopen();
  }

  #open(): LineBuffer | undefined {
    try {
      const lines = new LineBuffer(this.#to, this.#notice, this.#dropped);
      if (this.#isTroubled)
        this.#notice(`the access log is open again: ${this.#dropped.lines} lines were dropped so far`);
      this.#isTroubled = false;
      return lines;
    } catch (error) {
      if (!this.#isTroubled)
        this.#notice(`the access log cannot be opened, and is tried again: ${(error as Error).message}`);
      this.#isTroubled = true;
      return undefined;
    }
  }
}
