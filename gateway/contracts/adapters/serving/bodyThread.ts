import type { AdapterSettings } from '../../../config/adapterSettings.ts';
import { threadFile } from '../../../shared/packageFiles.ts';
import { SupervisedThread } from '../../../shared/supervisedThread.ts';
import {
  AdaptedBodyValidator,
  type BodyBytes,
  type BodyChange,
  type BodyFault,
  bufferOf,
  changeBody,
  decodeBody,
  isBody,
} from './adaptedBody.ts';
import type { CompiledAdapter, CompiledRoute } from './compiledAdapter.ts';

/** One body to adapt, as plain data. */
export interface BodyJob {
  /** `GET /drinks/{id}` */
  readonly route: string;
  /** The status of the response. Undefined: the body is that of a request. */
  readonly status: number | undefined;
  readonly contentType: string | undefined;
  /** The content codings, `gzip`; '' for none. */
  readonly coding: string;
  readonly bytes: BodyBytes;
}

/** Adapts the bodies of one version, either in the thread that serves requests or in a `BodyThread`. */
export class BodyAdapter {
  readonly compiled: CompiledAdapter;
  readonly #validator: AdaptedBodyValidator | undefined;
  readonly #maxBodyBytes: number;
  readonly #routes: ReadonlyMap<string, CompiledRoute>;

  constructor(compiled: CompiledAdapter) {
    const { derivedFromContracts: derived, body: maxBodyBytes } = compiled.settings;
    this.compiled = compiled;
    this.#validator = derived && new AdaptedBodyValidator(derived);
    this.#maxBodyBytes = maxBodyBytes;
    this.#routes = new Map(compiled.routes.map((route) => [route.name, route]));
  }

  /** Whether the bodies of a response are changed or checked. */
  changesOrChecksBody(route: CompiledRoute, status: number): boolean {
    // The operations for this status in routes.yaml.
    const row = route.rowFor(status);
    return row !== undefined && (!row.isEmpty || this.#validator?.hasSchema(route.name, status) === true);
  }

  /** `limit`: the largest decoded body; undefined: `adapter.body`. */
  adapt({ route, status, contentType, coding, bytes }: BodyJob, limit = this.#maxBodyBytes): BodyBytes | BodyFault {
    const decoded = coding === '' ? bytes : decodeBody(bufferOf(bytes), coding, limit);
    if (!isBody(decoded)) return decoded;
    const change = this.#changeOf(route, status, contentType);
    return change ? changeBody(decoded, change) : { pointer: '', cause: 'the adapter has no operations for this body' };
  }

  #changeOf(name: string, status: number | undefined, contentType: string | undefined): BodyChange | undefined {
    const route = this.#routes.get(name);
    if (status === undefined) {
      const transform = route?.transformRequestBody;
      return transform && { transform, isEmpty: false, findViolation: undefined };
    }
    const row = route?.rowFor(status);
    return row && { ...row, findViolation: this.#validator?.checkFor(name, status, contentType) };
  }
}

/** A message to the thread. `settings`: sent with a job whose adapter the thread does not have. */
export interface BodyRequest {
  /** The number of the job. The reply has the same number. */
  readonly number: number;
  readonly hash: string;
  readonly settings: AdapterSettings | undefined;
  readonly job: Omit<BodyJob, 'bytes'> & { readonly bytes: Uint8Array };
}

export type BodyReply = { readonly number: number } & ({ readonly bytes: Uint8Array } | { readonly fault: BodyFault });

const maxAdapters = 16;

/**
 * Limits the number of kept adapters: after a reload that changes an adapter, both its old and its new form are kept. The thread
 * and its owner add adapters in the same order and drop the same ones, so the owner knows which adapters the thread has.
 * @param adapters the keys are hashes of adapters; the latest is last
 */
export function dropOldestAdapter(adapters: Map<string, unknown> | Set<string>): void {
  const [oldest] = adapters.keys();
  if (adapters.size > maxAdapters && oldest !== undefined) adapters.delete(oldest);
}

// The size of a body is limited, so a job takes milliseconds. A thread that takes this long hangs, for example in a regular
// expression, and is ended.
const longestJobMs = 10_000;
// An idle thread is ended. Node 26 frees its memory at a later garbage collection, not at once.
const idleMs = 30_000;
const heapMiB = 512;

/** Adapts large bodies in a thread, so that other requests do not wait. One thread for each process, started on demand. */
export class BodyThread {
  /** The hashes of the adapters that the thread has. */
  readonly #knownHashes = new Set<string>();
  readonly #thread = new SupervisedThread<BodyRequest, BodyReply>({
    file: threadFile('contracts/adapters/serving/worker'),
    task: 'adapts large bodies',
    worker: { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: heapMiB } },
    answerMs: longestJobMs,
    idleMs,
    onEnd: () => this.#knownHashes.clear(),
  });

  async run(settings: AdapterSettings, hash: string, { bytes, ...job }: BodyJob): Promise<Buffer | BodyFault> {
    // A copy, because a buffer of Node's pool cannot be transferred.
    const copy = new Uint8Array(bufferOf(bytes));
    try {
      const reply = await this.#thread.ask(() => {
        const isNew = !this.#knownHashes.has(hash);
        this.#knownHashes.add(hash);
        dropOldestAdapter(this.#knownHashes);
        return { hash, settings: isNew ? settings : undefined, job: { ...job, bytes: copy } };
      }, [copy.buffer]);
      if ('fault' in reply) return reply.fault;
      return Buffer.from(reply.bytes.buffer, reply.bytes.byteOffset, reply.bytes.length);
    } catch {
      return { pointer: '', cause: 'the thread that adapts large bodies ended' };
    }
  }
}
