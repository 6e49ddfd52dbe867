import type { Random } from '../support/random.ts';

const statusLines = [200, 201, 204, 301, 304, 404, 503].map((status) => `HTTP/1.1 ${status} Reason`);
const fieldLines = [
  'Content-Length: 2',
  'Content-Type: application/json',
  'Content-Type: text/event-stream',
  'Date: Fri, 30 Oct 2026 23:59:59 GMT',
  'date: Fri, 30 Oct 2026 23:59:58 GMT',
  'ETag: "1"',
  'Set-Cookie: a=b; Path=/',
  'Location: /x',
  'Content-Location: /v1/x',
  'Link: </y>; rel=next',
  'Refresh: 5; url=/x',
  'Access-Control-Allow-Origin: *',
  'Access-Control-Expose-Headers: Link, X-A',
  'Deprecation: true',
  'Sunset: Sat, 30 Jun 2029 23:59:59 GMT',
  'Sunset: Sat, 01 Jan 2000 00:00:00 GMT',
  'Strict-Transport-Security: max-age=1',
  'Content-Disposition: attachment; filename="\xe9"',
  'Connection: X-A',
  'Keep-Alive: timeout=50',
  'X-A: caf\xe9',
  'Via: 1.1 a',
];
/** Lines that only the tests of the parser use: no response, or not the same one over a connection. */
const specialLines = [
  'Transfer-Encoding: chunked',
  'Trailer: X-T',
  'Connection: close',
  'X: \0',
  'a line',
  'Content-Length: x',
];

/** Heads with random fields. Some have the same length; `specials` adds invalid ones. */
export function randomHeads(random: Random, count: number, { specials }: { readonly specials: boolean }): string[] {
  const lines = specials ? [...fieldLines, ...specialLines] : fieldLines.slice(1);
  return Array.from({ length: count }, () => {
    const chosen = Array.from({ length: random.below(7) }, () => random.of(lines));
    const framing = specials ? [] : ['Content-Length: 2'];
    return `${[random.of(statusLines), ...chosen, ...framing].join('\r\n')}\r\n\r\n`;
  });
}
