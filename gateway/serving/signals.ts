import type { Snapshot } from '../config/snapshot.ts';
import { AccessLog } from '../observability/accessLog.ts';
import { type Facts, type Recorder, tellAll } from '../observability/facts.ts';
import { Metrics } from '../observability/metrics.ts';
import { Collector } from '../usage/collector.ts';
import type { ServeOptions } from './serving.ts';

// What a crash may lose of the counts.
const flushMs = 5000;

/** What one process tells of its exchanges: counts for the metrics and the ledger, and lines for the log. */
export class Signals {
  readonly metrics = new Metrics();
  readonly recorder: Recorder;
  readonly #log: AccessLog | undefined;
  readonly #collector: Collector | undefined;
  readonly #usage: ServeOptions['usage'];
  readonly #timer: NodeJS.Timeout | undefined;
  #settings: string;

  constructor(snapshot: Snapshot, { notice, usage, logs }: ServeOptions) {
    this.#usage = usage;
    this.#settings = JSON.stringify(snapshot.usage);
    this.#log = logs ? new AccessLog(snapshot.log, notice) : undefined;
    const collector = usage && new Collector(snapshot.usage, usage.salt);
    this.#collector = collector;
    if (usage) this.#timer = setInterval(() => this.#flush(), flushMs).unref();
    this.recorder = tellAll([
      this.metrics,
      ...(this.#log ? [this.#log] : []),
      ...(collector ? [counting(collector)] : []),
    ]);
  }

  async apply(next: Snapshot): Promise<void> {
    this.#flush();
    const settings = JSON.stringify(next.usage);
    // To configure it is to forget whom it knows.
    if (this.#usage && settings !== this.#settings) this.#collector?.configure(next.usage, this.#usage.salt);
    this.#settings = settings;
    await this.#log?.apply(next.log);
  }

  /** For who has renamed the log. */
  async reopen(): Promise<void> {
    await this.#log?.reopen();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#flush();
    await this.#log?.close();
  }

  #flush(): void {
    const batch = this.#collector?.take() ?? [];
    if (batch.length > 0) this.#usage?.take(batch);
  }
}

function counting(collector: Collector): Recorder {
  return {
    record: ({ version, method, resource, paths, rawHeaders, address, status, served, at }: Facts) =>
      collector.count({ version, method, path: resource, paths, rawHeaders, address, status, served, at }),
  };
}
