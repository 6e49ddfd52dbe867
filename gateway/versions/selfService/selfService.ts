import { baseOfPath, servesApi } from '../../config/api.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import type { Problem } from '../../problems/problem.ts';
import { networkOf } from '../../shared/network.ts';
import type { ClientIdentification } from '../../usage/counting/identification.ts';

// The length of a window in which requests are counted. A window begins with a whole minute.
const windowMs = 60_000;
// Requests of one network in a window.
const maxPerNetwork = 10;
// Requests of all networks in a window. Also limits the memory, because only the networks of admitted requests are kept.
const maxPerWindow = 120;
// Requests for which the answer of the ledger is awaited.
const maxPending = 8;
const defaultAnswerTimeoutMs = 5_000;
const retryAfterS = 30;

/** What the ledger has about one client. `unknown`: no backend has accepted the client. `failed`: the ledger cannot be read. */
export type OwnUsageAnswer =
  | { readonly kind: 'known'; readonly body: string }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'failed' };

/** Asks the process that reads the ledger about a client of one API. */
export type AskOwnUsage = (client: ClientOfApi) => Promise<OwnUsageAnswer>;

export interface ClientOfApi {
  /** Its name in the ledger. */
  readonly client: string;
  /** The base of the API. */
  readonly base: string;
}

/** A request to `/versions/me`. */
interface OwnUsageRequest {
  readonly method: string;
  readonly rawHeaders: readonly string[];
  /** The address of the client, not of a proxy in between. */
  readonly address: string;
  readonly identification: ClientIdentification;
  /** The base of the API that is asked. */
  readonly base: string;
  /** Epoch ms. */
  readonly now: number;
}

const ownUsagePath = '/versions/me';

/**
 * Answers `GET /versions/me` in a process that serves clients. A client that no backend has accepted gets the same answer as a
 * client that is not in the ledger. The ledger is asked in both cases, so that the time of the answer does not tell them apart.
 */
export class SelfService {
  readonly #ask: AskOwnUsage;
  readonly #timeoutMs: number;
  #windowNumber = 0;
  /** In the current window. */
  #admittedCount = 0;
  #admittedByNetwork = new Map<string, number>();
  #pending = 0;

  constructor(ask: AskOwnUsage, timeoutMs = defaultAnswerTimeoutMs) {
    this.#ask = ask;
    this.#timeoutMs = timeoutMs;
  }

  /** The base of the API about which requests to this path ask. Undefined: they are not answered here. */
  baseAskedAt(requestPath: string, snapshot: Snapshot): string | undefined {
    const { basePath, selfService } = snapshot.gateway;
    if (selfService !== 'on' || !requestPath.endsWith(ownUsagePath)) return undefined;
    const base = baseOfPath(requestPath, snapshot);
    return requestPath === basePath + base + ownUsagePath && servesApi(base, snapshot) ? base : undefined;
  }

  /** The body of the answer, as JSON, or the problem. */
  async answer(request: OwnUsageRequest): Promise<string | Problem> {
    const { method, rawHeaders, address, identification, base, now } = request;
    if (method !== 'GET' && method !== 'HEAD') return { code: 'METHOD_NOT_ALLOWED', fields: ['Allow', 'GET, HEAD'] };
    const client = identification.clientBySecret(rawHeaders);
    if (client === undefined) return notAccepted;
    if (!this.#admit(networkOf(address), now)) return tooManyQuestions(windowMs - (now % windowMs));
    if (this.#pending >= maxPending) return unanswered;
    this.#pending += 1;
    const pendingAnswer = this.#ask({ client, base }).catch((): OwnUsageAnswer => ({ kind: 'failed' }));
    void pendingAnswer.then(() => {
      this.#pending -= 1;
    });
    const answer = await withTimeout(this.#timeoutMs, pendingAnswer);
    if (answer.kind === 'known') return answer.body;
    return answer.kind === 'unknown' ? notAccepted : unanswered;
  }

  /** Counts a request for which the ledger is asked. False: there were too many such requests in this window. */
  #admit(network: string, now: number): boolean {
    const windowNumber = Math.floor(now / windowMs);
    if (windowNumber !== this.#windowNumber) {
      this.#windowNumber = windowNumber;
      this.#admittedCount = 0;
      this.#admittedByNetwork = new Map();
    }
    const admittedOfNetwork = this.#admittedByNetwork.get(network) ?? 0;
    if (this.#admittedCount >= maxPerWindow || admittedOfNetwork >= maxPerNetwork) return false;
    this.#admittedCount += 1;
    this.#admittedByNetwork.set(network, admittedOfNetwork + 1);
    return true;
  }
}

const notAccepted: Problem = { code: 'CLIENT_NOT_ACCEPTED' };
const unanswered: Problem = {
  code: 'LEDGER_UNANSWERED',
  detail: 'The usage of this client cannot be read at the moment.',
  fields: ['Retry-After', String(retryAfterS)],
};

function tooManyQuestions(waitMs: number): Problem {
  return { code: 'TOO_MANY_QUESTIONS', fields: ['Retry-After', String(Math.ceil(waitMs / 1000))] };
}

async function withTimeout(timeoutMs: number, pendingAnswer: Promise<OwnUsageAnswer>): Promise<OwnUsageAnswer> {
  const { promise, resolve } = Promise.withResolvers<OwnUsageAnswer>();
  const timer = setTimeout(() => resolve({ kind: 'failed' }), timeoutMs).unref();
  const answer = await Promise.race([pendingAnswer, promise]);
  clearTimeout(timer);
  return answer;
}
