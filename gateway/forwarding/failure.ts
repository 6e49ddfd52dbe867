import type { WireFailure } from '../http1/responseHandler.ts';
import type { ProblemCode } from '../problems/catalogue.ts';

/** What went wrong between us and a target, or us and the client, said once. */
export interface Failure {
  readonly code: ProblemCode;
  /** Only a target's own fault counts against its health. */
  readonly fault: 'client' | 'gateway' | 'target';
  /** False: not a byte of the request has left, so another target may have it. */
  readonly requestSent: boolean;
  /** For the log; never shown to a client. */
  readonly cause: string;
}

export const bodyTooLarge: Failure = {
  code: 'BODY_TOO_LARGE',
  fault: 'client',
  requestSent: true,
  cause: 'over limits.body',
};

export const cutOff: Failure = { code: 'CUT_OFF', fault: 'gateway', requestSent: true, cause: 'over gateway.drain' };

/** What a connection was waiting for when its time was up. */
export type Waited = 'target' | 'client';

export function classify({ kind, cause }: WireFailure, waited: Waited): Failure {
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
      if (waited === 'client') return { code: 'REQUEST_TIMED_OUT', fault: 'client', requestSent: true, cause };
      return { code: 'TARGET_TIMED_OUT', fault: 'target', requestSent: true, cause };
  }
}
