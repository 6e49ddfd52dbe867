import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { Duplex } from 'node:stream';
import type { UpstreamTimeouts } from '../../config/snapshot.ts';
import type { ResponseHead } from '../../http1/responseHead.ts';
import type { WireFailure } from '../../http1/responseReader.ts';
import type { ProblemCode } from '../../problems/catalogue.ts';
import type { Problem } from '../../problems/problem.ts';
import type { AttemptRecord } from '../../usage/observability/exchangeRecord.ts';
import type { RetryTarget } from '../upstream/pool.ts';
import type { Target } from '../upstream/target.ts';
import type { ConnectionLoad } from '../upstream/targetLimits.ts';
import type { ServerSpan } from './correlationIds.ts';
import type { PendingUpgrade } from './pendingUpgrade.ts';
import type { RenderedHead } from './renderedHead.ts';
import type { RequestFields } from './requestHead.ts';
import type { ResponsePlan } from './responseFields.ts';

/**
 * A request of a client, in the form of HTTP/1.1. An `IncomingMessage` of node:http has this form. The fast lane and HTTP/2 have
 * classes with the same form.
 */
export interface IncomingRequest {
  readonly method?: string | undefined;
  /** The request target, as received. */
  readonly url?: string | undefined;
  /**
   * `1.0`, `1.1`, or `2` for HTTP/2. Other values are refused, such as `2.0`: node's parser accepts `HTTP/2.0` in a request
   * line.
   */
  readonly httpVersion: string;
  /** Alternating names and values, as received. */
  readonly rawHeaders: readonly string[];
  readonly socket: Socket;
  /** The whole body has been received. The gateway may not have read all of it yet. */
  readonly complete: boolean;
  /** The whole body as latin1 text, if it arrived together with the head. There are no events for it. */
  readonly wholeBody?: string | undefined;
  /** The load of its connection, if that carries several requests at the same time. */
  readonly connectionLoad?: ConnectionLoad | undefined;
  /** The body is read as soon as there is a listener for `data`. */
  on(event: 'data', listener: (chunk: Buffer) => void): this;
  on(event: 'end', listener: () => void): this;
  off(event: 'data', listener: (chunk: Buffer) => void): this;
  off(event: 'end', listener: () => void): this;
  pause(): this;
  /** Without listeners, the rest of the body is discarded. */
  resume(): this;
}

/** With an error: the connection is lost. */
export type WriteListener = (error?: Error | null) => void;

/** The response to a client, in the form of a `ServerResponse` of node:http. Text of heads and bodies is latin1. */
export interface OutgoingResponse {
  readonly headersSent: boolean;
  readonly statusCode: number;
  /** Null before the response may be written, after it is complete, and in HTTP/2, where responses share a connection. */
  readonly socket: Socket | null;
  /** Complete, and accepted by the kernel. */
  readonly writableFinished: boolean;
  readonly destroyed: boolean;
  /** False: the connection is closed after this response; in HTTP/2, after the streams that are open. */
  shouldKeepAlive: boolean;
  /** `fields`: alternating names and values. The response adds Date, and the fields of its connection. */
  writeHead(status: number, fields: string[]): unknown;
  writeHead(status: number, reason: string, fields: string[]): unknown;
  /** Like `writeHead`, with `links` as the values of Link fields. Only responses of the fast lane have it. */
  writeRendered?(head: RenderedHead, links: readonly string[]): void;
  writeContinue(): void;
  /** Absent in node:http before Node 26.2. */
  writeInformation?(status: number, fields: string[]): void;
  /** Undocumented, only in node:http: writes text before the head, after the responses to earlier pipelined requests. */
  _writeRaw?(text: string, encoding: 'latin1'): unknown;
  /** `onWritten`: called when the kernel has accepted all of `chunk`, which must not change until then. */
  write(chunk: Buffer, onWritten?: WriteListener): unknown;
  /** Sends the head. */
  write(text: '', encoding: 'latin1'): unknown;
  /** How many written bytes the kernel has not accepted. */
  readonly writableLength: number;
  /** After `end`: destroys the response unless the kernel accepts the rest within `ms`. Absent: the caller has to do this. */
  setUnsentTimeout?(ms: number): void;
  addTrailers(trailers: [name: string, value: string][]): void;
  end(text?: string, encoding?: BufferEncoding): unknown;
  /** Closes the connection; in HTTP/2, resets the stream. */
  destroy(): unknown;
  /** For a tunnel, which uses the socket itself. */
  detachSocket(socket: Socket): void;
  /** Opens a tunnel in HTTP/2, which has no 101: answers 200 and returns the stream (RFC 8441 §5). */
  openStream?(fields: readonly string[]): Duplex;
  /** A field that an application set before. */
  getHeader(name: string): string | number | readonly string[] | undefined;
  appendHeader(name: string, value: string): unknown;
  /** `close`: the response is complete, or the client has disconnected. Always the last event. */
  on(event: 'close', listener: () => void): this;
  once(event: 'close', listener: () => void): this;
  emit(event: 'close'): boolean;
}

