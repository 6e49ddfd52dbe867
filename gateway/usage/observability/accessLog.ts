import type { LogSettings } from '../../config/snapshot.ts';
import type { ExchangeRecord, Recorder } from './exchangeRecord.ts';
import { type DroppedLines, LineBuffer, type LogDestination } from './lineBuffer.ts';
import { type LogLevel, logLine, prettyLine, type ShownParts, shownPartsOf } from './logLine.ts';

// Long enough not to load a failing disk, short enough to recover soon.
const defaultRetryMs = 5000;

interface Output {
  readonly log: LogOutput;
  readonly isPretty: boolean;
}

/** Writes one line per exchange, as configured under `log:`. */
export class AccessLog implements Recorder {
  readonly #notice: (line: string) => void;
  readonly #retryMs: number;
  readonly #dropped: DroppedLines = { lines: 0 };
  #settings: LogSettings;
  /** Which parts of a request a line may contain. */
  #shown: ShownParts;
  #output: Output | undefined;

  /** `notice` gets a line when writing fails; a failure never throws. `retryMs`: the time between two attempts to open the file. */
  constructor(settings: LogSettings, notice: (line: string) => void, retryMs = defaultRetryMs) {
    this.#notice = notice;
    this.#retryMs = retryMs;
    this.#settings = settings;
    this.#shown = shownPartsOf(settings);
    this.#output = this.#open();
  }

  /** Lines that were not written, since the start. */
  get dropped(): number {
    return this.#dropped.lines;
  }

  /** `client`: the client as in the usage ledger; undefined without a ledger. */
  record(exchange: ExchangeRecord, client?: string): void {
    if (this.#output === undefined) return;
    const { status, problem, fault } = exchange;
    const { sample } = this.#settings;
    const isSuccessful = status < 400 && problem === undefined && fault === undefined;
    if (isSuccessful && sample < 1 && Math.random() >= sample) return;
    const { log, isPretty } = this.#output;
    const line = logLine(exchange, isSuccessful ? 'info' : failureLevel(exchange), this.#shown, client);
    if (isPretty) log.writeText(prettyLine(line, log.isTerminal));
    else log.write(line);
  }

  /** Applies the settings of another snapshot. A file that stays the same stays open. */
  async apply(settings: LogSettings): Promise<void> {
    const before = JSON.stringify([this.#settings.access, this.#settings.format]);
    this.#settings = settings;
    this.#shown = shownPartsOf(settings);
    if (JSON.stringify([settings.access, settings.format]) === before) return;
    const oldOutput = this.#output;
    this.#output = this.#open();
    await oldOutput?.log.close();
  }

  /** Opens the file again, after it was renamed. */
  async reopen(): Promise<void> {
    await this.#output?.log.reopen();
  }

  /** Resolves when all lines are written. Exchanges recorded later are ignored. */
  async close(): Promise<void> {
    const output = this.#output;
    this.#output = undefined;
    await output?.log.close();
  }

  #open(): Output | undefined {
    const { access, format } = this.#settings;
    if (access === 'off') return undefined;
    const log = new LogOutput(access, this.#notice, this.#dropped, this.#retryMs);
    return { log, isPretty: format === 'pretty' || (format === 'auto' && log.isTerminal) };
  }
}

/** The level of an exchange that failed: `error` if the operator has to act, `warn` if the client has to act. */
function failureLevel({ status, fault }: ExchangeRecord): LogLevel {
  return status >= 500 || fault === 'target' || fault === 'gateway' ? 'error' : 'warn';
}

/** An open log destination. If the file cannot be opened or was removed, it is opened again at intervals; nothing throws. */
class LogOutput {
  readonly #destination: LogDestination;
  readonly #notice: (line: string) => void;
  readonly #dropped: DroppedLines;
  readonly #timer: NodeJS.Timeout;
  #buffer: LineBuffer | undefined;
  #hasFailed = false;

  constructor(to: LogDestination, notice: (line: string) => void, dropped: DroppedLines, retryMs: number) {
    this.#destination = to;
    this.#notice = notice;
    this.#dropped = dropped;
    this.#buffer = this.#open();
    this.#timer = setInterval(() => this.#reopenIfNeeded(), retryMs).unref();
  }

  get isTerminal(): boolean {
    return this.#buffer?.isTerminal ?? false;
  }

  /** `line` is ASCII. */
  write(line: string): void {
    if (this.#buffer) this.#buffer.write(line);
    else this.#dropped.lines += 1;
  }

  /** Writes text with any characters, without buffering. */
  writeText(text: string): void {
    if (this.#buffer) this.#buffer.writeText(text);
    else this.#dropped.lines += 1;
  }

  async reopen(): Promise<void> {
    const oldBuffer = this.#buffer;
    this.#hasFailed ||= oldBuffer?.isFailing === true;
    this.#buffer = this.#open();
    await oldBuffer?.close();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#buffer?.close();
  }

  #reopenIfNeeded(): void {
    if (this.#buffer?.isFileInPlace) return;
    if (this.#buffer && !this.#buffer.isFailing)
      this.#notice('the access log file was removed or replaced: it is opened again');
    void this.reopen();
  }

  #open(): LineBuffer | undefined {
    try {
      const buffer = new LineBuffer(this.#destination, this.#notice, this.#dropped);
      if (this.#hasFailed)
        this.#notice(`the access log is open again: ${this.#dropped.lines} lines were dropped so far`);
      this.#hasFailed = false;
      return buffer;
    } catch (error) {
      if (!this.#hasFailed)
        this.#notice(`the access log cannot be opened and will be retried: ${(error as Error).message}`);
      this.#hasFailed = true;
      return undefined;
    }
  }
}
