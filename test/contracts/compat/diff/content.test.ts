import { describe, expect, it } from 'vitest';
import { findingsBetween, type Json } from '../support/comparing.ts';

const multipart = 'multipart/form-data';
const urlencoded = 'application/x-www-form-urlencoded';
const text = { type: 'string' };
const list = { type: 'array', items: text };
const object = { type: 'object', properties: { b: text } };

function form(type: string, schema: Json, encoding: unknown, openapi: string, direction: string): Json {
  const content = { [type]: { schema: { type: 'object', properties: { a: schema } }, encoding } };
  const operation =
    direction === 'request'
      ? { requestBody: { content }, responses: { 204: { description: 'done' } } }
      : { responses: { 200: { description: 'fine', content } } };
  return { openapi, info: { title: 'drinks', version: '1.0.0' }, paths: { '/drinks': { post: operation } } };
}

function contentOf(contract: Json): Record<string, object> {
  const { paths } = contract as {
    paths: { '/drinks': { post: { requestBody: { content: Record<string, object> } } } };
  };
  return paths['/drinks'].post.requestBody.content;
}

interface Case {
  readonly type?: string;
  readonly schema?: Json;
  readonly openapi?: string;
  readonly direction?: string;
}

/** The findings for a form with a property `a` whose `encoding` changes. */
function findingsOf(old: unknown, now: unknown, { type = multipart, schema = text, ...more }: Case = {}): string[] {
  const { openapi = '3.1.0', direction = 'request' } = more;
  const [before, after] = [old, now].map((encoding) =>
    form(type, schema, encoding === undefined ? undefined : { a: encoding }, openapi, direction),
  );
  return findingsBetween(before, after).map(({ level, rule }) => `${level} ${rule}`);
}

const changed = ['error structure-changed'];
const equivalent = ['info structure-equivalent'];

describe('a breaking change of an encoding', () => {
  it.each<[what: string, old: unknown, now: unknown, where?: Case]>([
    ['another media type than the default', undefined, { contentType: 'image/png' }],
    ['one media type fewer', { contentType: 'image/png, image/gif' }, { contentType: 'image/png' }],
    ['a range that shrinks', { contentType: 'image/*' }, { contentType: 'image/png' }],
    ['another media type', { contentType: 'image/png' }, { contentType: 'image/gif' }],
    ['plain text in place of JSON', undefined, { contentType: 'text/plain' }, { schema: object }],
    ['JSON in place of plain text, item by item', undefined, { contentType: 'application/json' }, { schema: list }],
    [
      'a type that depends on the value',
      undefined,
      { contentType: 'text/plain' },
      { schema: { type: ['string', 'object'] } },
    ],
    [
      'text for base64 since 3.1',
      undefined,
      { contentType: 'text/plain' },
      { schema: { ...text, contentEncoding: 'base64' } },
    ],
    ['lists that are not exploded', undefined, { style: 'form', explode: false }, { type: urlencoded, schema: list }],
    ['another style', { style: 'spaceDelimited' }, { style: 'pipeDelimited' }, { type: urlencoded, schema: list }],
    [
      'fields in place of JSON',
      { contentType: 'application/json' },
      { style: 'form' },
      { type: urlencoded, schema: object },
    ],
    ['a header', undefined, { headers: { 'X-Size': { schema: text } } }],
    [
      'one more media type in a response',
      { contentType: 'image/png' },
      { contentType: 'image/png, image/gif' },
      { direction: 'response' },
    ],
  ])('%s', (_what, old, now, where) => {
    expect(findingsOf(old, now, where)).toEqual(changed);
  });

  it('reserved characters are no longer allowed', () => {
    const where = { type: urlencoded };
    expect(findingsOf({ allowReserved: true }, undefined, where)).toEqual(['error request-constraint-tightened']);
    expect(findingsOf(undefined, { allowReserved: true }, where)).toEqual(['info param-relaxed']);
  });

  it.each([
    { anyOf: [object, { type: 'object', properties: { z: text } }] },
    { type: 'object', properties: { a: text }, patternProperties: { '^z': text } },
    { type: 'object', properties: { a: text }, additionalProperties: text },
  ])('the encoding of a field that the schema allows: %j', (schema) => {
    const contracts = [undefined, { z: { contentType: 'image/png' } }].map((encoding) => {
      const contract = form(multipart, text, encoding, '3.1.0', 'request');
      Object.assign(contentOf(contract)[multipart] ?? {}, { schema });
      return contract;
    });
    expect(findingsBetween(contracts[0], contracts[1]).map(({ rule }) => rule)).toEqual(['structure-changed']);
  });

  it('names the field', () => {
    const [old, now] = [undefined, { a: { contentType: 'image/png' } }].map((encoding) =>
      form(multipart, text, encoding, '3.1.0', 'request'),
    );
    const [finding] = findingsBetween(old, now);
    expect(finding?.sentence).toContain('field `a` is serialized differently (encoding)');
  });
});

