import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../config/temporary.ts';
import { eventually } from '../../support/eventually.ts';
import { ask, get } from '../../support/rawClient.ts';
import { compared, droppedFor, startShadowed } from './shadowedGateway.ts';

const contract = JSON.stringify({
  openapi: '3.1.0',
  info: { title: 'a', version: '1' },
  paths: {
    '/a': {
      parameters: [{ in: 'header', name: 'X-Tenant' }, { $ref: '#/components/parameters/Key' }],
      get: {
        parameters: [
          'X-User-Id',
          'X-Staff-Badge',
          'Authorization',
          'X-Azure-FDID',
          'X-Plan',
          'X-Remote-Addr',
          'X-Real-IP',
        ].map((name) => ({ in: 'header', name })),
        responses: {},
      },
    },
  },
  components: { parameters: { Key: { in: 'header', name: 'X-Api-Key' } } },
});

it('copies only fields that a comparison needs, and no identity, with credentials: drop', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'v1.json'), contract);
  const gateway = await startShadowed({
    v1: { contract: join(folder, 'v1.json') },
    log: { redact: ['x_staff_badge'] },
  });
  const marked = [
    ...[
      'X-User-Id',
      'X-Staff-Badge',
      'X-Api-Key',
      'X-Azure-FDID',
      'X-Remote-Addr',
      'X-Real-IP',
      'DPoP',
      'X-User',
      'Baggage',
    ],
    ...['X-Amzn-Oidc-Data', 'Client-Cert', 'X-Own', 'Idempotency-Key', 'Traceparent', 'Via', 'X-Account'],
  ].map((name) => `${name}: marker`);
  const tokens = ['Authorization: Bearer marker', 'X-Plan: Basic marker', 'Prefer: eyJmarker'];
  const needed = ['X-Tenant: bar', 'Accept: a/b', 'Accept-Version: 1', 'Content-Language: de', 'X-Requested-With: x'];
  await ask(gateway.port, get('/v1/a', ...marked, ...tokens, ...needed));
  await eventually(() => expect(gateway.v2.requests).toHaveLength(1));
  const { raw } = gateway.v2.request;
  expect(raw.split('\r\n').filter((line) => line.includes('marker'))).toEqual([]);
  for (const line of needed) expect(raw).toContain(`\r\n${line}\r\n`);
  for (const line of tokens) expect(gateway.v1.request.raw).toContain(line);
});

it('sends everything with credentials: pass', async () => {
  const secret = ['Authorization: Bearer s3', 'Cookie: a=1', 'X-Client-Id: shop', 'User-Agent: shop/1', 'X-User-Id: 7'];
  const gateway = await startShadowed({
    shadow: { credentials: 'pass' },
    usage: { identify: ['header:x-client-id', 'user-agent', 'address'] },
  });
  await ask(gateway.port, get('/v1/a;jsessionid=1?token=1&a=eyJ', ...secret));
  await eventually(() => expect(gateway.v2.requests).toHaveLength(1));
  for (const line of [...secret, 'X-Forwarded-For: 127.0.0.1'])
    expect(gateway.v2.request.raw).toContain(`\r\n${line}\r\n`);
});

it.each(['drop', 'pass'])('never copies a request that overrides its method (credentials: %s)', async (credentials) => {
  const gateway = await startShadowed({ shadow: { credentials } });
  const fields = ['X-HTTP-Method-Override', 'x-http-method', 'X-Method-Override', 'X_HTTP_METHOD_OVERRIDE'];
  const names = [
    '_method',
    '%5FMethod',
    '$method',
    '_HttpMethod',
    'http_method',
    'x-tunneled-method',
    '_method_override',
    'data[_method]',
    'data%5B_method%5D',
    'DATA%5b%5FMETHOD%5d',
    'a[b][_Method]',
    'a%5Bb%5D%5B%5B_method',
    '_method[]',
    '_method%5B0%5D',
    'data[method_override]',
    'data.x-http-method-override',
    'data._method',
    '.method',
    'data[method]',
    '%255Fmethod',
    'data%255B_method%255D',
  ];
  const queries = [...names.map((name) => `a=1&${name}=delete`), 'a=1;_method=PUT', 'method=delete', 'Method=+PATCH'];
  for (const field of fields) await ask(gateway.port, get('/v1/a', `${field}: DELETE`));
  for (const query of queries) await ask(gateway.port, get(`/v1/a?${query}`));
  // A copy of an earlier request would have been sent before this one.
  const last =
    '/last?method=card&payment_method=put&methods=DELETE&a=%26_method&data[method]=card&pay[payment_method]=put&m%ff=a';
  await ask(gateway.port, get(`/v1${last}`, 'X-Payment-Method: card'));
  await eventually(async () => expect(await compared(gateway)).toBe(1));
  expect(gateway.v1.requests).toHaveLength(fields.length + queries.length + 1);
  expect(gateway.v2.requests.map(({ raw }) => raw.split(' ')[1])).toEqual([last]);
});

it('drops a path or a query with a secret, and a route without a counterpart', async () => {
  const gateway = await startShadowed({ v1: { moved: { '/old': null } }, log: { redact: ['badge'] } });
  await ask(gateway.port, get('/v1/a?access_token=1'));
  await ask(gateway.port, get('/v1/a?badge=1'));
  const values = [
    'a=Bearer%20x',
    'a=1&b=bearer+x',
    'a=Basic%20dTpw',
    'b=eyJhbGciOiJIUzI1NiJ9',
    'eyJhbGciOiJIUzI1NiJ9',
    'a=%65yJ',
    'q=x+Bearer+y',
    'q=sk_live_0a1b',
    'q=%67hp_0a1b',
    'a=Digest%20x',
  ];
  for (const query of [...values, 'a={"t":"eyJh.eyJi.c"}']) await ask(gateway.port, get(`/v1/a?${query}`));
  for (const path of ['a;jsessionid=1', 'token=1/a', 'a;badge=1', 'reset/eyJh.eyJi.c', 'key/AKIA0123456789AB'])
    await ask(gateway.port, get(`/v1/${path}`));
  await ask(gateway.port, get('/v1/old'));
  await droppedFor(gateway, { secret: 18, 'no-counterpart': 1 });
  expect(gateway.v2.requests).toEqual([]);
});
