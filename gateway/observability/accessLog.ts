import type { LogSettings } from '../config/operating.ts';
import type { Facts, Recorder } from './facts.ts';
import { LineBuffer } from './lineBuffer.ts';
import { type Level, logLine } from './logLine.ts';
import { prettyPrinter } from './prettyLine.ts';

interface Output {
  readonly lines: LineBuffer;
  /** For people; undefined: JSON as it is. */
  readonly print: ((json: string) => string) | undefined;
}

/** A line for each exchange, as `log:` of routes.yaml says. */
export class AccessLog implements Recorder {
  readonly #notice: (line: string) => void;
  #settings: LogSettings;
  #output: Output | undefined;

  /** `notice` hears of what keeps it from writing; that ends nothing else. */
  constructor(settings: LogSettings, notice: (line: string) => void) {
    this.#notice = notice;
    this.#settings = settings;
    this.#output = this.#open();
  }

  record(facts: Facts): void {
    if (this.#output === undefined) return;
    const { status, problem, fault } = facts;
    const { sample } = this.#settings;
    const well = status < 400 && problem === undefined && fault === undefined;
    if (well && sample < 1 && Math.random() >= sample) return;
    const { lines, print } = this.#output;
    const line = logLine(facts, well ? 'info' : levelOf(facts), this.#settings);
    if (print) lines.writeText(print(line));
    else lines.write(line);
  }

  /** Takes over the settings of another snapshot. A file that stays the same stays open. */
  async apply(settings: LogSettings): Promise<void> {
    const before = JSON.stringify([this.#settings.access, this.#settings.format]);
    this.#settings = settings;
    if (JSON.stringify([settings.access, settings.format]) !== before) await this.reopen();
  }

  /** Opens the file anew: for who has renamed it. */
  async reopen(): Promise<void> {
    const old = this.#output;
    this.#output = this.#open();
    await old?.lines.close();
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
    try {
      const lines = new LineBuffer(access, this.#notice);
      const isPretty = format === 'pretty' || (format === 'auto' && lines.isTerminal);
      return { lines, print: isPretty ? prettyPrinter(lines.isTerminal) : undefined };
    } catch (error) {
      this.#notice(`the access log cannot be opened: ${(error as Error).message}`);
      return undefined;
    }
  }
}

/** Of one that did not go well: a refusal is the client's to act on, the rest an operator's. */
function levelOf({ status, fault }: Facts): Level {
  return status >= 500 || fault === 'target' || fault === 'gateway' ? 'error' : 'warn';
}
