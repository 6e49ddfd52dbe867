import { asFlatString, listOfTokens, lowerCased } from '../../http1/grammar.ts';

/** RFC 9110 §7.6.1, and other fields of this hop only. `Proxy` is an attack: CGI programs read it as HTTP_PROXY. */
const hopByHopNames = new Set(
  `connection keep-alive proxy-connection te trailer transfer-encoding upgrade http2-settings
  proxy-authorization proxy-authenticate proxy-authentication-info proxy`.split(/\s+/),
);

/** The gateway writes these itself. */
const ourNames = new Set(
  `host content-length via x-request-id expect max-forwards x-forwarded-for x-forwarded-proto x-forwarded-host
  x-forwarded-port x-forwarded-prefix`.split(/\s+/),
);

/** Backends may take the client's identity or URL from these. They are passed on only if the peer is trusted. */
const trustedOnlyNames = new Set(
  `forwarded x-forwarded x-forwarded-server x-forwarded-scheme x-forwarded-ssl x-forwarded-by x-forwarded-uri
  x-forwarded-path x-forwarded-method x-forwarded-proto-version x-forwarded-protocol x-forwarded-client-cert
  x-original-url x-original-uri x-original-host x-original-method x-original-forwarded-for x-rewrite-url x-override-url
  x-real-ip x-client-ip true-client-ip cf-connecting-ip fastly-client-ip x-cluster-client-ip x-remote-ip x-remote-addr
  client-ip x-host x-http-host-override x-proxyuser-ip x-url-scheme x-scheme front-end-https`.split(/\s+/),
);

/** A client may name any field in `Connection`; these are passed on nevertheless. */
const undroppableNames = new Set(['authorization', 'cookie', 'content-type']);

/** The fields of a request, sorted in one pass: those to pass on, and those that a proxy interprets. */
export class RequestFields {
  /** Passed on unchanged: `Name: value` lines, in order, duplicates kept. */
  passedLines = '';
  count = 0;
  /** Bytes on the wire. */
  size = 0;
  /** The number of Host fields. */
  hostCount = 0;
  host = '';
  contentLength: string | undefined;
  transferEncoding: string | undefined;
  connection = '';
  upgrade = '';
  expect: string | undefined;
  via = '';
  requestId = '';
  traceparent: string | undefined;
  tracestate: string | undefined;
  maxForwards: string | undefined;
  origin: string | undefined;
  /** `Access-Control-Request-Method`: with `Origin` on OPTIONS, a preflight. */
  preflightMethod: string | undefined;
  preflightHeaders: string | undefined;
  /** Forwarding fields, from the lower-case name to the value. Undefined unless a trusted peer sends such fields. */
  forwarded: Map<string, string> | undefined;
}

/** `raw`: alternating names and values, as received. Only a `trusted` peer may send forwarding headers. */
export function readRequestFields(raw: readonly string[], trusted: boolean): RequestFields {
  const fields = new RequestFields();
  let passed = '';
  let size = 0;
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string;
    const value = raw[at + 1] as string;
    size += name.length + value.length + 4;
    if (!interpretField(fields, lowerCased(name), value, trusted)) passed += `${name}: ${value}\r\n`;
  }
  fields.count = raw.length / 2;
  fields.size = size;
  fields.passedLines = namesOtherFields(fields.connection) ? withoutNamed(raw, fields, trusted) : passed;
  return fields;
}

/** Interprets or drops a field. False: it is passed on unchanged. */
function interpretField(fields: RequestFields, name: string, value: string, trusted: boolean): boolean {
  switch (name) {
    case 'host':
      fields.hostCount += 1;
      fields.host = value;
      return true;
    case 'content-length':
      fields.contentLength = value;
      return true;
    case 'transfer-encoding':
      fields.transferEncoding = joined(fields.transferEncoding, value);
      return true;
    case 'connection':
      fields.connection = fields.connection === '' ? value : `${fields.connection},${value}`;
      return true;
    case 'upgrade':
      fields.upgrade = fields.upgrade === '' ? value : `${fields.upgrade}, ${value}`;
      return true;
    case 'expect':
      fields.expect = joined(fields.expect, value);
      return true;
    case 'via':
      fields.via = fields.via === '' ? value : `${fields.via}, ${value}`;
      return true;
    case 'x-request-id':
      fields.requestId = value;
      return true;
    case 'traceparent':
      fields.traceparent = joined(fields.traceparent, value);
      return true;
    case 'tracestate':
      fields.tracestate = joined(fields.tracestate, value);
      return true;
    case 'max-forwards':
      fields.maxForwards = value;
      return true;
    case 'origin':
      fields.origin = value;
      return false;
    case 'access-control-request-method':
      fields.preflightMethod = value;
      return false;
    case 'access-control-request-headers':
      fields.preflightHeaders = value;
      return false;
    default:
      return interpretByTable(fields, name, value, trusted);
  }
}

/** The rarer cases of `interpretField`, by table. */
function interpretByTable(fields: RequestFields, name: string, value: string, trusted: boolean): boolean {
  if (hopByHopNames.has(name)) return true;
  if (ourNames.has(name)) {
    if (trusted) {
      fields.forwarded ??= new Map();
      fields.forwarded.set(name, joined(fields.forwarded.get(name), value));
    }
    return true;
  }
  if (trustedOnlyNames.has(name)) return !trusted;
  if (!name.includes('_')) return false;
  // Backends that read fields as CGI variables cannot tell `X_Forwarded_For` from `X-Forwarded-For`.
  const dashed = name.replaceAll('_', '-');
  return ourNames.has(dashed) || hopByHopNames.has(dashed) || (trustedOnlyNames.has(dashed) && !trusted);
}

