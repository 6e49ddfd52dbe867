import { type Answer, answer, type Backend, startBackend } from '../../support/backend.ts';
import type { SeenRequest } from '../../support/seenRequest.ts';

const json = 'Content-Type: application/json';

/** The answers of a backend by its method and path. Any other request is answered with what the backend has received. */
const answers: Readonly<Record<string, (request: SeenRequest) => Answer>> = {
  'GET /drinks/7': () => answer(200, '{"id":7,"title":"Mojito","price":"8.50"}', json, 'ETag: "drink-7"'),
  'GET /drinks/8': () => answer(404, '{"error":"no such drink"}', json),
  'GET /drinks/9': () => answer(500, '{"error":"a defect"}', json),
  'POST /drinks': () =>
    answer(201, '', 'Location: /drinks/10', 'Set-Cookie: last=10; Path=/drinks', 'Set-Cookie: all=1; Path=/'),
  'GET /moved': ({ fields }) => {
    const host = fields.find(([name]) => name.toLowerCase() === 'host')?.[1] ?? '';
    return answer(302, '', `Location: http://${host}/drinks/7`);
  },
  'GET /chunked': () =>
    `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 5\r\n\r\n`,
  'GET /early-hints': () => [
    { write: 'HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n' },
    { write: answer(200, 'hinted', 'Content-Type: text/plain') },
  ],
  'GET /events': () => [
    { write: 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: one\n\n' },
    { end: true },
  ],
  'GET /reset': () => [{ reset: true }],
  'GET /malformed': () => 'HTTP/1.1 banana\r\n\r\n',
  'GET /own-headers': () =>
    answer(
      200,
      'own',
      'Deprecation: @1',
      'Sunset: Sat, 01 Jan 2000 00:00:00 GMT',
      'Link: </own>; rel="self"',
      'Via: 1.1 own',
    ),
  'OPTIONS /drinks/7': () =>
    answer(204, '', 'Access-Control-Allow-Origin: https://shop.test', 'Access-Control-Allow-Methods: GET').replace(
      'Content-Length: 0\r\n',
      '',
    ),
  'GET /cocktails/7': () => answer(200, '{"id":7,"name":"Mojito","price":8.5,"glass":"highball"}', json),
  'GET /cocktails/8': () => answer(404, '{"error":"no such cocktail"}', json),
  'GET /v7/socket': ({ raw }) =>
    /^upgrade:/im.test(raw)
      ? [{ write: 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: golden\r\nConnection: Upgrade\r\n\r\n' }, { end: true }]
      : answer(426, ''),
};

export function startGoldenBackend(): Promise<Backend> {
  return startBackend((request) => {
    const path = request.target.replace(/\?.*$/, '');
    const known = answers[`${request.method} ${path}`] ?? (request.method === 'HEAD' ? headOf(path) : undefined);
    return known ? known(request) : answer(200, `${request.method} ${request.target}`, 'Content-Type: text/plain');
  });
}

/** The answer to HEAD: the head of the answer to GET. */
function headOf(path: string): () => Answer {
  const whole = String(answers[`GET ${path}`]?.(noRequest) ?? answer(200, 'text'));
  return () => whole.slice(0, whole.indexOf('\r\n\r\n') + 4);
}

const noRequest: SeenRequest = {
  raw: '',
  method: 'GET',
  target: '/',
  version: '',
  lines: [],
  fields: [],
  body: '',
  framing: 'none',
  connection: 0,
  index: 0,
};

/** The requests that backends have received, by the request id, which the corpus numbers. Copies of a shadow follow their original. */
export function receivedText(backends: Readonly<Record<string, Backend>>): string {
  const texts = Object.entries(backends).flatMap(([name, { requests }]) =>
    requests.map(({ raw, body }) => {
      const id = /^x-request-id: (golden.*)$/im.exec(raw)?.[1]?.trim() ?? '';
      const kind = /^x-shadow:/im.test(raw) ? 'copy' : '';
      const head = raw.slice(0, raw.indexOf('\r\n\r\n')).replaceAll('\r\n', '\n');
      return {
        key: `${id} ${kind} ${head.replace(/^X-Request-Id.*/m, '')}`,
        text: `=== ${name}\n${head}\n${body === '' ? '' : `\n${body}\n`}`,
      };
    }),
  );
  return texts
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ text }) => text)
    .join('\n');
}
