import { expect, it } from 'vitest';
import { startBackend } from '../support/backend.ts';
import { startTestGateway, unansweringUrl } from '../support/gateway.ts';
import { ask, get, post } from '../support/rawClient.ts';

// Not a byte has left, so that even a POST may be sent again.
it.each([
  ['GET', get('/v1/x')],
  ['POST', post('/v1/x', 'body')],
])('a %s whose target accepts no connection in time goes to the next target', async (_method, request) => {
  const backend = await startBackend();
  const gateway = await startTestGateway({
    '/v1': { upstream: [await unansweringUrl(), backend.url], timeouts: { connect: '200ms' } },
  });
  expect((await ask(gateway.port, request)).status).toBe(200);
  expect(backend.requests).toHaveLength(1);
});
