/** @import { Status } from './types.js' */

/** An error response of the gateway, with its own text. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {{ code?: string, title?: string, detail?: string }} problem
   */
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `The gateway answered ${status}.`);
    this.status = status;
    this.code = problem.code;
  }
}

/**
 * @template Body
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<Body>}
 * @throws {ApiError} for a response other than 2xx
 * @throws {TypeError} without a response
 */
export async function getJson(path, signal) {
  const response = await fetch(path, { headers: { Accept: 'application/json' }, ...(signal && { signal }) });
  if (response.ok) return response.json();
  // The session has expired.
  if (response.status === 403) location.replace('/login');
  throw new ApiError(response.status, await response.json().catch(() => ({})));
}

/**
 * Sends a POST request. An error response does not throw, because the body of such a response depends on the call.
 * @param {string} path
 * @param {object} [body]
 * @param {AbortSignal} [signal]
 */
export async function post(path, body = {}, signal) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
  return { status: response.status, body: await response.json().catch(() => ({})) };
}

/**
 * `/api/usage` with its parameters.
 * @param {Record<string, string>} parameters
 * @param {string} [path]
 */
export function usageUrl(parameters, path = '/api/usage') {
  return `${path}?${new URLSearchParams(parameters)}`;
}

/** For responses that do not need the ledger. */
const defaultTimeoutMs = 10_000;
/** The gateway gives up a ledger query after 30 s in the queue and 30 s of work. */
export const ledgerTimeoutMs = 65_000;

/** Requests that replace each other: starting one aborts the one before it. */
export class LatestRequest {
  /** @type {AbortController|undefined} */
  #current;
  #timeoutMs;

  /** @param {number} [timeoutMs] */
  constructor(timeoutMs = defaultTimeoutMs) {
    this.#timeoutMs = timeoutMs;
  }

  /** @returns {{ readonly signal: AbortSignal, readonly isOutdated: boolean }} `isOutdated`: a later request was started */
  start() {
    this.#current?.abort();
    const controller = new AbortController();
    this.#current = controller;
    return {
      signal: AbortSignal.any([controller.signal, AbortSignal.timeout(this.#timeoutMs)]),
      get isOutdated() {
        return controller.signal.aborted;
      },
    };
  }
}

const retryAfterMs = { first: 2_000, longest: 30_000 };

/** Runs an action again after a failure. The delay doubles with each failure in a row. */
export class Retry {
  #action;
  #delayMs = retryAfterMs.first;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #timer;

  /** @param {() => void} action */
  constructor(action) {
    this.#action = action;
  }

  /** @param {unknown} error */
  failed(error) {
    clearTimeout(this.#timer);
    // Other error responses are not retried: the gateway would give the same answer again.
    if (error instanceof ApiError && error.code !== 'LEDGER_UNANSWERED') return;
    this.#timer = setTimeout(this.#action, this.#delayMs);
    this.#delayMs = Math.min(retryAfterMs.longest, this.#delayMs * 2);
  }

  succeeded() {
    clearTimeout(this.#timer);
    this.#delayMs = retryAfterMs.first;
  }
}

/** The gateway sends an event every 5 s. Three missing events mean that the connection is broken. */
const silenceMs = 15_000;
// The delay doubles with each failure. It varies at random, so that not all pages reconnect at once when a gateway comes back.
const reconnectAfterMs = { first: 1_000, longest: 30_000 };

/**
 * Reads `/api/events` while the page is visible, and reconnects whenever the stream ends. `admittedBy` is what admits this browser:
 * `session`, `token` or `machine` (its address).
 * @param {{ status(status: Status): void, access(admittedBy: string): void, lost(): void }} listener
 */
export function subscribeToStatus(listener) {
  /** @type {EventSource|undefined} */
  let source;
  /** For the next event, or for the next attempt to connect. @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;
  let delayMs = reconnectAfterMs.first;
  const disconnect = () => {
    clearTimeout(timer);
    source?.close();
    source = undefined;
  };
  const reconnect = () => {
    disconnect();
    listener.lost();
    timer = setTimeout(connect, delayMs * (0.75 + Math.random() / 2));
    delayMs = Math.min(reconnectAfterMs.longest, delayMs * 2);
  };
  const expectEvent = () => {
    clearTimeout(timer);
    timer = setTimeout(reconnect, silenceMs);
  };
  const connect = () => {
    disconnect();
    source = new EventSource('/api/events');
    expectEvent();
    source.addEventListener('error', reconnect);
    source.addEventListener('access', ({ data }) => listener.access(data));
    source.addEventListener('status', ({ data }) => {
      delayMs = reconnectAfterMs.first;
      expectEvent();
      listener.status(JSON.parse(data));
    });
  };
  // A browser opens at most six connections to an origin, for all its tabs together. Hidden pages must not occupy them.
  const followVisibility = () => {
    delayMs = reconnectAfterMs.first;
    if (document.hidden) disconnect();
    else connect();
  };
  followVisibility();
  document.addEventListener('visibilitychange', followVisibility);
  addEventListener('online', followVisibility);
  addEventListener('pagehide', disconnect);
  // A page restored from the back/forward cache is shown as it was, with its stream closed.
  addEventListener('pageshow', ({ persisted }) => persisted && followVisibility());
}
