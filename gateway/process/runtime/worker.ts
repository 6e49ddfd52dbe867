import type { SendHandle } from 'node:child_process';
import cluster from 'node:cluster';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { HostPort } from '../../config/snapshot.ts';
import { fromPlainInSlices } from '../../config/transfer.ts';
import type { OtlpBatch } from '../../operate/otlp/batch.ts';
import { systemClock } from '../../shared/clock.ts';
import { endProcess } from '../../shared/endProcess.ts';
import type { RestrictionUpdate } from '../../versions/restrictions/restriction.ts';
import type { ClientOfApi, OwnUsageAnswer } from '../../versions/selfService/selfService.ts';
import { serveInProcess } from './inProcess.ts';
import type { ServeOptions, Serving, UsageSink } from './serving.ts';
import type {
  OwnUsageQuestion,
  WireError,
  WorkerNotice,
  WorkerOtlp,
  WorkerReply,
  WorkerRequest,
  WorkerResult,
  WorkerShadow,
  WorkerUsage,
} from './workerMessages.ts';

export const { isWorker } = cluster;

/** Runs this process as a worker. It handles the requests of the primary until it has drained, or until the primary is gone. */
export async function runWorker(): Promise<void> {
  // A terminal and a service manager signal the whole process group. Only the primary acts on these signals.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const) process.on(name, () => {});
  const worker = new Worker();
  // Runs before the listener of node:cluster: that listener waits for blocked threads, and the worker would outlive the primary.
  process.prependOnceListener('disconnect', () => endProcess(0));
  process.on('message', (request: WorkerRequest, handle: SendHandle) => void worker.onRequest(request, handle));
  await once(process, 'disconnect');
}

class Worker {
  #serving: Serving | undefined;
  /** Updates that arrived before this process serves. They are at least as new as the restrictions in the `serve` request. */
  #earlyRestrictions: RestrictionUpdate = {};
  /** The latest salt from the primary. */
  #salt = '';
  /** The questions of clients about their own calls that the primary has not answered, by number. `SelfService` limits how many wait. */
  readonly #ownUsageQuestions = new Map<number, (answer: OwnUsageAnswer) => void>();
  #lastQuestionNumber = 0;
  // Snapshots are applied one at a time. Otherwise an older one with a large contract would be applied after a newer one.
  #lastApply: Promise<unknown> = Promise.resolve();
  /** The listening socket, if this worker has opened it, until it is sent to the primary. */
  #openedSocket: SendHandle;

  async onRequest(request: WorkerRequest, handle: SendHandle): Promise<void> {
    const { number } = request;
    try {
      const result = await this.#resultOf(request, handle);
      // Another request may be answered while the listener is being opened. Only the reply to `serve` sends the socket.
      const openedSocket = request.kind === 'serve' ? this.#openedSocket : undefined;
      await send({ kind: 'reply', number, ...result }, openedSocket);
      if (openedSocket) this.#openedSocket = undefined;
    } catch (error) {
      await send({ kind: 'reply', number, error: wireError(error) });
    }
    if (request.kind === 'drain') process.disconnect?.();
  }

