import { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { okAnswer, startBackend } from '../support/backend.ts';
import { startTestGateway } from '../support/gateway.ts';
import { ask, get, message } from '../support/rawClient.ts';
import { valuesOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\nX-Hint: caf\xe9\r\n\r\n';
const processing = 'HTTP/1.1 102 Processing\r\n\r\n';
const carryOn = 'HTTP/1.1 100 Continue\r\n\r\n';

async function statuses(interim: string, line = 'GET /v1/x HTTP/1.1'): Promise<number[]> {
  const { port } = await startWire(interim + okAnswer);
  const response = await ask(port, message(line, 'Host: api.test'), 'GET');
  expect([response.status, response.body]).toEqual([200, 'ok']);
  return response.interim.map(({ status }) => status);
}

// RFC 9110 §15.2: passed on, unless the proxy itself asked for them; never to HTTP/1.0.
describe('an interim response', () => {
  it.each([
    ['an unexpected 100', carryOn, []],
    ['a 103', hints, [103]],
    ['a 102', processing, [102]],
    ['three of them', hints + processing + hints, [103, 102, 103]],
    ['a 100 among them', hints + carryOn + hints, [103, 103]],
    ['an unknown status', 'HTTP/1.1 199 Whatever\r\nX-A: b\r\n\r\n', [199]],
  ])('%s', async (_name, interim, expected) => {
    expect(await statuses(interim)).toEqual(expected);
  });

  it.each([
    ['100', carryOn],
    ['103', hints],
    ['102', processing],
    ['three', hints + processing + hints],
  ])('is not sent to HTTP/1.0: %s', async (_name, interim) => {
    expect(await statuses(interim, 'GET /v1/x HTTP/1.0')).toEqual([]);
  });

  it('keeps its own fields, and gets none of the final response', async () => {
    const backend = await startBackend(hints + okAnswer);
    const gateway = await startTestGateway({
      '/v1': { upstream: backend.url, prefix: 'forward', deprecation: '2026-06-30', sunset: '2028-06-30' },
      '/v2': backend.url,
    });
    const [early] = (await ask(gateway.port, get('/v1/x'))).interim;
    expect(early?.lines).toEqual(expect.arrayContaining(['Link: </style.css>; rel=preload', 'X-Hint: caf\xe9']));
    expect(early && [...valuesOf(early, 'deprecation'), ...valuesOf(early, 'sunset')]).toEqual([]);
  });

  it('is passed on by versions of Node without writeInformation', async () => {
    const { prototype } = ServerResponse;
    const { writeInformation } = prototype;
    Object.assign(prototype, { writeInformation: undefined });
    onTestFinished(() => void Object.assign(prototype, { writeInformation }));
    const backend = await startBackend(`${hints}HTTP/1.1 199 Whatever\r\n\r\n${okAnswer}`);
    const { port } = await startTestGateway({ '/v1': backend.url }, { gateway: { fast_lane: 'off' } });
    const response = await ask(port, get('/v1/x'));
    expect(response.interim.map(({ status }) => status)).toEqual([103, 199]);
    expect(response.interim[1]?.reason).toBe('unknown');
    expect(response.interim[0]?.lines).toContain('X-Hint: caf\xe9');
    expect([response.status, response.body]).toEqual([200, 'ok']);
  });

  it('is passed on at once, not with the final response', async () => {
    const { client } = await startWire([{ write: hints }, { take: () => {} }]);
    client.send(get('/v1/x'));
    // The backend never sends the final response.
    expect(await client.bytes('HTTP/1.1 103'.length)).toBe('HTTP/1.1 103');
  });
});
