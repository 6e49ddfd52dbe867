import type { ProblemKind } from './kind.ts';

/** What is wrong with a request, or with where it wants to go. */
export const requestProblems = {
  UNKNOWN_VERSION: {
    status: 404,
    title: 'No such API version',
    proxyError: 'destination_not_found',
    detail: 'The path does not begin with a version that is served here. `versions` lists those that are.',
  },
  VERSION_RETIRED: {
    status: 410,
    title: 'This API version is retired',
    proxyError: 'http_request_denied',
    detail: 'This major is no longer served. `successor` is the version to move to.',
  },
  BAD_REQUEST: {
    status: 400,
    title: 'Malformed request',
    proxyError: 'http_request_error',
    detail: 'The message is not valid HTTP/1.1, or can be read in two ways.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    title: 'Method not allowed',
    proxyError: 'http_request_denied',
    detail:
      'CONNECT and TRACE are not served by a gateway, and its own pages can be read only. `Allow` lists the rest.',
  },
  REQUEST_TIMED_OUT: {
    status: 408,
    title: 'The request did not arrive in time',
    proxyError: 'http_request_error',
    detail: 'The head or the body of the request stopped arriving.',
  },
  BODY_TOO_LARGE: {
    status: 413,
    title: 'Request body too large',
    proxyError: 'http_request_denied',
    detail: 'The body is longer than `limits.body` of this version.',
  },
  TARGET_TOO_LONG: {
    status: 414,
    title: 'URL too long',
    proxyError: 'http_request_denied',
    detail: 'The request target is longer than `gateway.limits.url`.',
  },
  EXPECTATION_FAILED: {
    status: 417,
    title: 'Unknown expectation',
    proxyError: 'http_request_denied',
    detail: 'The only expectation of RFC 9110 is `100-continue`.',
  },
  HEAD_TOO_LARGE: {
    status: 431,
    title: 'Request header fields too large',
    proxyError: 'http_request_denied',
    detail: 'The header fields are longer than `gateway.limits.head`, or there are too many of them.',
  },
  METHOD_NOT_IMPLEMENTED: {
    status: 501,
    title: 'Method not implemented',
    proxyError: 'http_request_denied',
    detail: 'The gateway does not know this method and cannot tell how it frames its message.',
  },
  HTTP_VERSION_UNSUPPORTED: {
    status: 505,
    title: 'HTTP version not supported',
    proxyError: 'http_request_denied',
    detail: 'HTTP/1.1 and HTTP/1.0 are served on this port.',
  },
  LOOP: {
    status: 508,
    title: 'Loop detected',
    proxyError: 'proxy_loop_detected',
    detail: 'The request has been through this gateway already: one of its targets leads back to it.',
  },
} as const satisfies Record<string, ProblemKind>;
