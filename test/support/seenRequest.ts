import { type Field, parseChunked } from './response.ts';

/** A request as the backend received it. Text is latin1. */
export interface SeenRequest {
  readonly raw: string;
  readonly method: string;
  readonly target: string;
  readonly version: string;
  readonly lines: readonly string[];
  readonly fields: readonly Field[];
  readonly body: string;
  readonly framing: 'none' | 'length' | 'chunked';
  /** Counted from 0, per backend. */
  readonly connection: number;
  /** Counted from 0, per connection. */
  readonly index: number;
}

/** Lenient on purpose, like a backend that accepts smuggled requests. */
export function parseRequestHead(bytes: string, connection: number, index: number): SeenRequest | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...lines] = bytes.slice(0, end).split('\r\n');
  const [method = '', target = '', version = ''] = first.split(' ');
  const fields = lines.map((line): Field => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  const raw = bytes.slice(0, end + 4);
  const named = (name: string) => fields.find(([each]) => each.toLowerCase() === name)?.[1];
  const coded = /chunked/i.test(named('transfer-encoding') ?? '');
  const framing = coded ? 'chunked' : named('content-length') === undefined ? 'none' : 'length';
  return { raw, method, target, version, lines, fields, body: '', framing, connection, index };
}

/** The whole request; undefined until its body is complete. */
export function withBody(head: SeenRequest, bytes: string): SeenRequest | undefined {
  const after = bytes.slice(head.raw.length);
  if (head.framing === 'none') return head;
  if (head.framing === 'chunked') {
    const parsed = parseChunked(after);
    return parsed && { ...head, body: parsed.content.body, raw: bytes.slice(0, bytes.length - parsed.rest.length) };
  }
  const length = Number(head.fields.find(([name]) => name.toLowerCase() === 'content-length')?.[1]);
  if (after.length < length) return undefined;
  return { ...head, body: after.slice(0, length), raw: bytes.slice(0, head.raw.length + length) };
}
