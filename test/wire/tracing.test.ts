import { describe, expect, it } from 'vitest';
import { ask, get } from '../support/rawClient.ts';
import { singleValueOf, valuesOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

describe('X-Request-Id', () => {
  it('is made for each request without one', async () => {
    const { backend, port } = await startWire();
    await ask(port, get('/v1/x'));
    await ask(port, get('/v1/x'));
    const [first, second] = backend.requests.map((request) => singleValueOf(request, 'x-request-id'));
    expect(first).toMatch(/^[\w.-]{8,128}$/);
    expect(second).not.toBe(first);
  });

  it.each(['abc-123', '0af7651916cd43dd8448eb211c80319c', '01890a5d-ac96-774b-bcce-b302099a8057'])(
    '%s is kept',
    async (id) => {
      const { backend, port } = await startWire();
      await ask(port, get('/v1/x', `x-request-id: ${id}`));
      expect(valuesOf(backend.request, 'x-request-id')).toEqual([id]);
    },
  );

  it.each([
    ['long', ['a'.repeat(300)]],
    ['empty', ['']],
    ['with markup', ['<script>']],
    ['with a space', ['a b']],
    ['with a quote', ['a"b']],
    ['with obs-text', ['a\xe9']],
    ['with a tab', ['a\tb']],
  ])('that is %s is replaced', async (_name, ids) => {
    const { backend, port } = await startWire();
    await ask(port, get('/v1/x', ...ids.map((id) => `X-Request-Id: ${id}`)));
    const sent = singleValueOf(backend.request, 'x-request-id');
    expect(sent).toMatch(/^[\w.-]{8,128}$/);
    expect(ids).not.toContain(sent);
  });

  it('is sent once, even if the client sent several', async () => {
    const { backend, port } = await startWire();
    await ask(port, get('/v1/x', 'X-Request-Id: one', 'X-Request-Id: two'));
    expect(valuesOf(backend.request, 'x-request-id')).toHaveLength(1);
  });
});

it('the trace context is passed on unchanged', async () => {
  const { backend, port } = await startWire();
  const fields = ['traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'tracestate: a=1, b=2'];
  await ask(port, get('/v1/x', ...fields));
  expect(backend.request.lines).toEqual(expect.arrayContaining(fields));
});

it.each([
  ['absent', []],
  ['invalid', ['traceparent: 00-0-0-01', 'tracestate: a=1']],
  ['sent twice', [1, 2].map((n) => `traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333${n}-01`)],
  ['absent, although there is a state', ['tracestate: a=1']],
])('if the trace context is %s, a new trace begins, without a state', async (_name, fields) => {
  const { backend, port } = await startWire();
  await ask(port, get('/v1/x', ...fields));
  expect(valuesOf(backend.request, 'traceparent')).toEqual([
    expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
  ]);
  expect(valuesOf(backend.request, 'tracestate')).toEqual([]);
});

it('a trace state in several lines stays in order', async () => {
  const { backend, port } = await startWire();
  const parent = 'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await ask(port, get('/v1/x', 'tracestate: a=1', parent, 'tracestate: b=2'));
  expect(valuesOf(backend.request, 'tracestate').join(', ')).toBe('a=1, b=2');
});
