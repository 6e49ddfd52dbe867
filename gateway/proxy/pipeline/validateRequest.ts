import { isAuthority } from '../../http1/grammar.ts';
import type { Problem } from '../../problems/problem.ts';
import { parseRequestTarget } from '../../routing/requestTarget.ts';
import { http } from '../../shared/builtinHttp.ts';
import { capitalized } from '../../shared/text.ts';
import type { Exchange, StepOutcome } from './exchange.ts';

const allowedMethods = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';
// Far more than any client sends, and few enough for loops over them.
const maxFields = 1000;
const supportedHttpVersions = new Set(['1.1', '1.0', '2']);
// The methods that the parser of HTTP/1.1 accepts. Requests of HTTP/2 are checked with this set.
const knownMethods = new Set(http.METHODS);

/** Parses the request target (RFC 9112 §3.2), and refuses what another server might read differently. */
export function parseTarget(exchange: Exchange): StepOutcome | undefined {
  const target = exchange.req.url ?? '';
  const isOptions = exchange.method === 'OPTIONS';
  if (isOptions && target === '*') {
    exchange.originForm = '*';
    return undefined;
  }
  if (exchange.method === 'CONNECT') return undefined;
  const parsed = parseRequestTarget(target);
  // A text is the reason why the target is refused.
  if (typeof parsed === 'string') {
    return {
      kind: 'problem',
      problem: { code: 'BAD_REQUEST', detail: `${capitalized(parsed)}.` },
      closesConnection: true,
    };
  }
  // In OPTIONS, an absolute URL without a path is the same as `*` (RFC 9112 §3.2.4).
  exchange.originForm = isOptions && /^https?:\/\/[^/?]+$/i.test(target) ? '*' : parsed.originForm;
  exchange.pathEnd = parsed.pathEnd;
  if (parsed.authority !== undefined) exchange.host = parsed.authority;
  return undefined;
}

/** Refuses messages that node:http accepts although they are ambiguous or too large. */
export function checkMessage(exchange: Exchange): StepOutcome | undefined {
  const problem = messageProblem(exchange);
  return problem && { kind: 'problem', problem, closesConnection: true };
}

function messageProblem({ req, fields, activeSnapshot, upgrade, targetSize, headSize }: Exchange): Problem | undefined {
  const { limits } = activeSnapshot.snapshot.gateway;
  if (!supportedHttpVersions.has(req.httpVersion)) return { code: 'HTTP_VERSION_UNSUPPORTED' };
  if (targetSize > limits.url) return { code: 'TARGET_TOO_LONG' };
  if (headSize > limits.head || fields.count > maxFields) return { code: 'HEAD_TOO_LARGE' };
  // RFC 9112 §3.2: exactly one Host field; in HTTP/1.0 it may be missing.
  if (fields.hostCount !== 1 && !(fields.hostCount === 0 && req.httpVersion === '1.0')) {
    return { code: 'BAD_REQUEST', detail: 'A request has exactly one Host field.' };
  }
  if (fields.hostCount === 1 && !isAuthority(fields.host)) {
    return { code: 'BAD_REQUEST', detail: 'The Host field is not a host with an optional port.' };
  }
  const transferEncoding = fields.transferEncoding?.toLowerCase();
  if (transferEncoding !== undefined) {
    // RFC 9112 §6.1: in HTTP/1.0, or together with Content-Length, the framing is ambiguous.
    if (req.httpVersion === '1.0' || fields.contentLength !== undefined || upgrade) {
      return {
        code: 'BAD_REQUEST',
        detail: 'Transfer-Encoding is not allowed in HTTP/1.0, with Content-Length or in an upgrade.',
      };
    }
    // RFC 9112 §6.1: an unknown coding is answered 501, like an unknown method.
    if (transferEncoding !== 'chunked') {
      return { code: 'METHOD_NOT_IMPLEMENTED', detail: 'The only transfer coding that is implemented is chunked.' };
    }
  }
  if (fields.contentLength !== undefined && !/^[0-9]+$/.test(fields.contentLength)) {
    return { code: 'BAD_REQUEST', detail: 'Content-Length is not one number.' };
  }
  // An upgrade over HTTP/2 (RFC 8441) may have a length. In HTTP/1.1, an upgrade with a body is handled as an ordinary request.
  if (upgrade && Number(fields.contentLength ?? 0) > 0) {
    return { code: 'BAD_REQUEST', detail: 'Content-Length is not allowed in an upgrade.' };
  }
  if (fields.expect !== undefined && req.httpVersion !== '1.0' && fields.expect.toLowerCase() !== '100-continue') {
    return { code: 'EXPECTATION_FAILED' };
  }
  return undefined;
}

/** CONNECT would make the gateway an open proxy, and TRACE would return fields that scripts must not read. */
export function refuseMethods({ method, req }: Exchange): StepOutcome | undefined {
  if (req.httpVersion === '2' && !knownMethods.has(method)) {
    return { kind: 'problem', problem: { code: 'METHOD_NOT_IMPLEMENTED' } };
  }
  if (method !== 'CONNECT' && method !== 'TRACE') return undefined;
  return {
    kind: 'problem',
    problem: { code: 'METHOD_NOT_ALLOWED', fields: ['Allow', allowedMethods] },
    closesConnection: true,
  };
}

/** Our own name in Via means that the request has come back (RFC 9110 §7.6.3). */
export function refuseLoops({ fields, context }: Exchange): StepOutcome | undefined {
  if (fields.via === '' || !fields.via.includes(context.pseudonym)) return undefined;
  return { kind: 'problem', problem: { code: 'LOOP' } };
}

/** The gateway itself answers `OPTIONS *`, and an OPTIONS whose Max-Forwards is 0 (RFC 9110 §7.6.2). */
export function answerOptions({ method, originForm, fields }: Exchange): StepOutcome | undefined {
  if (method !== 'OPTIONS' || (originForm !== '*' && !/^0+$/.test(fields.maxForwards ?? ''))) return undefined;
  return { kind: 'empty', status: 204, fields: ['Allow', allowedMethods] };
}

/** Refuses a body by its Content-Length before it is read. RequestBody counts the bytes of bodies without a length. */
export function limitBody({ fields, bodyLimit }: Exchange): StepOutcome | undefined {
  if (fields.contentLength === undefined || Number(fields.contentLength) <= bodyLimit) return undefined;
  return { kind: 'problem', problem: { code: 'BODY_TOO_LARGE' } };
}
