import { describe, expect, it } from 'vitest';
import { contractOf, findingsBetween, type Json } from '../support/comparing.ts';

const [text, whole] = [{ type: 'string' }, { type: 'integer' }];
const closed = { type: 'object', additionalProperties: false };
const marked = { patternProperties: { '^x-': text } };

function toldOf(old: Json, now: Json): string[] {
  const findings = findingsBetween(contractOf('request', old), contractOf('request', now));
  return findings.map(({ level, rule }) => `${level} ${rule}`);
}

const tightened = ['error request-constraint-tightened'];
const relaxed = ['info param-relaxed'];

describe('patternProperties in a request', () => {
  it.each<[what: string, old: Json, now: Json]>([
    ['removed from a closed object', { ...closed, ...marked }, closed],
    [
      'removed from an object closed by unevaluatedProperties',
      { type: 'object', unevaluatedProperties: false, ...marked },
      { type: 'object', unevaluatedProperties: false },
    ],
    [
      'removed, and other fields have another type',
      { type: 'object', additionalProperties: whole, ...marked },
      { type: 'object', additionalProperties: whole },
    ],
    ['added to an open object', { type: 'object' }, { type: 'object', ...marked }],
    [
      'added to an object with additionalProperties: {}',
      { type: 'object', additionalProperties: {} },
      { type: 'object', additionalProperties: {}, ...marked },
    ],
    [
      'added, and other fields had another type',
      { type: 'object', additionalProperties: whole },
      { type: 'object', additionalProperties: whole, ...marked },
    ],
    [
      'added, and matches a field of another type',
      { ...closed, properties: { 'x-a': whole } },
      { ...closed, properties: { 'x-a': whole }, ...marked },
    ],
    [
      'added, with an expression too complex to test on a field',
      { ...closed, properties: { 'x-a': whole } },
      { ...closed, properties: { 'x-a': whole }, patternProperties: { '^((y|y)*)*$': text } },
    ],
    [
      'added beside another pattern',
      { ...closed, patternProperties: { '^x': whole } },
      { ...closed, patternProperties: { '^x': whole, '^x-': text } },
    ],
  ])('%s: accepts less', (_what, old, now) => {
    expect(toldOf(old, now)).toEqual(tightened);
  });

  it.each<[what: string, old: Json, now: Json]>([
    [
      'added to a closed object',
      { ...closed, properties: { a: text } },
      { ...closed, properties: { a: text }, ...marked },
    ],
    [
      'added, and does not match a field of another type',
      { ...closed, properties: { a: whole } },
      { ...closed, properties: { a: whole }, ...marked },
    ],
    [
      'added, and matches a field of the same type',
      { ...closed, properties: { 'x-a': text } },
      { ...closed, properties: { 'x-a': text }, ...marked },
    ],
    ['removed from an open object', { type: 'object', ...marked }, { type: 'object' }],
    [
      'removed, and other fields have the same type',
      { type: 'object', additionalProperties: text, ...marked },
      { type: 'object', additionalProperties: text },
    ],
  ])('%s: accepts the same or more', (_what, old, now) => {
    expect(toldOf(old, now)).toEqual(relaxed);
  });

  it('removed while the object is opened or closed', () => {
    expect(toldOf({ ...closed, ...marked }, { type: 'object' })).not.toContain(tightened[0]);
    expect(toldOf({ type: 'object', ...marked }, closed)).toContain(tightened[0]);
  });
});

function findingsOfNot(direction: 'request' | 'response', old: Json, now: Json): string[] {
  const [before, after] = [old, now].map((not) => contractOf(direction, { type: ['string', 'integer', 'null'], not }));
  return findingsBetween(before, after).map(({ level, rule }) => `${level} ${rule}`);
}

const fewer: readonly (readonly [more: Json, fewer: Json])[] = [
  [{ enum: ['admin', 'root'] }, { enum: ['admin'] }],
  [{ enum: ['admin', 'root'] }, { const: 'root', description: 'the administrator' }],
  [{ type: ['string', 'integer'] }, { type: 'string' }],
  [{ type: 'number' }, { type: 'integer' }],
];

