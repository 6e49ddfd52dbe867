import ipaddr from 'ipaddr.js';
import type { HostPort } from '../snapshot.ts';
import { scalar, WrongValue } from './scalar.ts';

/** An origin: `http://127.0.0.1:3001`, without a default port and without a trailing slash. */
function origin(expected: string) {
  return scalar({
    accepts: ['string'],
    expected,
    json: { type: 'string', pattern: '^https?://[^/?#@\\s]+/?$' },
    parse: (input): string | WrongValue => {
      const url = parseUrl(input);
      if (url instanceof WrongValue) return url;
      if (url.pathname !== '/') return new WrongValue('has a path', 'Leave out what follows the host and the port.');
      return /[?#]/.test(input)
        ? new WrongValue('has a query or a fragment', 'Leave out what follows the host and the port.')
        : url.origin;
    },
  });
}

export const targetUrl = origin('a URL such as http://127.0.0.1:3001');
export const publicOrigin = origin('a URL such as https://api.example.com');

/** A page. The URL is normalised for use in a header. */
export const pageUrl = scalar({
  accepts: ['string'],
  expected: 'a URL such as https://example.com/v1-end',
  json: { type: 'string', pattern: '^https?://' },
  parse: (input): string | WrongValue => {
    const url = parseUrl(input);
    return url instanceof WrongValue ? url : url.href;
  },
});

/** A webhook. Its path and query may be secret. */
export const webhookUrl = scalar({
  accepts: ['string'],
  expected: 'a URL such as https://hooks.example.com/…',
  json: { type: 'string', pattern: '^https?://[^#@\\s]+$' },
  parse: (input): string | WrongValue => {
    const url = parseUrl(input);
    if (url instanceof WrongValue) return url;
    return url.hash === '' ? url.href : new WrongValue('has a fragment', 'Leave out the # and what follows it.');
  },
});

/** An OpenTelemetry collector. The path of each signal, such as `/v1/traces`, is appended to the URL. */
export const collectorUrl = scalar({
  accepts: ['string'],
  expected: 'a URL such as http://collector:4318',
  json: { type: 'string', pattern: '^https?://[^?#@\\s]+$', examples: ['http://collector:4318'] },
  parse: (input): string | WrongValue => {
    const url = parseUrl(input);
    if (url instanceof WrongValue) return url;
    if (/[?#]/.test(input)) return new WrongValue('has a query or a fragment', 'Leave out what follows the path.');
    const path = url.pathname.replace(/\/+$/, '');
    const signal = /\/v1\/(?:traces|metrics|logs)$/.exec(path)?.[0];
    return signal === undefined
      ? url.origin + path
      : new WrongValue(`ends with ${signal}`, `Leave out ${signal}: the gateway appends it.`);
  },
});

function parseUrl(input: string): URL | WrongValue {
  if (!/^https?:\/\//i.test(input)) return new WrongValue('is not an http:// or https:// URL');
  const url = URL.parse(input);
  // The URL parser drops an empty user, so the text is checked for `@` too.
  const authority = /^\w+:\/\/([^/?#\\]*)/.exec(input)?.[1] ?? '';
  if (!url) return new WrongValue('is not a URL');
  if (url.username !== '' || url.password !== '' || authority.includes('@')) {
    return new WrongValue('has a user or a password', 'Remove the user, the password and the @.');
  }
  if (/[\s\\]/.test(input)) return new WrongValue('has a blank or a backslash');
  return url.port === '0' ? new WrongValue('has port 0', 'Write the port that the server listens on.') : url;
}

/** An address to listen on. The host of `:8080` is empty, which means every interface. */
export const hostPort = scalar({
  accepts: ['string', 'number'],
  expected: 'an address such as 127.0.0.1:8080, [::1]:8080 or :8080',
  json: {
    type: 'string',
    pattern: '^(\\[[0-9A-Fa-f:.]+\\]|[^\\s:/\\[\\]]*):[0-9]{1,5}$',
    examples: ['127.0.0.1:8080', ':8080'],
  },
  parse: (input): HostPort | WrongValue => {
    if (/^\d+$/.test(String(input)))
      return new WrongValue('has no host', `Write 127.0.0.1:${input}, or :${input} for every interface.`);
    const [, bracketed, unbracketed, digits] = /^(?:\[([^\]]*)\]|([^\s:/[\]@]*)):(\d{1,5})$/.exec(String(input)) ?? [];
    if (digits === undefined) {
      return ipaddr.IPv6.isValid(String(input))
        ? new WrongValue('has no port, or no brackets')
        : new WrongValue('is not host:port');
    }
    if (Number(digits) > 65_535) return new WrongValue('has a port above 65535');
    if (bracketed !== undefined && !ipaddr.IPv6.isValid(bracketed))
      return new WrongValue('has no IPv6 address in its brackets');
    if (unbracketed !== undefined && /^[\d.]+$/.test(unbracketed) && !isIPv4(unbracketed))
      return new WrongValue('has no IPv4 address before its port');
    return { host: bracketed ?? unbracketed ?? '', port: Number(digits) };
  },
});

/** Whether only this machine can reach the host. */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true;
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback';
}

const networksByWord: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/** A list of CIDRs, because a word such as `private` stands for several. */
export const network = scalar({
  accepts: ['string'],
  expected: 'a network such as 10.0.0.0/8 or 192.0.2.7, or loopback or private',
  json: { type: 'string', examples: ['loopback', 'private', '10.0.0.0/8'] },
  parse: (input): readonly string[] | WrongValue => {
    const group = Object.hasOwn(networksByWord, input) ? networksByWord[input] : undefined;
    if (group) return group;
    const [address = '', prefixLength, ...more] = input.split('/');
    const isV6 = address.includes(':') && !address.includes('%') && ipaddr.IPv6.isValid(address);
    if (!isV6 && !isIPv4(address)) return new WrongValue('is not a network');
    const addressBits = isV6 ? 128 : 32;
    if (
      more.length > 0 ||
      (prefixLength !== undefined && (!/^\d{1,3}$/.test(prefixLength) || Number(prefixLength) > addressBits))
    ) {
      return new WrongValue(`has a prefix length other than 0 to ${addressBits}`);
    }
    const cidr = `${address}/${prefixLength ?? addressBits}`;
    const start = isV6 ? ipaddr.IPv6.networkAddressFromCIDR(cidr) : ipaddr.IPv4.networkAddressFromCIDR(cidr);
    return [`${start.toString()}/${prefixLength === undefined ? addressBits : Number(prefixLength)}`];
  },
});

// ipaddr.js also accepts 127.1 and 0x7f.0.0.1, which are probably mistakes.
function isIPv4(text: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(text) && !/(^|\.)0\d/.test(text);
}

/** Parsed without a trailing slash: `/api/` to `/api`, and `/` to an empty text. */
export const basePath = scalar({
  accepts: ['string'],
  expected: 'a path such as / or /api',
  json: { type: 'string', pattern: '^/', examples: ['/', '/api'] },
  parse: (input): string | WrongValue => {
    if (!input.startsWith('/')) return new WrongValue('does not begin with /');
    if (!/^\/[\w.~!$&'()*+,;=:@/-]*$/.test(input))
      return new WrongValue('has a character that is not allowed in a path');
    const path = input.replace(/\/$/, '');
    if (path.includes('//')) return new WrongValue('has an empty segment');
    return /(^|\/)\.{1,2}(\/|$)/.test(path) ? new WrongValue('has a dot segment') : path;
  },
});

/** The path of a probe; undefined for `off`. */
export const probePath = scalar({
  accepts: ['string'],
  expected: 'a path such as /healthz, or off',
  json: { type: 'string', pattern: '^(off|/.*)$', examples: ['off', '/healthz'] },
  parse: (input): string | undefined | WrongValue => {
    if (input === 'off') return undefined;
    if (!input.startsWith('/')) return new WrongValue('does not begin with /');
    return /^[!-~]+$/.test(input) && !input.includes('#')
      ? input
      : new WrongValue('has a character that is not allowed in a path');
  },
});

export const hostName = scalar({
  accepts: ['string'],
  expected: 'a host name such as api.internal',
  json: { type: 'string', pattern: '^[A-Za-z0-9_.-]+$' },
  parse: (input) => (/^[A-Za-z0-9_.-]+$/.test(input) ? input : new WrongValue('is not a host name')),
});
