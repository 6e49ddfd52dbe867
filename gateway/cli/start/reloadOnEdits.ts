import type { Snapshot } from '../../config/snapshot.ts';
import { WatchedFiles } from '../../config/watchedFiles.ts';
import type { Trigger } from '../../observability/report.ts';
import type { RunningGateway } from '../../runtime/gateway.ts';
import { outcomeLines } from '../../runtime/reload.ts';
import type { Io } from '../io.ts';
import type { RoutesFile } from './routesFile.ts';

/** Reloads on SIGHUP, and when routes.yaml or one of its contracts changes. */
export class ReloadOnEdits {
  readonly #file: RoutesFile;
  readonly #io: Io;
  readonly #watched = new WatchedFiles(
    (content) => void this.#reload('file', content),
    () => this.#file.lastRead,
  );
  #running: RunningGateway | undefined;

  constructor(file: RoutesFile, io: Io) {
    this.#file = file;
    this.#io = io;
  }

  /** Starts to watch; `close` stops it. */
  begin(running: RunningGateway, snapshot: Snapshot): void {
    this.#running = running;
    process.on('SIGHUP', this.#onSignal);
    this.follow(snapshot);
  }

  /** Watches the contracts of this snapshot instead of the previous ones. */
  follow({ byMajor }: Snapshot): void {
    if (this.#running === undefined) return;
    this.#watched.follow(this.#file.path, byMajor);
  }

  close(): void {
    this.#watched.close();
    process.off('SIGHUP', this.#onSignal);
  }

  readonly #onSignal = (): void => {
    void this.#reload('signal');
    void this.#running?.reopenLogs();
  };

  async #reload(trigger: Trigger, content?: Uint8Array): Promise<void> {
    const outcome = await this.#running?.reload(trigger, content);
    if (outcome === undefined || (outcome.kind === 'unchanged' && !outcome.reverted && trigger === 'file')) return;
    const output = outcome.kind === 'reloaded' || outcome.kind === 'unchanged' ? this.#io.stdout : this.#io.stderr;
    for (const line of outcomeLines(outcome)) output.write(`reload (${trigger}): ${line}\n`);
  }
}
