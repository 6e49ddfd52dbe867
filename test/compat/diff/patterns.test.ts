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

describe('patterns of field names, in a request', () => {
  it.each<[what: string, old: Json, now: Json]>([
    ['go from a closed object', { ...closed, ...marked }, closed],
    [
      'go from one that is closed in other words',
      { type: 'object', unevaluatedProperties: false, ...marked },
      { type: 'object', unevaluatedProperties: false },
    ],
    [
      'go where other fields are something else',
      { type: 'object', additionalProperties: whole, ...marked },
      { type: 'object', additionalProperties: whole },
    ],
    ['come to an open object', { type: 'object' }, { type: 'object', ...marked }],
    [
      'come to one that says that it is open',
      { type: 'object', additionalProperties: {} },
      { type: 'object', additionalProperties: {}, ...marked },
    ],
    [
      'come where other fields were something else',
      { type: 'object', additionalProperties: whole },
      { type: 'object', additionalProperties: whole, ...marked },
    ],
    [
      'come over a field that was something else',
      { ...closed, properties: { 'x-a': whole } },
      { ...closed, properties: { 'x-a': whole }, ...marked },
    ],
    [
      'come over a field, by an expression that is too much to try',
      { ...closed, properties: { 'x-a': whole } },
      { ...closed, properties: { 'x-a': whole }, patternProperties: { '^((y|y)*)*$': text } },
    ],
    [
      'come over another pattern',
      { ...closed, patternProperties: { '^x': whole } },
      { ...closed, patternProperties: { '^x': whole, '^x-': text } },
    ],
  ])('%s: less is taken', (_what, old, now) => {
    expect(toldOf(old, now)).toEqual(tightened);
  });

  it.each<[what: string, old: Json, now: Json]>([
    [
      'come to a closed object',
      { ...closed, properties: { a: text } },
      { ...closed, properties: { a: text }, ...marked },
    ],
    [
      'come beside a field that is something else',
      { ...closed, properties: { a: whole } },
      { ...closed, properties: { a: whole }, ...marked },
    ],
    [
      'come over a field that is the same',
      { ...closed, properties: { 'x-a': text } },
      { ...closed, properties: { 'x-a': text }, ...marked },
    ],
    ['go from an open object', { type: 'object', ...marked }, { type: 'object' }],
    [
      'go where other fields are the same',
      { type: 'object', additionalProperties: text, ...marked },
      { type: 'object', additionalProperties: text },
    ],
  ])('%s: no less is taken', (_what, old, now) => {
    expect(toldOf(old, now)).toEqual(relaxed);
  });

  it('go as the object is opened, or closed', () => {
    expect(toldOf({ ...closed, ...marked }, { type: 'object' })).not.toContain(tightened[0]);
    expect(toldOf({ type: 'object', ...marked }, closed)).toContain(tightened[0]);
  });
});
