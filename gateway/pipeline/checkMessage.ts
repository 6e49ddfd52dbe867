import { isAuthority } from '../http1/grammar.ts';
import type { Problem } from '../problems/problem.ts';
import type { Exchange } from './exchange.ts';
import type { StepOutcome } from './steps.ts';

// Far above what any client sends, and far below what it takes to make a loop over them felt.
const maxFields = 1000;

/** What node:http lets through although it can be read in two ways, or is larger than allowed. */
export function checkMessage(exchange: Exchange): StepOutcome | undefined {
  const problem = problemOf(exchange);
  return problem && { kind: 'problem', problem, closes: true };
}

function problemOf({ req, fields, live, upgrade }: Exchange): Problem | undefined {
  const { limits } = live.snapshot.gateway;
  if (req.httpVersionMajor !== 1 || req.httpVersionMinor > 1) return { code: 'HTTP_VERSION_UNSUPPORTED' };
  if ((req.url as string).length > limits.url) return { code: 'TARGET_TOO_LONG' };
  if (fields.size + (req.url as string).length > limits.head || fields.count > maxFields)
    return { code: 'HEAD_TOO_LARGE' };
  // RFC 9112 §3.2: exactly one, save that HTTP/1.0 may do without.
  if (fields.hosts !== 1 && !(fields.hosts === 0 && req.httpVersionMinor === 0)) {
    return { code: 'BAD_REQUEST', detail: 'A request has exactly one Host field.' };
  }
  if (fields.hosts === 1 && !isAuthority(fields.host)) {
    return { code: 'BAD_REQUEST', detail: 'The Host field is not a host with an optional port.' };
  }
  const transferEncoding = fields.transferEncoding?.toLowerCase();
  if (transferEncoding !== undefined) {
    // RFC 9112 §6.1: with HTTP/1.0, or with a length as well, the framing is faulty.
    if (req.httpVersionMinor === 0 || fields.contentLength !== undefined || upgrade) {
      return { code: 'BAD_REQUEST', detail: 'Transfer-Encoding does not go with the rest of this message.' };
    }
    if (transferEncoding !== 'chunked') {
      return { code: 'METHOD_NOT_IMPLEMENTED', detail: 'The only transfer coding that is implemented is chunked.' };
    }
  }
  if (fields.contentLength !== undefined && !/^[0-9]+$/.test(fields.contentLength)) {
    return { code: 'BAD_REQUEST', detail: 'Content-Length is not one number.' };
  }
  if (fields.expect !== undefined && req.httpVersionMinor === 1 && fields.expect.toLowerCase() !== '100-continue') {
    return { code: 'EXPECTATION_FAILED' };
  }
  return undefined;
}