  async #resultOf(request: WorkerRequest, handle: SendHandle): Promise<WorkerResult> {
    if (request.kind === 'serve') {
      const notice = (line: string): void => void send({ kind: 'notice', line });
      const receive: UsageSink['receive'] = (counts) => void send({ kind: 'usage', counts });
      const { marks } = request;
      const sink = { receive, markFiles: marks?.files, process: marks?.process };
      const usage = request.salt === undefined ? undefined : this.#usageSink(request.salt, sink);
      const otlp = (batch: OtlpBatch): Promise<void> => send({ kind: 'otlp', batch });
      const shadow: ServeOptions['shadow'] = (batch) => send({ kind: 'shadow', batch });
      const listen = async (server: Server, address: HostPort): Promise<void> => {
        await listenOn(handle, server, address);
        if (handle === undefined) this.#openedSocket = handleOf(server);
      };
      const ticketKeys = Buffer.from(request.ticketKeys);
      const options = { clock: systemClock, notice, usage, otlp, shadow, logs: true, listen, ticketKeys };
      const ownUsage = usage && ((client: ClientOfApi) => this.#askOwnUsage(client));
      const snapshot = await fromPlainInSlices(request.snapshot);
      const restrictions = { ...request.restrictions, ...this.#earlyRestrictions };
      const serving = await serveInProcess(snapshot, { ...options, ownUsage, restrictions });
      this.#serving = serving;
      // An update may have arrived while the listener was opened.
      await serving.restrict(this.#earlyRestrictions);
      return { port: serving.port };
    }
    const serving = this.#serving;
    if (!serving && request.kind === 'restrict') {
      this.#earlyRestrictions = { ...this.#earlyRestrictions, ...request.update };
      return { done: true };
    }
    if (!serving) throw new Error(`received ${request.kind} before serve`);
    if (request.kind === 'report') return { report: await serving.report({ withMetrics: request.metrics }) };
    if (request.kind === 'heartbeat') return { report: await serving.report() };
    if (request.kind === 'flush') {
      // The primary process takes the answer as proof that earlier reloads are applied.
      await this.#lastApply;
      await serving.flush();
    }
    if (request.kind === 'resalt') {
      this.#salt = request.salt;
      await serving.resalt();
    }
    if (request.kind === 'rekey') await serving.rekey(Buffer.from(request.ticketKeys));
    if (request.kind === 'restrict') await serving.restrict(request.update ?? {});
    if (request.kind === 'ownUsageAnswer') {
      this.#ownUsageQuestions.get(request.questionNumber)?.(request.answer);
      this.#ownUsageQuestions.delete(request.questionNumber);
    }
    if (request.kind === 'reopenLogs') await serving.reopenLogs();
    if (request.kind === 'apply') {
      const { snapshot } = request;
      const applied = this.#lastApply.then(async () =>
        serving.apply(await fromPlainInSlices(snapshot, serving.current)),
      );
      this.#lastApply = applied.catch(() => {});
      await applied;
    }
    if (request.kind === 'drain') {
      await serving.drain(request.ms);
      await serving.close();
      // After closing, so that interrupted exchanges are also counted.
      return { report: await serving.report({ withMetrics: true }) };
    }
    return { done: true };
  }

  #askOwnUsage(client: ClientOfApi): Promise<OwnUsageAnswer> {
    const { promise, resolve } = Promise.withResolvers<OwnUsageAnswer>();
    this.#lastQuestionNumber += 1;
    this.#ownUsageQuestions.set(this.#lastQuestionNumber, resolve);
    void send({ kind: 'ownUsageQuestion', questionNumber: this.#lastQuestionNumber, client });
    return promise;
  }

  #usageSink(salt: string, sink: Omit<UsageSink, 'salt'>): UsageSink {
    this.#salt = salt;
    const currentSalt = (): string => this.#salt;
    return {
      ...sink,
      get salt() {
        return currentSalt();
      },
    };
  }
}

/** @throws the system's own errors, such as EADDRINUSE */
async function listenOn(handle: SendHandle, server: Server, { host, port }: HostPort): Promise<void> {
  // Without `exclusive`, node:cluster would close the socket when the last worker has ended.
  if (handle === undefined) server.listen({ host, port, exclusive: true });
  else server.listen(handle);
  await once(server, 'listening');
}

/** The socket itself, for process.send(). If the server were sent, the primary would also accept connections. */
function handleOf(server: Server): SendHandle {
  return (server as Server & { readonly _handle?: SendHandle })._handle;
}

/** Resolves when the message was sent. Closing the channel earlier would drop queued messages. */
function send(
  message: WorkerReply | WorkerNotice | WorkerUsage | WorkerOtlp | OwnUsageQuestion | WorkerShadow,
  handle?: SendHandle,
): Promise<void> {
  return new Promise((resolve) => {
    // If the primary is gone, this process also ends.
    if (process.connected) process.send?.(message, handle, undefined, () => resolve());
    else resolve();
  });
}

function wireError(error: unknown): WireError {
  const { message, code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  return { message, code, address, port };
}
