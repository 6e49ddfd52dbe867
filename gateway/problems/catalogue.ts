/** A kind of error that the gateway answers itself. */
export interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** Error type of Proxy-Status (RFC 9209 §2.3); absent if none fits. */
  readonly proxyError?: string;
  /** What went wrong and what to do about it, for the body and for docs/problems.md. */
  readonly detail: string;
}

/** Every error that the gateway answers itself, by its stable code. */
export const catalogue = {
  // Errors of the request.
  UNKNOWN_VERSION: {
    status: 404,
    title: 'No such API version',
    proxyError: 'destination_not_found',
    detail: 'The path does not begin with a configured version. `versions` lists them.',
  },
  VERSION_RETIRED: {
    status: 410,
    title: 'This API version is retired',
    proxyError: 'http_request_denied',
    detail: 'This major is no longer served. `successor` is the version to move to.',
  },
  VERSION_FROZEN: {
    status: 403,
    title: 'This API version accepts no new clients',
    proxyError: 'http_request_denied',
    detail:
      'This major is frozen: it serves the clients that it had before `frozen_since`, and this client is not one of them. `successor` is the version to use.',
  },
  VERSION_BROWNOUT: {
    status: 503,
    title: 'This API version is refused for a limited time',
    proxyError: 'http_request_denied',
    detail:
      'An announced brownout refuses this request on purpose, because the version will end. It is served again at `ends_at`; `next` is the start of the next brownout. `successor` is the version to move to.',
  },
  ROUTE_NOT_ADAPTED: {
    status: 410,
    title: 'This API version no longer has the route',
    proxyError: 'http_request_denied',
    detail:
      'The version is served by the backend of another version, and its adapter does not have this route. `reason` says why, and `successor` is the version to move to.',
  },
  BAD_REQUEST: {
    status: 400,
    title: 'Malformed request',
    proxyError: 'http_request_error',
    detail: 'The message is not valid HTTP, or can be read in two ways.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    title: 'Method not allowed',
    proxyError: 'http_request_denied',
    detail:
      'The gateway refuses TRACE, and CONNECT unless it opens a WebSocket over HTTP/2. The pages of the gateway are read-only. `Allow` lists the allowed methods.',
  },
  REQUEST_TIMED_OUT: {
    status: 408,
    title: 'The request did not arrive in time',
    proxyError: 'http_request_error',
    detail: 'The head or the body of the request took too long to arrive.',
  },
  BODY_TOO_LARGE: {
    status: 413,
    title: 'Request body too large',
    proxyError: 'http_request_denied',
    detail: 'The body is longer than `limits.body` of this version, or than `body` of its adapter.',
  },
  // Only in this code, `TARGET` is the request target. In the others it is a backend.
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
    detail: 'The field `Expect` has a value other than `100-continue`, the only expectation that RFC 9110 defines.',
  },
  HEAD_TOO_LARGE: {
    status: 431,
    title: 'Request header fields too large',
    proxyError: 'http_request_denied',
    detail: 'The head of the request is longer than `gateway.limits.head`, or it has too many header fields.',
  },
  METHOD_NOT_IMPLEMENTED: {
    status: 501,
    title: 'Method not implemented',
    proxyError: 'http_request_denied',
    detail: 'The gateway does not know the method or the transfer coding, so it cannot tell where the message ends.',
  },
  HTTP_VERSION_UNSUPPORTED: {
    status: 505,
    title: 'HTTP version not supported',
    proxyError: 'http_request_denied',
    detail: 'This version of HTTP is not served here.',
  },
  LOOP: {
    status: 508,
    title: 'Loop detected',
    proxyError: 'proxy_loop_detected',
    detail: 'The request has already passed through this gateway: a target of the version leads back to the gateway.',
  },
  // Errors between the gateway and the backend of the version.
  TARGET_FAILED: {
    status: 502,
    title: 'The upstream failed',
    proxyError: 'connection_terminated',
    detail: 'The connection to the version’s backend was lost before it answered.',
  },
  TARGET_UNRESOLVED: {
    status: 502,
    title: 'The name of the upstream does not resolve',
    proxyError: 'dns_error',
    detail:
      'The host name of the version’s backend has no address, or it could not be resolved. No other host was asked.',
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
    detail: 'The version’s backend was reached, but its certificate is not trusted, or it does not use TLS.',
  },
  TARGET_MALFORMED: {
    status: 502,
    title: 'The upstream sent a malformed response',
    proxyError: 'http_protocol_error',
    detail: 'The version’s backend sent an invalid HTTP/1.1 response, so no part of the response is passed on.',
  },
  ADAPTER_FAILED: {
    status: 502,
    title: 'The response could not be adapted to this version',
    proxyError: 'http_protocol_error',
    detail:
      'The version is served by the backend of another version. Its response could not be changed into a response that the contract of this version allows. `pointer` is the place in the body.',
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
    detail:
      'A limit is reached: one of `limits`, the limit of open files, or the limit of pipelined requests. `Retry-After` says when to try again.',
  },
  CUT_OFF: {
    status: 503,
    title: 'The version was taken out of service',
    proxyError: 'connection_terminated',
    detail:
      'The version was retired, its backend was removed or the gateway is stopping, and the request took longer than `gateway.drain`.',
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
    detail: 'The version’s backend sent no response within `timeouts.first_byte`.',
  },
  // Errors of the public index and of the admin listener.
  FORBIDDEN: {
    status: 403,
    title: 'Not allowed from here',
    detail:
      'The admin listener requires `gateway.admin_token`. If no token is set, it accepts only calls from its own machine.',
  },
  CLIENT_NOT_ACCEPTED: {
    status: 403,
    title: 'No key that a backend has accepted',
    detail:
      'This page requires a secret key, as in `usage.identify`. A backend must have answered 2xx to an earlier request with this key.',
  },
  TOO_MANY_QUESTIONS: {
    status: 429,
    title: 'Too many requests for this page',
    detail:
      'Too many requests for `/versions/me` came from this network, or from all networks together. `Retry-After` says when to try again.',
  },
  NOT_FOUND: {
    status: 404,
    title: 'Not found',
    detail: 'Neither the public index nor the admin listener has a page at this path.',
  },
  UNKNOWN_ROUTE: {
    status: 404,
    title: 'No such route',
    detail: 'Neither the contract nor `ends` of the version lists the route, and no client has used it.',
  },
  ROUTE_ENDED: {
    status: 409,
    title: 'The route has ended with its version',
    detail: 'The version is retired or no longer in routes.yaml, so there is no verdict about a single route.',
  },
  NAME_CHANGED: {
    status: 409,
    title: 'The name of the client was changed meanwhile',
    detail: 'Another user has renamed the client since its name was read. `name` is its current name.',
  },
  NOT_FORGOTTEN: {
    status: 409,
    title: 'There is no such silent gateway',
    detail: 'The command `fleet forget` marks only silent gateways as gone.',
  },
  NAME_NOT_SAVED: {
    status: 409,
    title: 'The name could not be saved',
    detail: 'The file of `usage.names` is missing or cannot be edited. `line` is the line to add to it by hand.',
  },
  PRECONDITION_FAILED: {
    status: 412,
    title: 'Precondition failed',
    detail: 'The contract was requested with a condition, such as `If-Match`, that the current contract does not meet.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    title: 'JSON is required',
    detail:
      'Admin requests with an effect, and requests whose body an adapter changes, must have the content type application/json.',
  },
  TOO_MANY_ATTEMPTS: {
    status: 429,
    title: 'Too many wrong tokens',
    detail: 'Too many wrong admin tokens came from this address within a minute. `Retry-After` says when to try again.',
  },
  INTERNAL_ERROR: {
    status: 500,
    title: 'The gateway failed',
    proxyError: 'proxy_internal_error',
    detail: 'A page or an answer could not be created. The log has the reason.',
  },
  NO_LEDGER: {
    status: 503,
    title: 'No usage ledger',
    detail: 'This gateway keeps no usage ledger, so it has no data about clients.',
  },
  NO_BROWNOUT: {
    status: 409,
    title: 'There is no such brownout to stop',
    detail: 'No brownout of the version is running, or the one that was named is over.',
  },
  NO_SHADOW: {
    status: 409,
    title: 'There is no such shadow',
    detail: 'The version has no shadow, or its shadow cannot be stopped: it is over or was stopped before.',
  },
  NO_DRIFT: {
    status: 409,
    title: 'There is no such drift comparison to stop',
    detail: 'The version has no `drift`, or its comparison is over or was stopped before.',
  },
  NO_FLEET: {
    status: 503,
    title: 'No fleet',
    detail: 'This gateway is not part of a fleet: its `routes.yaml` has no `fleet.store`.',
  },
  NO_RECEIVER: {
    status: 409,
    title: 'No receiver',
    detail: 'The `routes.yaml` of this gateway has no `notify`, so it sends no notifications.',
  },
  STORE_UNANSWERED: {
    status: 503,
    title: 'The shared store does not answer',
    detail: 'The PostgreSQL database of the fleet cannot be reached at the moment.',
  },
  LEDGER_UNANSWERED: {
    status: 503,
    title: 'The usage ledger does not answer',
    detail: 'The query took too long or failed. `Retry-After` says when to try again.',
  },
  CONTRACT_UNREADABLE: {
    status: 503,
    title: 'The contract cannot be read',
    detail: 'The contract file is missing or cannot be read at the moment.',
  },
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof catalogue;
