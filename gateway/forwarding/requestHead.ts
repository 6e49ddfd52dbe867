import type { RequestFields } from './requestFields.ts';

/** The input for the head of the request to the target. */
export interface RequestHeadParts {
  readonly method: string;
  /** Path and query for the target. */
  readonly path: string;
  readonly fields: RequestFields;
  /** The Host to send: that of an absolute-form target, else the client's Host, else the authority of the target. */
  readonly host: string;
  /** The authority in the request of the client; '' without one. */
  readonly requestedHost: string;
  readonly id: string;
  readonly traceparent: string;
  /** Undefined: none is sent. */
  readonly tracestate: string | undefined;
  /** `1.1`, `1.0` or `2.0`: the client's version, for Via (RFC 9110 §7.6.3). */
  readonly httpVersion: string;
  readonly peer: Peer;
  /** The prefix that was removed from the path; '' for none. */
  readonly removedPrefix: string;
  readonly pseudonym: string;
  /** The protocol to switch to; '' for none. */
  readonly upgrade: string;
}

/** The other end of a client connection. */
export interface Peer {
  /** IPv4 without the prefix `::ffff:`. `unknown` if the client has disconnected (RFC 7239 §6.2). */
  readonly address: string;
  readonly scheme: 'http' | 'https';
  /** The local port of the connection. */
  readonly port: number;
}

/** The head of the request to the target, blank line included; latin1. */
export function requestHead(parts: RequestHeadParts): string {
  const { method, path, fields, host, id, httpVersion, peer, pseudonym } = parts;
  const via = fields.via === '' ? '' : `${fields.via}, `;
  return `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${fields.passed}${framing(fields)}${forwarding(parts, peer)}X-Request-Id: ${id}\r\n${tracing(parts)}Via: ${via}${httpVersion} ${pseudonym}\r\n${switching(parts)}${hopsLeft(parts)}\r\n`;
}

function framing({ contentLength, transferEncoding }: RequestFields): string {
  if (transferEncoding !== undefined) return 'Transfer-Encoding: chunked\r\n';
  return contentLength === undefined ? '' : `Content-Length: ${contentLength}\r\n`;
}

function forwarding({ fields, requestedHost, removedPrefix }: RequestHeadParts, peer: Peer): string {
  const prefix = removedPrefix === '' ? '' : `X-Forwarded-Prefix: ${removedPrefix}\r\n`;
  if (fields.forwarded !== undefined) return appended(fields.forwarded, requestedHost, removedPrefix, peer);
  return `X-Forwarded-For: ${peer.address}\r\nX-Forwarded-Proto: ${peer.scheme}\r\n${hostLine(requestedHost)}X-Forwarded-Port: ${peer.port}\r\n${prefix}`;
}

function hostLine(host: string): string {
  return host === '' ? '' : `X-Forwarded-Host: ${host}\r\n`;
}

/** Appends our values to the lists of a trusted peer. */
function appended(lists: ReadonlyMap<string, string>, host: string, removedPrefix: string, peer: Peer): string {
  const rows: [name: string, ours: string][] = [
    ['X-Forwarded-For', peer.address],
    ['X-Forwarded-Proto', peer.scheme],
    ['X-Forwarded-Host', host],
    ['X-Forwarded-Port', String(peer.port)],
    ['X-Forwarded-Prefix', removedPrefix],
  ];
  let lines = '';
  for (const [name, ours] of rows) {
    const values = [lists.get(name.toLowerCase()) ?? '', ours].filter((value) => value !== '');
    if (values.length > 0) lines += `${name}: ${values.join(', ')}\r\n`;
  }
  return lines;
}

function tracing({ traceparent, tracestate }: RequestHeadParts): string {
  return `traceparent: ${traceparent}\r\n${tracestate === undefined ? '' : `tracestate: ${tracestate}\r\n`}`;
}

function switching({ upgrade }: RequestHeadParts): string {
  return upgrade === '' ? '' : `Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n`;
}

// RFC 9110 §7.6.2 allows recipients a maximum of their own.
const maxHops = 1_000_000;

/** RFC 9110 §7.6.2: each hop decrements Max-Forwards of OPTIONS and TRACE; for other methods it has no meaning. */
function hopsLeft({ method, fields: { maxForwards } }: RequestHeadParts): string {
  if (maxForwards === undefined) return '';
  const counts = method === 'OPTIONS' && /^[0-9]+$/.test(maxForwards);
  return `Max-Forwards: ${counts ? Math.min(Number(maxForwards) - 1, maxHops) : maxForwards}\r\n`;
}
