import { isIPv6 } from 'node:net';

/** RFC 9110 §5.6.2. */
export const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

// Stricter than the grammar: no escaped control characters.
const registeredName = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%(?!7f)[2-9A-Fa-f][0-9A-Fa-f])+$/i;
// IPvFuture of RFC 3986 §3.2.2.
const futureAddress = /^v[0-9A-Fa-f]+\.[A-Za-z0-9\-._~!$&'()*+,;=:]+$/i;
const port = /^[0-9]{0,5}$/;

// Nearly every request has the same Host as the one before.
let lastValid = '';

/** `uri-host [ ":" port ]` of RFC 9110 §7.2. It is never empty, because an http URI has a host (RFC 9110 §4.2.1). */
export function isAuthority(value: string): boolean {
  if (value === lastValid) return value !== '';
  if (!matchesGrammar(value)) return false;
  lastValid = value;
  return true;
}

function matchesGrammar(value: string): boolean {
  const isLiteral = value.startsWith('[');
  const hostEnd = isLiteral ? value.indexOf(']') + 1 : value.indexOf(':');
  if (isLiteral && hostEnd === 0) return false;
  const host = hostEnd === -1 ? value : value.slice(0, hostEnd);
  const afterHost = value.slice(host.length);
  if (afterHost !== '') {
    const portText = afterHost.slice(1);
    if (!afterHost.startsWith(':') || !port.test(portText) || Number(portText) > 65_535) return false;
  }
  if (!isLiteral) return registeredName.test(host);
  const address = host.slice(1, -1);
  return isIPv6(address) ? !address.includes('%') : futureAddress.test(address);
}

/** The members of a comma-separated list (RFC 9110 §5.6.1) of tokens, in lower case. */
export function listOfTokens(value: string): string[] {
  return value
    .split(',')
    .map((member) => member.trim().toLowerCase())
    .filter((member) => member !== '');
}

/**
 * From the common spellings of common field names to their lower-case form. A look-up costs less than lower-casing, and returns a
 * shared string, which a `switch` compares by pointer.
 */
const lowerCaseNames = new Map<string, string>();

const commonNames =
  `accept accept-charset accept-encoding accept-language accept-ranges access-control-allow-credentials
access-control-allow-headers access-control-allow-methods access-control-allow-origin access-control-expose-headers
access-control-max-age access-control-request-headers access-control-request-method age allow alt-svc authorization
cache-control connection content-disposition content-encoding content-language content-length content-location
content-range content-security-policy content-type cookie date deprecation dnt etag expect expires forwarded from host
http2-settings if-match if-modified-since if-none-match if-range if-unmodified-since keep-alive last-modified link
location max-forwards origin pragma priority proxy proxy-authenticate proxy-authentication-info proxy-authorization
proxy-connection range referer refresh retry-after sec-ch-ua sec-ch-ua-mobile sec-ch-ua-platform sec-fetch-dest
sec-fetch-mode sec-fetch-site sec-fetch-user sec-websocket-accept sec-websocket-extensions sec-websocket-key
sec-websocket-protocol sec-websocket-version server server-timing set-cookie strict-transport-security sunset te
traceparent tracestate trailer transfer-encoding upgrade upgrade-insecure-requests user-agent vary via
www-authenticate x-api-key x-client-id x-content-type-options x-correlation-id x-forwarded-for x-forwarded-host
x-forwarded-port x-forwarded-prefix x-forwarded-proto x-frame-options x-powered-by x-real-ip x-request-id
x-requested-with`.split(/\s+/);

for (const name of commonNames) {
  lowerCaseNames.set(name, name);
  lowerCaseNames.set(
    name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase()),
    name,
  );
}
for (const spelling of ['ETag', 'WWW-Authenticate', 'TE', 'DNT', 'X-Request-ID', 'Sec-WebSocket-Key']) {
  lowerCaseNames.set(spelling, spelling.toLowerCase());
}

/** A field name in lower case. */
export function lowerCased(name: string): string {
  return lowerCaseNames.get(name) ?? name.toLowerCase();
}

/** Like `lowerCased` for an unchecked name: undefined if it is not a token. Known names need no check. */
export function checkedLowerCased(name: string): string | undefined {
  return lowerCaseNames.get(name) ?? (token.test(name) ? name.toLowerCase() : undefined);
}

/**
 * The same latin1 text as one string. V8 keeps a joined text as a tree, and would copy it piece by piece each time it is sent. So
 * this is for texts that are used many times.
 */
export function asFlatString(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
