import { describe, expect, it } from 'vitest';
import { parsePlainRequest } from '../../gateway/http1/plainRequest.ts';
import { otherRequests, plainRequests } from './requestCorpus.ts';
import { compareMutants, readsLikeNode } from './requestFuzz.ts';

const parse = (text: string) => parsePlainRequest(Buffer.from(text, 'latin1'), text.length);

describe('a plain request', () => {
  it('has a method, a target, fields in order, and a body of known length', () => {
    const head = 'POST /v1/a?b=c HTTP/1.1\r\nHost: a\r\nX-Two:2\r\nx-two: 3\r\nX-Empty: \r\nContent-Length: 4\r\n\r\n';
    expect(parse(`${head}body`)).toEqual({
      method: 'POST',
      target: '/v1/a?b=c',
      fields: ['Host', 'a', 'X-Two', '2', 'x-two', '3', 'X-Empty', '', 'Content-Length', '4'],
      contentLength: 4,
      headLength: head.length,
    });
  });

  it('ends where the bytes end, not where the buffer ends', () => {
    const text = 'GET /v1 HTTP/1.1\r\nHost: a\r\n\r\n';
    expect(parsePlainRequest(Buffer.from(text), text.length - 1)).toBeUndefined();
    expect(parsePlainRequest(Buffer.from(`${text}old bytes`), text.length)?.headLength).toBe(text.length);
  });

  it.each(plainRequests.map((text) => [JSON.stringify(text).slice(0, 100), text]))('is %s', (_name, text) => {
    expect(readsLikeNode(text)).toBe(true);
  });

  it.each(otherRequests.map((text) => [JSON.stringify(text).slice(0, 100), text]))('is not %s', (_name, text) => {
    expect(parse(text)).toBeUndefined();
  });

  it('is read as node reads it, in 200,000 random changes of these', () => {
    // A fixed seed: `npm run soak` looks for new differences.
    const accepted = compareMutants(1, 200_000);
    expect(accepted).toBeGreaterThan(20_000);
    expect(accepted).toBeLessThan(180_000);
  });
});
