import { listOfTokens, lowerCased } from '../http1/grammar.ts';

/** The fields of a request, sorted in one pass: those that pass, and those that mean something to a proxy. */
export class RequestFields {
  /** What goes on as it came: `Name: value` lines, in order, duplicates kept. */
  passed = '';
  count = 0;
  /** Bytes on the wire. */
  size = 0;
  hosts = 0;
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
  /** By the lower-case name; empty unless the peer is trusted. */
  forwarded: Map<string, string> | undefined;
}

/** `raw`: names and values in turn, as received. Only a `trusted` peer's word about the client counts. */
export function readRequestFields(raw: readonly string[], trusted: boolean): RequestFields {
  const fields = new RequestFields();
  let passed = '';
  let size = 0;
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string;
    const value = raw[at + 1] as string;
    size += name.length + value.length + 4;
    if (!note(fields, lowerCased(name), value, trusted)) passed += `${name}: ${value}\r\n`;
  }
  fields.count = raw.length / 2;
  fields.size = size;
  fields.passed = namesMoreThanUsual(fields.connection) ? withoutNamed(raw, fields, trusted) : passed;
  return fields;
}

/** Takes in a field that is not simply passed on; false for one that is. */
function note(fields: RequestFields, name: string, value: string, trusted: boolean): boolean {
  switch (name) {
    case 'host':
      fields.hosts += 1;
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
      return isOurs(fields, name, value, trusted);
  }
}

/** The rarer half of `note`, by table. */
function isOurs(fields: RequestFields, name: string, value: string, trusted: boolean): boolean {
  if (hopByHop.has(name)) return true;
  if (written.has(name)) {
    if (trusted) {
      fields.forwarded ??= new Map();
      fields.forwarded.set(name, joined(fields.forwarded.get(name), value));
    }
    return true;
  }
  if (claims.has(name)) return !trusted;
  if (!name.includes('_')) return false;
  // Backends that read fields as CGI variables cannot tell `X_Forwarded_For` from ours.
  const dashed = name.replaceAll('_', '-');
  return written.has(dashed) || hopByHop.has(dashed) || (claims.has(dashed) && !trusted);
}

function joined(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}

function namesMoreThanUsual(connection: string): boolean {
  return connection !== '' && !/^(?:keep-alive|close|upgrade)$/i.test(connection);
}

/** What passes when `Connection` names fields to be dropped: seldom, so it may cost a second pass. */
function withoutNamed(raw: readonly string[], fields: RequestFields, trusted: boolean): string {
  const named = new Set(listOfTokens(fields.connection).filter((name) => !kept.has(name)));
  const scratch = new RequestFields();
  let passed = '';
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string;
    const value = raw[at + 1] as string;
    const lower = lowerCased(name);
    if (!named.has(lower) && !note(scratch, lower, value, trusted)) passed += `${name}: ${value}\r\n`;
  }
  return passed;
}

/** RFC 9110 §7.6.1, with what else concerns this hop only. `Proxy` is no field at all: CGI reads it as HTTP_PROXY. */
export const hopByHop = new Set(
  `connection keep-alive proxy-connection te trailer transfer-encoding upgrade http2-settings
  proxy-authorization proxy-authenticate proxy-authentication-info proxy`.split(/\s+/),
);

/** We write these ourselves. */
export const written = new Set(
  `host content-length via x-request-id expect max-forwards x-forwarded-for x-forwarded-proto x-forwarded-host
  x-forwarded-port x-forwarded-prefix`.split(/\s+/),
);

/** A backend may believe these about who asks for what, so only a trusted peer may say them. */
export const claims = new Set(
  `forwarded x-forwarded x-forwarded-server x-forwarded-scheme x-forwarded-ssl x-forwarded-by x-forwarded-uri
  x-forwarded-path x-forwarded-method x-forwarded-proto-version x-forwarded-protocol x-forwarded-client-cert
  x-original-url x-original-uri x-original-host x-original-method x-original-forwarded-for x-rewrite-url x-override-url
  x-real-ip x-client-ip true-client-ip cf-connecting-ip fastly-client-ip x-cluster-client-ip x-remote-ip x-remote-addr
  client-ip x-host x-http-host-override x-proxyuser-ip x-url-scheme x-scheme front-end-https`.split(/\s+/),
);

/** A client may name any field in `Connection`; these it cannot take from the backend that way. */
export const kept = new Set(['authorization', 'cookie', 'content-type']);