const unlike: readonly (readonly [one: Json, other: Json])[] = [
  [{ enum: ['admin', 'root'] }, { enum: ['admin', 'boss'] }],
  [{ type: 'string' }, { type: 'integer' }],
  [{ type: 'string' }, { enum: ['admin'] }],
  [
    { enum: ['admin', 'root'], type: 'string' },
    { enum: ['admin'], type: 'integer' },
  ],
];

describe('the values that `not` excludes', () => {
  it.each(fewer)('%j → %j: excludes less, and more in reverse', (old, now) => {
    expect(findingsOfNot('request', old, now)).toEqual(expect.arrayContaining(['info param-relaxed']));
    expect(findingsOfNot('request', old, now).filter((told) => told.startsWith('error'))).toEqual([]);
    expect(findingsOfNot('request', now, old)).toContain('error request-constraint-tightened');
    expect(findingsOfNot('response', old, now)).toContain('warn response-value-added');
    expect(findingsOfNot('response', now, old)).toContain('info response-strengthened');
  });

  it.each(unlike)('%j → %j: neither includes the other', (old, now) => {
    expect(findingsOfNot('request', old, now)).toContain('error request-constraint-tightened');
    expect(findingsOfNot('request', now, old)).toContain('error request-constraint-tightened');
  });

  it('may be written differently', () => {
    expect(findingsOfNot('request', { enum: ['a', 'b'] }, { enum: ['b', 'a'] })).toEqual([]);
    expect(findingsOfNot('request', { const: 'a' }, { enum: ['a'] })).toEqual([]);
  });
});

describe('keywords of a type that only one of the schemas accepts', () => {
  const levels = (direction: 'request' | 'response', old: Json, now: Json): string[] =>
    findingsBetween(contractOf(direction, old), contractOf(direction, now)).map(
      ({ level, rule }) => `${level} ${rule}`,
    );

  it.each<[what: string, keywords: Json]>([
    ['object', { properties: { id: text }, required: ['id'], additionalProperties: false }],
    ['object', { propertyNames: { maxLength: 3 } }],
    ['array', { items: text, minItems: 1, contains: { const: 'a' } }],
    ['string', { pattern: '^[a-z]+$', maxLength: 5, format: 'email' }],
    ['string', { contentEncoding: 'base64' }],
    ['number', { minimum: 5, format: 'double' }],
  ])('%s with %j: only the type changes', (type, keywords) => {
    const single = { type: 'boolean' };
    const both = { type: ['boolean', type], ...keywords };
    expect(levels('request', single, both)).toEqual(['info param-relaxed']);
    expect(levels('request', both, single)).toEqual(['error request-type-changed']);
    expect(levels('response', both, single)).toEqual(['info response-strengthened']);
    expect(levels('response', single, both)).toEqual(['error response-type-changed']);
  });

  it('are not compared with a schema that accepts only null', () => {
    const [nothing, listed] = [{ type: 'null' }, { enum: [null, 3] }];
    expect(levels('request', nothing, listed)).toEqual(['info param-relaxed']);
    expect(levels('request', { type: ['string', 'null'] }, { enum: [null] })).toEqual(['error request-type-changed']);
    expect(levels('response', listed, nothing)).toEqual(['info response-strengthened']);
  });

  it('are compared if a type may be a mistake', () => {
    const [old, now] = [{ type: 'string', properties: { id: text } }, { type: 'string' }];
    expect(levels('response', old, now)).toEqual(['error response-field-removed']);
  });
});

it('an item of prefixItems that may have any value is no limit', () => {
  const [old, now] = [[text], [text, {}]].map((prefixItems) => contractOf('request', { type: 'array', prefixItems }));
  expect(findingsBetween(old, now)).toEqual([]);
});
