import { lowerCased } from '../http1/fieldName.ts';

/**
 * RFC 9110 §6.5.1: fields that frame, route, authenticate or describe the message mean nothing, or harm, behind it.
 * Nor may a trailer say again what we said in the head.
 */
const forbidden = new Set(
  `access-control-allow-credentials access-control-allow-headers access-control-allow-methods
  access-control-allow-origin access-control-expose-headers access-control-max-age content-location deprecation link
  refresh sunset age authorization cache-control connection content-encoding content-length content-range content-type date expires
  host keep-alive location proxy-authenticate proxy-authorization proxy-connection retry-after set-cookie te trailer
  transfer-encoding upgrade vary via warning www-authenticate`.split(/\s+/),
);

/** The trailers that may go on, as node:http takes them. `trailers`: names and values in turn. */
export function forwardableTrailers(trailers: readonly string[]): [name: string, value: string][] {
  const rows: [string, string][] = [];
  for (let at = 0; at < trailers.length; at += 2) {
    const name = trailers[at] as string;
    if (!forbidden.has(lowerCased(name))) rows.push([name, trailers[at + 1] as string]);
  }
  return rows;
}
