import { describe, expect, it } from 'vitest';
import { ask, startIdleAdmin } from './idleAdmin.ts';

describe('probes', () => {
  it('is alive while the process runs, ready or not', async () => {
    const { status, body, headers } = await ask(await startIdleAdmin({ ready: false }), '/healthz');
    expect([status, body, headers['content-type']]).toEqual([200, 'ok', 'text/plain; charset=utf-8']);
  });

  it('is ready when the gateway is', async () => {
    const { status, body } = await ask(await startIdleAdmin(), '/readyz');
    expect([status, JSON.parse(body)]).toEqual([200, { ready: true }]);
  });

  it('reports why it is not ready', async () => {
    const { status, body } = await ask(await startIdleAdmin({ ready: false }), '/readyz');
    expect([status, JSON.parse(body)]).toEqual([503, { ready: false, reason: 'The gateway is starting or draining.' }]);
  });

  it.each(['/healthz', '/readyz'])('%s is open to every Host and address', async (path) => {
    expect((await ask(await startIdleAdmin({ from: '10.0.0.9' }), path, { host: 'pod-7.example' })).status).toBe(200);
  });

  it('only accepts GET and HEAD', async () => {
    const { status, headers } = await ask(await startIdleAdmin(), '/readyz', {}, 'POST');
    expect([status, headers['allow'], headers['content-type']]).toEqual([405, 'GET, HEAD', 'application/problem+json']);
  });
});

it.each(['/nothing', '/healthz/', '/HEALTHZ'])('answers 404 at %s', async (path) => {
  const { status, headers, body } = await ask(await startIdleAdmin(), path);
  expect([status, headers['content-type']]).toEqual([404, 'application/problem+json']);
  expect(JSON.parse(body)).toMatchObject({ status: 404, title: 'Not found', detail: expect.any(String) });
});

it.each(['/healthz', '/readyz', '/nothing'])(
  '%s may not be cached, sniffed or framed, and does not name Express',
  async (path) => {
    const { headers } = await ask(await startIdleAdmin(), path);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
    });
    expect(headers).not.toHaveProperty('x-powered-by');
  },
);

it('reports why a call failed, without its query, and answers 500', async () => {
  const notices: string[] = [];
  const report = () => Promise.reject(new Error('the workers are gone'));
  const port = await startIdleAdmin({ operations: { live: { report }, notice: (line) => notices.push(line) } });
  const { status, body } = await ask(port, '/api/status?secret=1');
  expect([status, JSON.parse(body).code]).toEqual([500, 'INTERNAL_ERROR']);
  expect(body).not.toContain('workers');
  expect(notices).toEqual([expect.stringMatching(/^GET \/api\/status failed: Error: the workers are gone at .+$/)]);
});
