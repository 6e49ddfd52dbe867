import { printable } from '../config/fault.ts';
import type { AdminTarget } from './adminTarget.ts';

/** The gateway that was to be asked gives no usable answer: its message, one line, says what to do about it. */
export class UnansweredError extends Error {
  override readonly name = 'UnansweredError';
}

/** The admin listener of a running gateway. Both throw UnansweredError. */
export interface Admin {
  /** @param patience ms until the answer must be complete */
  get(path: string, patience?: number): Promise<unknown>;
  post(path: string, body: object): Promise<unknown>;
}

const defaultPatience = 10_000;

// What they say is all there is to say: neither another release nor the log knows better.
const plainProblems: ReadonlySet<unknown> = new Set(['UNKNOWN_VERSION', 'NO_LEDGER']);

/** @throws UnansweredError for a token that cannot be sent */
export function adminAt({ origin, name, token }: AdminTarget): Admin {
  if (!/^[\x21-\x7e]*$/.test(token))
    throw new UnansweredError('ADMIN_TOKEN holds characters that no token has.  Set it to gateway.admin_token.');
  const headers = { accept: 'application/json', ...(token !== '' && { authorization: `Bearer ${token}` }) };
  const ask = async (path: string, patience: number, init: RequestInit): Promise<unknown> => {
    let response: Response;
    let text: string;
    try {
      // A token must not follow a redirect to somewhere else.
      response = await fetch(origin + path, { ...init, redirect: 'manual', signal: AbortSignal.timeout(patience) });
      text = await response.text();
    } catch (error) {
      const remedy = 'Is the gateway running, and is this its gateway.admin?  Name that with --admin host:port.';
      throw new UnansweredError(`${name} does not answer: ${reasonOf(error, patience)}.  ${remedy}`);
    }
    return answerOf(name, response, text, token !== '');
  };
  return {
    get: (path, patience = defaultPatience) => ask(path, patience, { headers }),
    post: (path, body) =>
      ask(path, defaultPatience, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  };
}

/** For answers that are JSON, but not of a gateway that this program knows. */
export function stranger(name: string): UnansweredError {
  const remedy = 'Name the gateway.admin of a running gateway of this release with --admin host:port.';
  return new UnansweredError(`${name} does not answer as the admin listener of a version-gateway.  ${remedy}`);
}

function answerOf(name: string, { status, ok }: Response, text: string, hasToken: boolean): unknown {
  if (status === 401 || status === 403) {
    const remedy =
      'Set ADMIN_TOKEN to its gateway.admin_token.  If it has none, ask from its own machine by a loopback address.';
    throw new UnansweredError(`${name} ${hasToken ? 'does not accept ADMIN_TOKEN' : 'wants a token'}.  ${remedy}`);
  }
  const answer = parsed(text);
  if (!isRecord(answer)) throw stranger(name);
  if (!ok) {
    const detail = typeof answer['detail'] === 'string' ? printable(answer['detail']) : 'It does not say why.';
    const isPlain = plainProblems.has(answer['code']);
    const remedy = isPlain
      ? ''
      : status === 404
        ? '  Is it a gateway of this release?'
        : status >= 500
          ? '  Look at its log.'
          : '';
    throw new UnansweredError(`${name} answered ${status}.  ${detail}${remedy}`);
  }
  return answer;
}

/** An object of JSON, whose fields are still to be looked at. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `fetch` hides the error of the socket in its cause. */
export function reasonOf(error: unknown, patience: number): string {
  if (!(error instanceof Error)) return 'unknown error';
  if (error.name === 'TimeoutError') return `no answer within ${patience / 1000} s`;
  const { cause } = error;
  if (!(cause instanceof Error)) return printable(error.message);
  return 'code' in cause ? String(cause.code) : printable(cause.message);
}
