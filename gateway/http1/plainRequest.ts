import { checkedLowerCased } from './grammar.ts';

/** The head of a request in the plain form. This parser and node's parser read it in the same way. */
export interface PlainRequest {
  readonly method: string;
  /** In origin-form. */
  readonly target: string;
  /** Alternating names and values, in order. */
  readonly fields: readonly string[];
  /** 0 without Content-Length. */
  readonly contentLength: number;
  /** In bytes, blank line included. */
  readonly headLength: number;
}

// Below the limit of node's parser, whatever the configured limits are.
const maxHeadBytes = 8 * 1024;
const requestLine = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) (\/[\w~!$&'()*+,;=:@%./?-]*) HTTP\/1\.1\r\n/;
const commonMethods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'];
// Anything except visible ASCII, spaces and CRLF.
const unusual = /[^\x20-\x7e\r\n]|\r(?!\n)|(?<!\r)\n/;
const digits = /^[0-9]{1,15}$/;
const space = 0x20;

/**
 * Parses a head in the most common form. Undefined for every other input, which is not necessarily invalid: node's parser
 * decides about it. docs/decisions/0024 has the grammar. `length`: the number of bytes in `buffer`.
 */
export function parsePlainRequest(buffer: Buffer, length: number): PlainRequest | undefined {
  const text = buffer.toString('latin1', 0, Math.min(length, maxHeadBytes));
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const head = text.slice(0, headEnd + 2);
  const lineMatch = requestLine.exec(head);
  if (!lineMatch || unusual.test(head)) return undefined;

  const fields: string[] = [];
  let contentLength = '';
  let hostCount = 0;
  let lineEnd = 0;
  for (let start = lineMatch[0].length; start < head.length; start = lineEnd + 2) {
    lineEnd = head.indexOf('\r\n', start);
    const colon = head.indexOf(':', start);
    if (colon === -1 || colon > lineEnd) return undefined;
    const name = head.slice(start, colon);
    const lower = checkedLowerCased(name);
    if (lower === undefined) return undefined;
    const valueStart = head.charCodeAt(colon + 1) === space ? colon + 2 : colon + 1;
    // One space before a value is usual. Parsers remove other white space around a value in different ways.
    const hasOtherSpace = head.charCodeAt(valueStart) === space || head.charCodeAt(lineEnd - 1) === space;
    const isEmpty = valueStart >= lineEnd;
    if (hasOtherSpace && !isEmpty) return undefined;
    const value = head.slice(valueStart, lineEnd);
    switch (lower) {
      case 'host':
        hostCount += 1;
        break;
      case 'content-length':
        if (contentLength !== '' || !digits.test(value)) return undefined;
        contentLength = value;
        break;
      case 'connection':
        if (value.toLowerCase() !== 'keep-alive') return undefined;
        break;
      case 'transfer-encoding':
      case 'upgrade':
      case 'expect':
      case 'trailer':
      case 'http2-settings':
      // llhttp treats `Proxy-Connection` like `Connection`.
      case 'proxy-connection':
        return undefined;
    }
    fields.push(name, value);
  }
  if (hostCount !== 1) return undefined;
  const [, method = '', target = ''] = lineMatch;
  return { method: constantOf(method), target, fields, contentLength: Number(contentLength), headLength: headEnd + 4 };
}

/** The same method as a string that V8 has hashed already, because each request looks it up several times. */
function constantOf(method: string): string {
  for (const one of commonMethods) if (one === method) return one;
  return method;
}
