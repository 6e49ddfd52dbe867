import { expect } from 'vitest';
import { Contract } from '../../support/contract.ts';
import { ifNoneMatch, post } from '../start.ts';

export const contract = Contract.read('services/v1/contract/openapi.yaml');
export const ladyDraft = {
  title: 'White Lady',
  base: 'gin',
  price: '9.00',
  ingredients: ['gin', 'triple sec', 'lemon juice'],
};
const current = ifNoneMatch('*');

/** Route and status of a response, and the request. No request depends on an earlier one. */
export const exchanges: [name: string, path: string, init?: RequestInit][] = [
  ['GET /cocktails 200', '/cocktails'],
  ['GET /cocktails 200', '/cocktails?base=gin&limit=1'],
  ['GET /cocktails 200', '/cocktails', { headers: { cookie: 'a=b; last_seen=10' } }],
  ['GET /cocktails 200', '/cocktails?later=unknown'],
  ['GET /cocktails 304', '/cocktails', current],
  ['GET /cocktails 400', '/cocktails?base=absinthe'],
  ['GET /cocktails 400', '/cocktails?base='],
  ['GET /cocktails 400', '/cocktails?base=gin&base=rum'],
  ['GET /cocktails 400', '/cocktails?limit=0'],
  ['GET /cocktails 400', '/cocktails?limit=51'],
  ['GET /cocktails 400', '/cocktails?limit=2.5'],
  ['GET /cocktails 400', '/cocktails?cursor=-1'],
  ['POST /cocktails 201', '/cocktails', post(ladyDraft)],
  ['POST /cocktails 400', '/cocktails', post({ ...ladyDraft, price: '1000.00' })],
  ['POST /cocktails 400', '/cocktails', post('{"title":')],
  ['POST /cocktails 400', '/cocktails', post('[]')],
  ['POST /cocktails 400', '/cocktails', post('')],
  ['POST /cocktails 413', '/cocktails', post({ ...ladyDraft, title: 'a'.repeat(16_384) })],
  ['POST /cocktails 415', '/cocktails', post(ladyDraft, 'text/plain')],
  ['GET /drinks/{id} 200', '/drinks/7'],
  ['GET /drinks/{id} 304', '/drinks/7', current],
  ['GET /drinks/{id} 400', '/drinks/mojito'],
  ['GET /drinks/{id} 400', '/drinks/%zz'],
  ['GET /drinks/{id} 404', '/drinks/999'],
  ['GET /ingredients 200', '/ingredients'],
  ['GET /ingredients 200', '/ingredients?base=tequila'],
  ['GET /ingredients 304', '/ingredients', current],
  ['GET /ingredients 400', '/ingredients?base=absinthe'],
  ['GET /legacy-search 200', '/legacy-search?q=MULE'],
  ['GET /legacy-search 304', '/legacy-search?q=mule', current],
  ['GET /legacy-search 400', '/legacy-search'],
  ['GET /health 200', '/health'],
];

/** Whether v2 cannot answer the route of an exchange; see examples/adapter.yaml. */
export function isGone(name: string): boolean {
  return /^GET \/(?:ingredients|legacy-search) /.test(name);
}

/** Sends all exchanges to a gateway at `base` that serves v1 with examples/adapter.yaml, and checks its answers. */
export async function expectAdaptedAnswers(base: string): Promise<void> {
  for (const [name, path, init] of exchanges) {
    const response = await fetch(`${base}/v1${path}`, init);
    const { status, headers } = response;
    const text = await response.text();
    const operation = name.slice(0, -4);
    if (isGone(name)) expect([name, status, text]).toEqual([name, 410, expect.stringContaining('ROUTE_NOT_ADAPTED')]);
    else {
      expect(`${operation} ${status}`).toBe(name);
      expect(contract.faults(operation, { status, headers, text })).toEqual([]);
    }
    if (status < 400) expect(headers.get('deprecation')).toBe('@1782777600');
  }
}
