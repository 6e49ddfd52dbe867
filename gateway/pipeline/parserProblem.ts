import type { Problem } from '../problems/problem.ts';

/** What node's parser says of the bytes that it gave up on. */
export interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

export function problemFor(error: ParserError): Problem {
  switch (error.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { code: 'REQUEST_TIMED_OUT' };
    case 'HPE_HEADER_OVERFLOW':
      return { code: withinFirstLine(error) ? 'TARGET_TOO_LONG' : 'HEAD_TOO_LARGE' };
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return { code: 'BODY_TOO_LARGE', detail: 'The chunk extensions are too long.' };
    case 'HPE_INVALID_VERSION':
      return { code: hasLine(error, /^\S+ \S+ HTTP\/[0-9]\.[0-9]\r$/) ? 'HTTP_VERSION_UNSUPPORTED' : 'BAD_REQUEST' };
    case 'HPE_INVALID_METHOD':
      // A method that nobody knows, rather than bytes that are no request line at all.
      return {
        code: hasLine(error, /^[\w!#$%&'*+\-.^`|~]+ \S+ HTTP\/1\.[01]\r$/) ? 'METHOD_NOT_IMPLEMENTED' : 'BAD_REQUEST',
      };
    default:
      return { code: 'BAD_REQUEST' };
  }
}

/** Whether the line that the parser stopped in, as far as its packet holds it, is of this form. */
function hasLine({ rawPacket, bytesParsed = 0 }: ParserError, form: RegExp): boolean {
  const text = rawPacket?.toString('latin1') ?? '';
  const line = text.slice(text.lastIndexOf('\n', Math.max(bytesParsed - 1, 0)) + 1).split('\n', 1)[0] ?? '';
  return form.test(line);
}

function withinFirstLine({ rawPacket, bytesParsed }: ParserError): boolean {
  const before = rawPacket?.toString('latin1').slice(0, bytesParsed) ?? '';
  return !before.includes('\n');
}
