import type { WireFailure } from '../http1/responseHandler.ts';
import type { ProblemCode } from '../problems/catalogue.ts';

/** Why an exchange failed on the wire, between the gateway and its target or its client. */
export interface Failure {
  readonly code: ProblemCode;
  /** Only `target` counts against the target's health. */
  readonly fault: 'client' | 'gateway' | 'target';
  /** For the log; never sent to a client. */
  readonly cause: string;
}

export const bodyTooLarge: Failure = {
  code: 'BODY_TOO_LARGE',
  fault: 'client',
  cause: 'the body is larger than limits.body',
};

export const cutOff: Failure = {
  code: 'CUT_OFF',
  fault: 'gateway',
  cause: 'not finished within gateway.drain',
};

/** Which side had to send or read when a timeout passed. */
export type AwaitedParty = 'target' | 'client';

export function failureOf({ kind, cause }: WireFailure, awaited: AwaitedParty): Failure {
  switch (kind) {
    case 'unreachable':
      return { code: 'TARGET_REFUSED', fault: 'target', cause };
    case 'exhausted':
      return { code: 'OVERLOADED', fault: 'gateway', cause };
    case 'untrusted':
      return { code: 'TARGET_UNTRUSTED', fault: 'target', cause };
    case 'connect-timeout':
      return { code: 'CONNECT_TIMED_OUT', fault: 'target', cause };
    case 'malformed':
      return { code: 'TARGET_MALFORMED', fault: 'target', cause };
    case 'lost':
      return { code: 'TARGET_FAILED', fault: 'target', cause };
    case 'timeout':
      if (awaited === 'client') return { code: 'REQUEST_TIMED_OUT', fault: 'client', cause };
      return { code: 'TARGET_TIMED_OUT', fault: 'target', cause };
  }
}
