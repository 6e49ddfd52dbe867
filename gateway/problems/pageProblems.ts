import type { ProblemKind } from './kind.ts';

/** Answers of the gateway's own pages: the public index and the admin listener. They proxy nothing. */
export const pageProblems = {
  FORBIDDEN: {
    status: 403,
    title: 'Not allowed from here',
    detail: 'The admin listener serves this machine, and whoever holds its token.',
  },
  NOT_FOUND: {
    status: 404,
    title: 'Nothing here',
    detail: 'Neither the public index nor the admin listener has anything under this path.',
  },
  NAME_CHANGED: {
    status: 409,
    title: 'The name was changed meanwhile',
    detail: 'Somebody else has named the client since it was read. `name` is its name now.',
  },
  NAME_NOT_SAVED: {
    status: 409,
    title: 'The name could not be saved',
    detail: 'The file of `usage.names` is absent or cannot be edited. `line` is what to add to it by hand.',
  },
  PRECONDITION_FAILED: {
    status: 412,
    title: 'Another version by now',
    detail: 'The contract does not match the conditions of the request.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    title: 'JSON is asked for',
    detail: 'Calls to the admin listener that change something are sent as application/json.',
  },
  TOO_MANY_ATTEMPTS: {
    status: 429,
    title: 'Too many wrong tokens',
    detail: 'The address has shown too many wrong admin tokens within a minute. `Retry-After` says when to come back.',
  },
  INTERNAL_ERROR: {
    status: 500,
    title: 'The gateway failed',
    proxyError: 'proxy_internal_error',
    detail: 'A page could not be made. The log says why.',
  },
  NO_LEDGER: {
    status: 503,
    title: 'No usage ledger is kept',
    detail: 'Who calls what is known to a gateway that keeps a ledger; this one does not.',
  },
  LEDGER_UNANSWERED: {
    status: 503,
    title: 'The usage ledger does not answer',
    detail: 'The question to the ledger took too long, or could not be answered. `Retry-After` says when to ask again.',
  },
  CONTRACT_UNREADABLE: {
    status: 503,
    title: 'The contract cannot be read',
    detail: 'The file of the contract is gone or unreadable at the moment.',
  },
} as const satisfies Record<string, ProblemKind>;
