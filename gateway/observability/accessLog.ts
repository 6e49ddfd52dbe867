import type { LogSettings } from '../config/snapshot.ts';
import type { ExchangeRecord, Recorder } from './exchangeRecord.ts';
import { type Level, logLine } from './logLine.ts';
import { LogOutput, type LogOutputOptions } from './logOutput.ts';
import { prettyPrinter } from './prettyLine.ts';

interface Output {
  readonly lines: LogOutput;
  /** For people; undefined: JSON as it is. */
  readonly print: ((json: string) => string) | undefined;
}

/** A line for each exchange, as `log:` of routes.yaml says. */
export class AccessLog implements Recorder {
  readonly #options: LogOutputOptions;
  readonly #dropped = { lines: 0 };
  #settings: LogSettings;
  #output: Output | undefined;

  /** `notice` hears of what keeps it from writing; that ends nothing else. `retry`: ms before another try. */
  constructor(settings: LogSettings, notice: (line: string) => void, retry?: number) {
    this.#options = { notice, dropped: this.#dropped, retry };
    this.#settings = settings;
    this.#output = this.#open();
  }

  /** Lines that nobody will read, since the start. */
  get dropped(): number {
    return this.#dropped.lines;
  }

  /** `client`: as the ledger says who it was, where one is kept. */
  record(facts: ExchangeRecord, client?: string): void {
    if (this.#output === undefined) return;
    const { status, problem, fault } = facts;
    const { sample } = this.#settings;
    const well = status < 400 && problem === undefined && fault === undefined;
    if (well && sample < 1 && Math.random() >= sample) return;
    const { lines, print } = this.#output;
    const line = logLine(facts, well ? 'info' : levelOf(facts), this.#settings, client);
    if (print) lines.writeText(print(line));
    else lines.write(line);
  }

  /** Takes over the settings of another snapshot. A file that stays the same stays open. */
  async apply(settings: LogSettings): Promise<void> {
    const before = JSON.stringify([this.#settings.access, this.#settings.format]);
    this.#settings = settings;
    if (JSON.stringify([settings.access, settings.format]) === before) return;
    const old = this.#output;
    this.#output = this.#open();
    await old?.lines.close();
  }

  /** Opens the file anew: for who has renamed it. */
  async reopen(): Promise<void> {
    await this.#output?.lines.reopen();
  }

  /** Resolves when all lines are written. What ends later is not written down. */
  async close(): Promise<void> {
    const last = this.#output;
    this.#output = undefined;
    await last?.lines.close();
  }

  #open(): Output | undefined {
    const { access, format } = this.#settings;
    if (access === 'off') return undefined;
    const lines = new LogOutput(access, this.#options);
    const isPretty = format === 'pretty' || (format === 'auto' && lines.isTerminal);
    return { lines, print: isPretty ? prettyPrinter(lines.isTerminal) : undefined };
  }
}

/** Of one that did not go well: a refusal is the client's to act on, the rest an operator's. */
function levelOf({ status, fault }: ExchangeRecord): Level {
  return status >= 500 || fault === 'target' || fault === 'gateway' ? 'error' : 'warn';
}
