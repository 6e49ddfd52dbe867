import type { WireFailure } from '../http1/responseHandler.ts';
import type { ProblemCode } from '../problems/catalogue.ts';

/** Why an exchange failed on the wire, between the gateway and its target or its client. */
export interface Failure {
  readonly code: ProblemCode;
  /** Only `target` counts against the target's health. */
  readonly fault: 'client' | 'gateway' | 'target';
  /** False: nothing of the request was sent, so another target may get it. */
  readonly requestSent: boolean;
  /** For the log; never sent to a client. */
  readonly cause: string;
}

export const bodyTooLarge: Failure = {
  code: 'BODY_TOO_LARGE',
  fault: 'client',
  requestSent: true,
  cause: 'the body is larger than limits.body',
};

export const cutOff: Failure = {
  code: 'CUT_OFF',
  fault: 'gateway',
  requestSent: true,
  cause: 'not finished within gateway.drain',
};

/** Which side had to send or read when a timeout passed. */
export type AwaitedParty = 'target' | 'client';

export function failureOf({ kind, cause }: WireFailure, awaited: AwaitedParty): Failure {
  switch (kind) {
    case 'unreachable':
      return { code: 'TARGET_REFUSED', fault: 'target', requestSent: false, cause };
    case 'exhausted':
      return { code: 'OVERLOADED', fault: 'gateway', requestSent: false, cause };
    case 'untrusted':
      return { code: 'TARGET_UNTRUSTED', fault: 'target', requestSent: false, cause };
    case 'connect-timeout':
      return { code: 'CONNECT_TIMED_OUT', fault: 'target', requestSent: false, cause };
    case 'malformed':
      return { code: 'TARGET_MALFORMED', fault: 'target', requestSent: true, cause };
    case 'lost':
      return { code: 'TARGET_FAILED', fault: 'target', requestSent: true, cause };
    case 'timeout':
      if (awaited === 'client') return { code: 'REQUEST_TIMED_OUT', fault: 'client', requestSent: true, cause };
      return { code: 'TARGET_TIMED_OUT', fault: 'target', requestSent: true, cause };
  }
}
