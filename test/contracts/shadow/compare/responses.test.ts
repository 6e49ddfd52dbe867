import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ContractResponses } from '../../../../gateway/contracts/shadow/compare/responses.ts';
import { temporaryFolder } from '../../../config/temporary.ts';

it('takes what a broken $ref describes for absent, and the rest of the contract as it is', async () => {
  const file = join(temporaryFolder(), 'contract.json');
  const broken = { $ref: '#/components/nothing' };
  const parameters = [broken, { in: 'query', name: 'base', required: true, schema: {} }];
  const responses = { 200: broken, 404: { description: 'none', content: { 'application/json': { schema: {} } } } };
  const paths = { '/drinks': { get: { parameters, responses } } };
  writeFileSync(file, JSON.stringify({ openapi: '3.1.0', info: { title: 'Drinks', version: '1' }, paths }));
  const contract = await ContractResponses.read(file, 'v1');
  const listed = (status: number) => contract.listedResponse('GET', '/drinks', status, 'application/json');
  expect(listed(200)).toMatchObject({ hasRoute: true, hasStatus: false, hasMedia: false, schema: undefined });
  expect(listed(404)).toMatchObject({ hasRoute: true, hasStatus: true, hasMedia: true });
  expect([...contract.requiredParameters('GET', '/drinks')]).toEqual(['query base']);
});

it('finds the routes of a version of an API, whose contract repeats the segment', async () => {
  const file = join(temporaryFolder(), 'contract.json');
  const paths = { '/v1/drinks': { get: { responses: { 200: { description: 'all' } } } } };
  writeFileSync(file, JSON.stringify({ openapi: '3.1.0', info: { title: 'Drinks', version: '1' }, paths }));
  const contract = await ContractResponses.read(file, 'orders/v1');
  expect(contract.listedResponse('GET', '/drinks', 200, '').hasRoute).toBe(true);
});
