import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { acceptedOrFaults, loadPair, object, type Schema } from './fixtures.ts';

// Schemas of contracts that no reader can follow: each of them says so, or assumes the worst.

const text: Schema = { type: 'string' };
const empty: Schema = object({});
// More than can be followed.
const tooMany: Schema = { oneOf: Array.from({ length: 65 }, (_, n) => object({ [`a${n}`]: text })) };
const tooManyTexts: Schema = { anyOf: Array.from({ length: 65 }, (_, n) => ({ ...text, minLength: n })) };

interface Parts {
  readonly query?: Schema;
  readonly body?: Schema;
  readonly response: Schema;
}

function contractWith({ query = text, body = empty, response }: Parts): string {
  const json = (schema: Schema) => ({ content: { 'application/json': { schema } } });
  const post = {
    parameters: [{ name: 'kind', in: 'query', required: true, schema: query }],
    requestBody: json(body),
    responses: { 200: { description: '', ...json(response) } },
  };
  return JSON.stringify({ openapi: '3.1.0', info: { title: 'd', version: '1' }, paths: { '/drinks': { post } } });
}

/** What `version-gateway adapter /v1 /v2` prints. */
async function draft(v1: Parts, v2: Parts): Promise<string> {
  const folder = temporaryFolder();
  const routes = {
    '/v1': { upstream: 'http://127.0.0.1:3001', contract: 'v1.json' },
    '/v2': { upstream: 'http://127.0.0.1:3002', contract: 'v2.json' },
  };
  writeFileSync(join(folder, 'v1.json'), contractWith(v1));
  writeFileSync(join(folder, 'v2.json'), contractWith(v2));
  writeFileSync(join(folder, 'routes.yaml'), JSON.stringify({ routes }));
  const { stdout, stderr } = await runIn(folder, ['adapter', '/v1', '/v2']);
  return stdout + stderr;
}

it('an operation within a schema with too many alternatives is a fault', async () => {
  const [v1, v2] = [object({ kind: tooMany, b: text }), object({ kind: tooMany, a: text })];
  const operations = [{ rename: { '/kind/a1': 'b1' } }];
  expect(acceptedOrFaults(await loadPair({ v1, v2, operations }))).toContain(
    'The schema has too many alternatives to be followed.  Mark the route as gone, with the reason.',
  );
});

it('a draft leaves a schema with too many alternatives to its reader', async () => {
  const v1 = { query: tooManyTexts, body: object({ a: tooMany, b: tooManyTexts }), response: object({ c: tooMany }) };
  const v2 = { query: tooManyTexts, body: object({ a: tooMany, d: tooManyTexts }), response: object({ e: tooMany }) };
  const drafted = await draft(v1, v2);
  expect(drafted).toContain('- default: { d: … }  # decide: the value that /v2 gets\n');
  expect(drafted).toContain('- default: { c: … }  # decide: the value that /v1 gets\n');
  expect(drafted).toContain('1 route: 0 adapted, 0 gone, 1 with open faults\n');
});

it('a draft takes a pattern that is no regular expression for any text, and says that no value can be checked', async () => {
  const v1 = { response: object({ a: { ...text, pattern: '[' } }) };
  const drafted = await draft(v1, { response: object({ a: { type: 'number' } }) });
  expect(drafted).toContain('- convert: { a: string }\n');
  expect(drafted).toContain(
    'The pattern is not a regular expression of JavaScript, so no value can be checked with it',
  );
});
