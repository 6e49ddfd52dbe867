import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryFolder } from '../config/temporary.ts';
import { isSafeToStop, type Yes, yesesFor } from './answeringPlaces.ts';
import { type BackendCall, type CountedGateway, countedGateway, killQuietly } from './countedGateway.ts';
import { eventInWords, type FaultEvent, type FaultHistory } from './faultHistory.ts';

const versions = ['v1', 'v2', 'v3'];
// The clients whose calls do not count.
const ignored = ['probe'];
const quietMs = { '5s': 5_000, '10m': 600_000 };

export interface PlayedHistory {
  /** The answers that were yes although the version was called. */
  readonly wrong: readonly string[];
  readonly yeses: number;
  /** The calls that the backend has received. */
  readonly calls: number;
  readonly answers: number;
  /** Why the history ended early: the gateway did not start. */
  readonly failure: string | undefined;
  readonly stderr: string;
}

/** Plays a history with real processes, and compares every yes with the log of the backend. */
export async function played({ seed, workers, quiet, events }: FaultHistory): Promise<PlayedHistory> {
  const gateway = await countedGateway({ workers, quiet, ignored, versions });
  const world = new World(gateway);
  const wrong: string[] = [];
  const happened: string[] = [];
  let [yeses, answers] = [0, 0];
  let failure: string | undefined;
  const note = (version: string, saidYes: readonly Yes[]): void => {
    yeses += saidYes.length;
    for (const { name, ofAnswered, askedAt } of saidYes) {
      const [last] = gateway.log
        .filter((one) => one.version === version && counts(one, askedAt, quietMs[quiet]))
        .filter(({ isAnswered }) => isAnswered || ofAnswered !== true)
        .slice(-1);
      if (last === undefined) continue;
      const call = `called ${Math.round(askedAt - last.at)} ms before by ${last.client} (${last.path})`;
      const history = [`workers ${workers}, quiet ${quiet}`, ...happened].join('\n    ');
      wrong.push(`seed ${seed}: ${name} of /${version}, ${call}\n    ${history}`);
    }
  };
  const ask = async (): Promise<void> => {
    for (const version of versions) {
      note(version, await yesesFor(version, gateway));
      answers += 1;
    }
  };
  try {
    for (const event of events) {
      happened.push(eventInWords(event));
      if (event.kind === 'ask') await ask();
      else await world.play(event);
    }
    await world.repair();
    happened.push('the disk has room, the clock is right');
    await ask();
    for (const version of versions) {
      const askedAt = Date.now();
      happened.push(`reload with /${version} retired`);
      if (!(await gateway.reload(version))) continue;
      note(version, [{ name: 'the reload', askedAt }]);
      if (await isSafeToStop(version, gateway)) note(version, [{ name: 'status --wait', askedAt }]);
    }
  } catch (error) {
    failure = `seed ${seed}: ${error instanceof Error ? error.message : String(error)} after\n    ${happened.join('\n    ')}`;
  } finally {
    await gateway.close();
  }
  return { wrong, yeses, answers, calls: gateway.log.length, failure, stderr: gateway.stderr() };
}

/** Whether a call counts in the period before the question. */
function counts({ path, client, at }: BackendCall, askedAt: number, quiet: number): boolean {
  return path !== 'missing' && !ignored.includes(client) && at < askedAt && at >= askedAt - quiet;
}

/** Lets the events happen. */
class World {
  readonly #gateway: CountedGateway;
  readonly #backup = join(temporaryFolder(), 'backup');
  #isReadOnly = false;

  constructor(gateway: CountedGateway) {
    this.#gateway = gateway;
  }