/** Sees the response of a target while it is passed on. */
export interface ResponseObserver {
  /** The head of the final response, as received. */
  onHead(head: ResponseHead): void;
  /** A part of the body, which is valid only during the call. Text is latin1. */
  onBody(part: Buffer | string): void;
  /** The target has sent all of the response. */
  onComplete(): void;
  /** The exchange has ended. `isDelivered`: the client has the whole response. */
  onClose(isDelivered: boolean): void;
}

/** What forwarding needs from an exchange. */
export interface Outbound {
  readonly req: IncomingRequest;
  readonly res: OutgoingResponse;
  readonly method: string;
  readonly target: Target;
  /** The request head to send, blank line included. */
  readonly head: string;
  readonly hasBody: boolean;
  /** The whole body to send, as latin1 text; undefined: it is sent as it arrives. */
  readonly wholeBody: string | undefined;
  /** Undefined for nearly all exchanges: the body is passed on as it is. */
  readonly adaptation: Adaptation | undefined;
  /** The body is sent in chunks, because it has no Content-Length. */
  readonly hasChunkedBody: boolean;
  /** The largest request body, in bytes. */
  readonly bodyLimit: number;
  /** How many connections may be tried, the first one included. */
  readonly attempts: number;
  readonly timeouts: UpstreamTimeouts;
  /** How long a client may pause within its body, ms; 0: no limit. */
  readonly bodyIdle: number;
  /** The gateway is stopping: the client connection closes after this response. */
  readonly isGatewayStopping: boolean;
  /** The client sends its body only after a 100 (Continue). */
  readonly expectsContinue: boolean;
  /** Set if the client asked to switch protocols. */
  readonly upgrade: PendingUpgrade | undefined;
  readonly stats: ExchangeStats;
  /** Undefined: no span of the exchange is exported. */
  readonly span: ServerSpan | undefined;
  /** Undefined for nearly all exchanges. */
  readonly observer: ResponseObserver | undefined;
  /** Counts the exchange towards the limit of its target. */
  occupyTarget(): void;
  /** The exchange no longer counts towards the limit. */
  releaseTarget(): void;
  /**
   * The target has failed: replaces `target`, which the exchange occupies, by the one for the retry, which may be the same. False: no
   * retry, because the budget is used up, no target may be used, or `where` is `elsewhere` and there is no other target.
   */
  replaceTarget(where: RetryTarget): boolean;
  /** How the fields of the response are changed for the client. */
  responsePlan(): ResponsePlan;
  /** Answers with a problem. Nothing has been sent to the client yet. */
  onFailure(failure: Failure): void;
  /** A 101 was sent. */
  onSwitched(): void;
  onTunnelClosed(): void;
}

/** How an exchange is adapted: the backend serves another version of the API, or the client asks for unknown members. */
export interface Adaptation {
  /** Whether the whole request body is read and changed before the request is sent. */
  readonly readsBody: boolean;
  /** Changes the request body. Returns a failure if the body cannot be changed. */
  adaptRequestBody(body: Buffer): Failure | undefined | Promise<Failure | undefined>;
  /** `pass`: the body is passed on as it arrives. `whole`: `adaptBody` changes it. */
  bodyHandling(head: ResponseHead): 'pass' | 'whole' | Failure;
  /** The head for the client. `length`: the length of the changed body; undefined: the body is passed on, or there is none. */
  adaptHead(head: ResponseHead, length?: number): ResponseHead;
  /**
   * Returns the changed body. It is a promise if another thread changes the body, or while the validator of the contract is being
   * loaded. A body that is a string is latin1: one character for each byte.
   */
  adaptBody(head: ResponseHead, body: Buffer | string): Buffer | string | Failure | Promise<Buffer | string | Failure>;
  /**
   * Reserves memory for further `bytes` of a body, as they arrive. Undefined: they are reserved. If this body, or all such bodies together,
   * are too large, returns `pass` to pass the response on unchanged, or the failure with which the exchange ends.
   */
  reserveMemory(bytes: number): Failure | 'pass' | undefined;
}