function joined(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}

function namesOtherFields(connection: string): boolean {
  return connection !== '' && !/^(?:keep-alive|close|upgrade)$/i.test(connection);
}

/** The fields to pass on if `Connection` names some to be dropped. Rare, so it may take a second pass. */
function withoutNamed(raw: readonly string[], fields: RequestFields, trusted: boolean): string {
  const droppedNames = new Set(listOfTokens(fields.connection).filter((name) => !undroppableNames.has(name)));
  // Only needed as an argument: `fields` already has the interpreted fields.
  const discarded = new RequestFields();
  let passed = '';
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string;
    const value = raw[at + 1] as string;
    const lower = lowerCased(name);
    if (!droppedNames.has(lower) && !interpretField(discarded, lower, value, trusted))
      passed += `${name}: ${value}\r\n`;
  }
  return passed;
}

/** The input for the head of the request to the target. */
export interface RequestHeadParts {
  readonly method: string;
  /** Path and query for the target. */
  readonly path: string;
  readonly fields: RequestFields;
  /** The Host to send: the authority of the client's absolute-form URL, else the client's Host, else the authority of the target. */
  readonly host: string;
  /** The authority in the request of the client; '' without one. */
  readonly requestedHost: string;
  readonly id: string;
  readonly traceparent: string;
  /** Undefined: none is sent. */
  readonly tracestate: string | undefined;
  /** The client's version of HTTP, as Via names it: `1.1`, `1.0` or `2.0` (RFC 9110 §7.6.3). */
  readonly viaVersion: string;
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
  /** The lines of `X-Forwarded-For`, `-Proto` and `-Port` for this peer. */
  readonly forwardingFields: string;
}

/**
 * The head of the request to the target, blank line included; latin1. V8 keeps a joined text as a tree, and copies it piece by
 * piece when it is sent. So the fewer pieces there are, the less this costs.
 */
export function requestHead(parts: RequestHeadParts): string {
  const { method, path, fields, host, id, traceparent } = parts;
  return `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${fields.passedLines}${framingField(fields)}${forwardingFields(parts)}X-Request-Id: ${id}\r\ntraceparent: ${traceparent}\r\n${lastFields(parts)}`;
}

function framingField({ contentLength, transferEncoding }: RequestFields): string {
  if (transferEncoding !== undefined) return 'Transfer-Encoding: chunked\r\n';
  return contentLength === undefined ? '' : `Content-Length: ${contentLength}\r\n`;
}

function forwardingFields({ fields, requestedHost, removedPrefix, peer }: RequestHeadParts): string {
  if (fields.forwarded !== undefined)
    return appendedForwardingFields(fields.forwarded, requestedHost, removedPrefix, peer);
  const host = requestedHost === '' ? '' : `X-Forwarded-Host: ${requestedHost}\r\n`;
  const prefix = removedPrefix === '' ? '' : `X-Forwarded-Prefix: ${removedPrefix}\r\n`;
  return peer.forwardingFields + host + prefix;
}

/** The forwarding fields that are the same in all requests of a peer. */
export function forwardingFieldsOf({ address, scheme, port }: Omit<Peer, 'forwardingFields'>): string {
  return asFlatString(`X-Forwarded-For: ${address}\r\nX-Forwarded-Proto: ${scheme}\r\nX-Forwarded-Port: ${port}\r\n`);
}

/** Appends our values to the lists of a trusted peer. */
function appendedForwardingFields(
  lists: ReadonlyMap<string, string>,
  host: string,
  removedPrefix: string,
  peer: Peer,
): string {
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

/** From the field after `traceparent` to the blank line. */
function lastFields(parts: RequestHeadParts): string {
  const { tracestate, fields, viaVersion, pseudonym } = parts;
  const tracestateField = tracestate === undefined ? '' : `tracestate: ${tracestate}\r\n`;
  const via = fields.via === '' ? ownVia(viaVersion, pseudonym) : `Via: ${fields.via}, ${viaVersion} ${pseudonym}\r\n`;
  return `${tracestateField + via + upgradeFields(parts) + maxForwardsField(parts)}\r\n`;
}

// The same for nearly all requests.
let lastVia = { viaVersion: '', pseudonym: '', text: '' };

/** The Via field of a request that has come through no other proxy. */
function ownVia(viaVersion: string, pseudonym: string): string {
  if (lastVia.viaVersion !== viaVersion || lastVia.pseudonym !== pseudonym) {
    lastVia = { viaVersion, pseudonym, text: asFlatString(`Via: ${viaVersion} ${pseudonym}\r\n`) };
  }
  return lastVia.text;
}

function upgradeFields({ upgrade }: RequestHeadParts): string {
  return upgrade === '' ? '' : `Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n`;
}

// RFC 9110 §7.6.2 allows recipients a maximum of their own.
const maxHops = 1_000_000;

/** RFC 9110 §7.6.2: each hop decrements Max-Forwards of OPTIONS. An OPTIONS with 0 is not forwarded, and TRACE is refused. */
function maxForwardsField({ method, fields: { maxForwards } }: RequestHeadParts): string {
  if (maxForwards === undefined) return '';
  const isDecremented = method === 'OPTIONS' && /^[0-9]+$/.test(maxForwards);
  return `Max-Forwards: ${isDecremented ? Math.min(Number(maxForwards) - 1, maxHops) : maxForwards}\r\n`;
}