describe('an encoding equal to the default', () => {
  it.each<[what: string, encoding: unknown, where?: Case]>([
    ['nothing', {}, { schema: object }],
    ['plain text', { contentType: 'text/plain' }],
    ['plain text with its charset', { contentType: 'Text/Plain; charset=utf-8' }],
    ['JSON for an object', { contentType: 'application/json' }, { schema: object }],
    [
      'octets for bytes',
      { contentType: 'application/octet-stream' },
      { schema: { ...text, format: 'binary' }, openapi: '3.0.3' },
    ],
    [
      'octets for base64 since 3.1',
      { contentType: 'application/octet-stream' },
      { schema: { ...text, contentEncoding: 'base64' } },
    ],
    [
      'text for base64 before 3.1',
      { contentType: 'text/plain' },
      { schema: { ...text, format: 'byte' }, openapi: '3.0.3' },
    ],
    [
      'the media type of a picture',
      { contentType: 'image/png' },
      { schema: { ...text, contentMediaType: 'image/png' } },
    ],
    ['each item of a list', { contentType: 'text/plain' }, { schema: list }],
    ['each object of a list', { contentType: 'application/json' }, { schema: { type: 'array', items: object } }],
    ['lists exploded', { style: 'form', explode: true }, { type: urlencoded, schema: list }],
    ['objects exploded', { style: 'form' }, { type: urlencoded, schema: object }],
    ['single values exploded or not', { explode: false }, { type: urlencoded }],
    ['a style where 3.0 has none', { style: 'pipeDelimited' }, { schema: list, openapi: '3.0.3' }],
    ['no headers', { headers: { 'Content-Type': { schema: text } } }],
  ])('%s', (_what, encoding, where) => {
    expect(findingsOf(undefined, encoding, where)).toEqual(equivalent);
    expect(findingsOf(encoding, undefined, where)).toEqual(equivalent);
  });

  it('has no effect for a field that the schema does not have', () => {
    const [old, now] = [undefined, { z: { contentType: 'image/png' } }].map((encoding) =>
      form(multipart, text, encoding, '3.1.0', 'request'),
    );
    expect(findingsBetween(old, now).map(({ rule }) => rule)).toEqual(['docs-only']);
  });

  it('has no effect for a media type without parts', () => {
    expect(findingsOf(undefined, { style: 'form' }, { type: 'application/json' })).toEqual(['info docs-only']);
    expect(findingsOf({ contentType: 'a/b' }, undefined, { type: 'text/plain' })).toEqual(['info docs-only']);
  });
});

describe('a wider request or a narrower response', () => {
  it.each([
    ['image/png', 'image/png, image/gif'],
    ['image/png', 'image/*'],
    ['image/png, text/plain', '*/*'],
  ])('%s → %s', (narrow, wide) => {
    expect(findingsOf({ contentType: narrow }, { contentType: wide })).toEqual(['info param-relaxed']);
    const found = findingsOf({ contentType: wide }, { contentType: narrow }, { direction: 'response' });
    expect(found).toEqual(['info response-strengthened']);
  });

  it('an added field includes its encoding', () => {
    const old = form(multipart, object, undefined, '3.1.0', 'request');
    const now = form(multipart, object, { c: { contentType: 'image/png' } }, '3.1.0', 'request');
    const media = { schema: { type: 'object', properties: { a: object, c: text } } };
    Object.assign(contentOf(now)[multipart] ?? {}, media);
    expect(findingsBetween(old, now).map(({ rule }) => rule)).toEqual(['optional-param-added']);
  });
});
