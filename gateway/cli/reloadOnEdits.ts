import type { RunningGateway } from '../assemble.ts';
import type { Snapshot } from '../config/snapshot.ts';
import { type Watch, watchFile } from '../config/watch.ts';
import type { Trigger } from '../observability/configStatus.ts';
import { outcomeInWords } from '../reload.ts';
import type { Io } from './io.ts';
import type { RoutesFile } from './routesFile.ts';

/** Reloads when the file, a contract that it names, or SIGHUP says so. */
export class ReloadOnEdits {
  readonly #file: RoutesFile;
  readonly #io: Io;
  readonly #watches = new Map<string, Watch>();
  #running: RunningGateway | undefined;

  constructor(file: RoutesFile, io: Io) {
    this.#file = file;
    this.#io = io;
  }

  /** Watches from now on, until `close`. */
  begin(running: RunningGateway, snapshot: Snapshot): void {
    this.#running = running;
    const { path } = this.#file;
    const lastRead = () => this.#file.lastRead;
    this.#watches.set(
      path,
      watchFile(path, () => void this.#reload('file'), lastRead),
    );
    process.on('SIGHUP', this.#onSignal);
    this.follow(snapshot);
  }

  /** Watches the contracts of this snapshot, and no others. */
  follow({ byMajor }: Snapshot): void {
    if (this.#running === undefined) return;
    const wanted = new Set([this.#file.path, ...byMajor.flatMap(({ contract }) => contract?.file ?? [])]);
    for (const [path, watch] of this.#watches) {
      if (wanted.has(path)) continue;
      watch.close();
      this.#watches.delete(path);
    }
    for (const path of wanted) {
      if (!this.#watches.has(path))
        this.#watches.set(
          path,
          watchFile(path, () => void this.#reload('file')),
        );
    }
  }

  close(): void {
    for (const watch of this.#watches.values()) watch.close();
    process.off('SIGHUP', this.#onSignal);
  }

  readonly #onSignal = (): void => {
    void this.#reload('signal');
    void this.#running?.reopenLogs();
  };

  async #reload(trigger: Trigger): Promise<void> {
    const outcome = await this.#running?.reload(trigger);
    if (outcome === undefined || (outcome.kind === 'unchanged' && !outcome.reverted && trigger === 'file')) return;
    const output = outcome.kind === 'reloaded' || outcome.kind === 'unchanged' ? this.#io.stdout : this.#io.stderr;
    for (const line of outcomeInWords(outcome)) output.write(`reload (${trigger}): ${line}\n`);
  }
}