  async play(event: Exclude<FaultEvent, { readonly kind: 'ask' }>): Promise<void> {
    const gateway = this.#gateway;
    switch (event.kind) {
      case 'start':
        return start(gateway);
      case 'call':
        for (let count = 0; count < event.count; count += 1) {
          const answer = gateway.call(event.version, event.path, event.client);
          // Long enough to reach the backend. A gateway that is stopped by a signal does not answer.
          await Promise.race([answer, sleep(event.path === 'x' || event.path === 'missing' ? 500 : 30)]);
        }
        return;
      case 'pause':
        return sleep(event.ms);
      case 'end':
        await gateway.end(event.signal);
        return;
      case 'kill workers': {
        const pids = gateway.workerPids();
        for (const pid of event.all ? pids : pids.slice(0, 1)) killQuietly(pid, 'SIGKILL');
        return;
      }
      case 'stop': {
        const [pid] = gateway.workerPids();
        const send = (signal: NodeJS.Signals): void => {
          if (event.who === 'gateway') gateway.signal(signal);
          else if (pid !== undefined) killQuietly(pid, signal);
        };
        send('SIGSTOP');
        // The history goes on while the process is stopped.
        setTimeout(() => send('SIGCONT'), event.ms);
        return;
      }
      case 'rolling restart':
        return gateway.signal('SIGUSR2');
      case 'full disk':
        return event.isFull
          ? this.#whileWritable(() => gateway.fillDisk())
          : this.#whileWritable(() => gateway.freeDisk());
      case 'read-only disk':
        return this.#setReadOnly(event.isReadOnly);
      case 'clock':
        return gateway.setClock(event.ms);
      case 'backup':
        rmSync(this.#backup, { recursive: true, force: true });
        copy(gateway.disk, this.#backup);
        return;
      case 'restore':
        return this.#whileWritable(() => this.#restore(event.how));
      case 'files':
        return this.#whileWritable(() => harm(`${gateway.store}${event.file}`, event));
    }
  }

  /** Ends every fault, so that the gateway can answer. */
  async repair(): Promise<void> {
    const gateway = this.#gateway;
    gateway.signal('SIGCONT');
    for (const pid of gateway.workerPids()) killQuietly(pid, 'SIGCONT');
    gateway.freeDisk();
    gateway.setClock(0);
    if (this.#isReadOnly) {
      await gateway.end('SIGKILL');
      await this.#setReadOnly(false);
    }
    if (!gateway.isRunning) await start(gateway);
  }

  #restore(how: 'new files' | 'in place' | 'ledger only'): void {
    const { disk } = this.#gateway;
    if (!existsSync(this.#backup)) return;
    for (const name of readdirSync(disk)) {
      const isMarks = name.endsWith('.calls');
      if (how === 'new files' || (how === 'ledger only' && !isMarks && name !== 'filler'))
        rmSync(join(disk, name), { recursive: true });
    }
    copy(this.#backup, disk, how === 'ledger only' ? ['.calls'] : []);
  }

  async #setReadOnly(isReadOnly: boolean): Promise<void> {
    if (isReadOnly === this.#isReadOnly || this.#gateway.isRunning) return;
    await this.#gateway.setReadOnly(isReadOnly);
    this.#isReadOnly = isReadOnly;
  }

  /** A read-only disk cannot be filled or damaged. */
  #whileWritable(work: () => void): void {
    if (!this.#isReadOnly) work();
  }
}

/** On a busy machine, a worker may not be ready within the time that the gateway gives it. */
async function start(gateway: CountedGateway): Promise<void> {
  for (;;) {
    try {
      return await gateway.start();
    } catch (error) {
      if (!String(error).trimEnd().endsWith('no answer within 60 s')) throw error;
    }
  }
}

/** `without`: the ends of names that are not copied. */
function copy(from: string, to: string, without: readonly string[] = []): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    if (name === 'filler' || without.some((one) => name.endsWith(one))) continue;
    try {
      // Like `cp -a`: files that exist are overwritten in place.
      execFileSync('cp', ['-a', '--no-target-directory', join(from, name), join(to, name)], { stdio: 'ignore' });
    } catch {
      // The disk is full, or the file was removed meanwhile.
    }
  }
}

function harm(file: string, { damage, part }: Extract<FaultEvent, { readonly kind: 'files' }>): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile()) return;
  const at = Math.floor(part * stats.size);
  try {
    if (damage === 'removed' || damage === 'a folder') rmSync(file);
    if (damage === 'a folder') mkdirSync(file);
    if (damage === 'truncated') execFileSync('truncate', ['-s', String(at), file]);
    if (damage === 'zeros' || damage === 'other bytes') {
      const length = Math.min(16_384, stats.size - at);
      const bytes = Buffer.alloc(length, damage === 'zeros' ? 0 : 'other bytes ');
      const descriptor = openSync(file, 'r+');
      writeSync(descriptor, bytes, 0, length, at);
      closeSync(descriptor);
    }
  } catch {
    // The disk is full.
  }
}
