import { randomBytes } from 'node:crypto';

/** The head of a request in the form of HTTP/1.1, which the steps and the usage counts read. */
export interface TranslatedHead {
  readonly method: string;
  /** The request target: `:path`, or the authority of a CONNECT. */
  readonly target: string;
  /** Alternating names and values. The names are in lower case. */
  readonly fields: readonly string[];
  /** The client sends its body only after a 100 (Continue). */
  readonly expectsContinue: boolean;
  /** The key of the handshake with the backend, if the client opens a WebSocket (RFC 8441). */
  readonly webSocketKey: string | undefined;
}

/**
 * Translates a field section that nghttp2 has accepted. nghttp2 resets the stream of a request with an upper-case name, a
 * connection-specific field, or missing, repeated, unknown or late pseudo-fields (RFC 9113 §8.2, §8.3). `raw`: alternating
 * names and values. Undefined: the scheme is neither http nor https, so nghttp2 has not checked the path.
 */
export function translateHead(raw: readonly string[], hasBody: boolean): TranslatedHead | undefined {
  const fields: string[] = [];
  let method = '';
  let path = '';
  let protocol = '';
  let authority: string | undefined;
  let hasLength = false;
  let expectsContinue = false;
  // Where the value of the first Cookie field is in `fields`.
  let cookieAt = -1;
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string;
    const value = raw[at + 1] as string;
    switch (name) {
      case ':method':
        method = value;
        break;
      case ':path':
        path = value;
        break;
      case ':authority':
        authority = value;
        fields.push('host', value);
        break;
      case ':scheme':
        if (!/^https?$/i.test(value)) return undefined;
        break;
      case ':protocol':
        protocol = value;
        break;
      case 'host':
        // A Host that names another authority is passed on as a second Host, which `checkMessage` refuses (§8.3.1).
        if (authority?.toLowerCase() !== value.toLowerCase()) fields.push(name, value);
        break;
      case 'cookie':
        // HTTP/1.1 has one Cookie field (§8.2.3).
        if (cookieAt !== -1) fields[cookieAt] += `; ${value}`;
        else cookieAt = fields.push(name, value) - 1;
        break;
      case 'sec-websocket-key':
        // Not used in HTTP/2 (RFC 8441 §5.1). The gateway makes the handshake with the backend.
        break;
      case 'content-length':
        hasLength = true;
        fields.push(name, value);
        break;
      case 'expect':
        expectsContinue = value.toLowerCase() === '100-continue';
        fields.push(name, value);
        break;
      default:
        fields.push(name, value);
    }
  }
  // A body without a length is sent to the backend in chunks.
  if (hasBody && !hasLength && method !== 'CONNECT') fields.push('transfer-encoding', 'chunked');
  const target = path === '' ? (authority ?? '') : path;
  if (method !== 'CONNECT' || protocol !== 'websocket') {
    return { method, target, fields, expectsContinue, webSocketKey: undefined };
  }
  const webSocketKey = randomBytes(16).toString('base64');
  fields.push('sec-websocket-key', webSocketKey, 'upgrade', 'websocket');
  return { method: 'GET', target, fields, expectsContinue, webSocketKey };
}