/** An adaptation from the request to the end of its exchange. */
export interface ExchangeAdaptation extends Adaptation {
  /** The method for the backend. */
  readonly method: string;
  /** The request fields for the backend. */
  readonly fields: RequestFields;
  /** The changed request body, as latin1 text. */
  readonly body: string | undefined;
  /** The largest request body that is changed. */
  readonly bodyLimit: number;
  /** `GET /drinks/{id}`. Undefined if the backend serves the version of the request. */
  readonly adaptedRoute: string | undefined;
  /** True: the client asks for unknown members, so the exchange is not copied to another version. */
  readonly mayHaveUnknownMembers: boolean;
  /** Reserves the memory that a response to this request usually takes. Called when the request is in flight. */
  reserveResponseMemory(): void;
  /** The exchange has ended. Safe to call twice. */
  release(): void;
}

/** Measurements of one exchange. Bytes are counted in bodies and tunnels, when they are forwarded. */
export class ExchangeStats {
  /** By `performance.now()`, like `sentAt`. */
  readonly beganAt = performance.now();
  sentAt = 0;
  /** From sending the request to the head of the response, ms; undefined if no target has answered. */
  answeredAfter: number | undefined;
  bytesIn = 0;
  bytesOut = 0;
  /** The size of a request body that was collected before it was sent, as the client sent it. */
  collectedBytes = 0;
  retries = 0;
  /** Only if a span of the exchange is exported. */
  attempts: AttemptRecord[] | undefined;
  /** Why the exchange ended before its response was complete. */
  failure: Failure | undefined;
  /** Set if the gateway answered with a problem. */
  problem: ProblemCode | undefined;
  /** The status of a response that the application wrote to the socket itself. */
  applicationStatus: number | undefined;
  /** A 101 was sent, and the connection is a tunnel. */
  switchedProtocols = false;
  /** The response is a stream of events, which ends when the client disconnects. */
  streamed = false;
  recorded = false;
}

/** Why an exchange failed on the wire, between the gateway and its target or its client. */
export interface Failure {
  readonly code: ProblemCode;
  /** Only `target` counts against the target's health. */
  readonly fault: 'client' | 'gateway' | 'target';
  /** For the log; never sent to a client. */
  readonly cause: string;
  /** For the answer. */
  readonly details?: Pick<Problem, 'detail' | 'members'>;
}

export const bodyTooLarge: Failure = {
  code: 'BODY_TOO_LARGE',
  fault: 'client',
  cause: 'the body is larger than limits.body or adapter.body',
};

export const cutOff: Failure = {
  code: 'CUT_OFF',
  fault: 'gateway',
  cause: 'not finished within gateway.drain',
};

/** Which side had to send or read when a timeout passed. */
export type AwaitedParty = 'target' | 'client';

export function forwardingFailure({ kind, cause }: WireFailure, awaited: AwaitedParty): Failure {
  switch (kind) {
    case 'unresolved':
      return { code: 'TARGET_UNRESOLVED', fault: 'target', cause };
    case 'unreachable':
      return { code: 'TARGET_REFUSED', fault: 'target', cause };
    case 'exhausted':
      return { code: 'OVERLOADED', fault: 'gateway', cause };
    case 'untrusted':
      return { code: 'TARGET_UNTRUSTED', fault: 'target', cause };
    case 'connect-timeout':
      return { code: 'CONNECT_TIMED_OUT', fault: 'target', cause };
    case 'malformed':
      return { code: 'TARGET_MALFORMED', fault: 'target', cause };
    case 'lost':
      return { code: 'TARGET_FAILED', fault: 'target', cause };
    case 'timeout':
      if (awaited === 'client') return { code: 'REQUEST_TIMED_OUT', fault: 'client', cause };
      return { code: 'TARGET_TIMED_OUT', fault: 'target', cause };
  }
}
