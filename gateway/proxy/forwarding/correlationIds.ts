import { randomBytes, randomFillSync } from 'node:crypto';

// A request id is a random prefix of the process and a counter. So it is unique, and a request needs no random bytes.
const idPrefix = `${randomBytes(9).toString('base64url')}-`;
let idCount = 0;

const safeId = /^[\w.:=+/@-]{1,128}$/;

/** For X-Request-Id: the client's id if it is safe in logs and header fields, else a new one. */
export function requestIdFrom(received: string): string {
  if (received !== '' && safeId.test(received)) return received;
  idCount += 1;
  return idPrefix + idCount.toString(36);
}

// W3C Trace Context §3.2.2: a version other than ff, and ids that are not all zeros.
const validTraceparent = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;
const lengthOfVersion00 = 55;
const sampledFlag = 1;
/**
 * The trace id is random (Trace Context Level 2 §3.2.2.5.2). The flag is kept when the parent id is replaced; unknown flags are then
 * cleared.
 */
const randomFlag = 2;

// The `traceparent` values of 128 new traces are made at once, because a call for each would be the slowest part of this file. All
// of them are one text, and each is a slice of it. V8 would keep a text that is joined from pieces as a tree, and copy it slowly.
const emptyTraceparent = `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`;
const tracesAtOnce = 128;
const traceparentBytes = Buffer.from(emptyTraceparent.repeat(tracesAtOnce), 'latin1');
const randomIds = Buffer.alloc(tracesAtOnce * 24);
const hexDigits = Buffer.from('0123456789abcdef', 'latin1');
let traceparents = '';
let usedLength = 0;

/** The span of one exchange, which the gateway exports. */
export interface ServerSpan {
  readonly id: string;
  /** The span of the client; undefined: the trace begins here. */
  readonly parentId: string | undefined;
  /** The trace flags that targets receive, two hexadecimal digits. */
  readonly flags: string;
}

/**
 * The client's `traceparent` if it is valid, else that of a new trace. `sample`: the share of new traces that are marked as
 * sampled. Backends follow this flag (W3C Trace Context §3.2.2.5.1), and would trace nothing without it.
 */
export function traceparentFrom(received: string | undefined, sample = 1): string {
  if (
    received !== undefined &&
    validTraceparent.test(received) &&
    (!received.startsWith('00') || received.length === lengthOfVersion00)
  ) {
    return received;
  }
  const traceparent = newTraceparent();
  return sample >= 1 || isSampled(traceIdOf(traceparent), sample) ? traceparent : `${traceparent.slice(0, -2)}00`;
}

/** The trace that a valid `traceparent` belongs to. */
export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35);
}

function spanIdOf(traceparent: string): string {
  return traceparent.slice(36, 52);
}

/**
 * The span to record for a valid `traceparent`; undefined if its trace is not sampled. The span id in the `traceparent` of a new
 * trace becomes the id of the span. The span id in a client's `traceparent` becomes its parent id. `received`: the `traceparent` of
 * the client.
 */
export function serverSpanOf(traceparent: string, received: string | undefined): ServerSpan | undefined {
  const flags = Number.parseInt(traceparent.slice(53, 55), 16);
  if ((flags & sampledFlag) === 0) return undefined;
  const id = spanIdOf(traceparent);
  if (traceparent !== received) return { id, parentId: undefined, flags: '01' };
  return { id: spanIdOf(newTraceparent()), parentId: id, flags: `0${flags & (sampledFlag | randomFlag)}` };
}

/** The id of the span of an attempt, counted from 1. It follows from the server span, so it need not be stored. */
export function attemptSpanId({ id }: ServerSpan, attempt: number): string {
  const lastByte = (Number.parseInt(id.slice(14), 16) + attempt) & 0xff;
  return id.slice(0, 14) + lastByte.toString(16).padStart(2, '0');
}

/** The `traceparent` that a target receives: its spans become children of the attempt. */
export function traceparentOfAttempt(traceparent: string, span: ServerSpan, attempt: number): string {
  return `00-${traceIdOf(traceparent)}-${attemptSpanId(span, attempt)}-${span.flags}`;
}

// The threshold test of OpenTelemetry's probability sampler, which reads the last 56 bits; the first 32 of them are enough.
function isSampled(traceId: string, sample: number): boolean {
  return sample > 0 && Number.parseInt(traceId.slice(18, 26), 16) >= (1 - sample) * 2 ** 32;
}

/** The `traceparent` of a new trace that is sampled. */
function newTraceparent(): string {
  if (usedLength === traceparents.length) makeTraceparents();
  usedLength += emptyTraceparent.length;
  return traceparents.slice(usedLength - emptyTraceparent.length, usedLength);
}

function makeTraceparents(): void {
  randomFillSync(randomIds);
  let randomAt = 0;
  for (let traceAt = 0; traceAt < traceparentBytes.length; traceAt += emptyTraceparent.length) {
    writeHex(randomAt, 16, traceAt + 3);
    writeHex(randomAt + 16, 8, traceAt + 36);
    randomAt += 24;
  }
  traceparents = traceparentBytes.toString('latin1');
  usedLength = 0;
}

/** Writes `count` bytes of `randomIds`, beginning with index `from`, as hexadecimal digits to index `to` of `traceparentBytes`. */
function writeHex(from: number, count: number, to: number): void {
  for (let at = 0; at < count; at += 1) {
    const byte = randomIds[from + at] as number;
    traceparentBytes[to + at * 2] = hexDigits[byte >> 4] as number;
    traceparentBytes[to + at * 2 + 1] = hexDigits[byte & 15] as number;
  }
}
