import type { ProblemKind } from './kind.ts';

/** Why a sound request has no answer from its version's backend. */
export const upstreamProblems = {
  TARGET_FAILED: {
    status: 502,
    title: 'The upstream failed',
    proxyError: 'connection_terminated',
    detail: 'The connection to the version’s backend was lost before it answered.',
  },
  TARGET_REFUSED: {
    status: 502,
    title: 'The upstream cannot be reached',
    proxyError: 'connection_refused',
    detail: 'No connection to the version’s backend could be made.',
  },
  TARGET_UNTRUSTED: {
    status: 502,
    title: 'The upstream’s TLS failed',
    proxyError: 'tls_certificate_error',
    detail: 'The version’s backend was reached, but its certificate is not trusted, or it speaks no TLS.',
  },
  TARGET_MALFORMED: {
    status: 502,
    title: 'The upstream sent a malformed response',
    proxyError: 'http_protocol_error',
    detail: 'What the version’s backend sent is not a valid HTTP/1.1 response, so none of it is passed on.',
  },
  NO_HEALTHY_TARGET: {
    status: 503,
    title: 'No healthy target for this version',
    proxyError: 'destination_unavailable',
    detail: 'Every backend of this version is known to be down.',
  },
  OVERLOADED: {
    status: 503,
    title: 'Too many requests in flight',
    proxyError: 'connection_limit_reached',
    detail: 'A limit of `limits`, or that of open files, is reached. `Retry-After` says when to come back.',
  },
  CUT_OFF: {
    status: 503,
    title: 'The version was taken out of service',
    proxyError: 'connection_terminated',
    detail: 'The version’s backend, or the gateway itself, is being stopped, and `gateway.drain` was over first.',
  },
  CONNECT_TIMED_OUT: {
    status: 504,
    title: 'The upstream did not accept a connection in time',
    proxyError: 'connection_timeout',
    detail: 'No connection to the version’s backend was made within `timeouts.connect`.',
  },
  TARGET_TIMED_OUT: {
    status: 504,
    title: 'The upstream did not answer in time',
    proxyError: 'http_response_timeout',
    detail: 'The version’s backend was silent for longer than `timeouts.first_byte`.',
  },
} as const satisfies Record<string, ProblemKind>;
