import { expect, it } from 'vitest';
import { ResponseReader } from '../../bench/support/responseReader.ts';

const head = 'HTTP/1.1 200 OK\r\n';

it.each([
  ['the head ends like a last chunk', [`${head}Transfer-Encoding: chunked\r\nX-Limit: 100\r\n\r\n`, '0\r\n\r\n']],
  ['the last chunk is split', [`${head}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0`, '\r\n\r\n']],
  ['the body follows the head', [`${head}Content-Length: 2\r\n\r\n`, 'o', 'k']],
  ['the head is split', [`${head}Content-Length: 2\r\n`, '\r\nok']],
])('finds the end of each response: %s', (_what, chunks) => {
  const reader = new ResponseReader();
  for (const _response of [1, 2]) {
    expect(chunks.map((chunk) => reader.take(Buffer.from(chunk)))).toEqual(
      chunks.map((_one, at) => at === chunks.length - 1),
    );
    expect(reader.status).toBe(200);
  }
});
