import { describe, expect, it } from 'vitest';
import { contractOf, findingsBetween, type Json } from '../support/comparing.ts';

function toldOf(direction: 'request' | 'response', old: Json, now: Json): string[] {
  const [before, after] = [old, now].map((not) => contractOf(direction, { type: ['string', 'integer', 'null'], not }));
  return findingsBetween(before, after).map(({ level, rule }) => `${level} ${rule}`);
}

const fewer: readonly (readonly [more: Json, fewer: Json])[] = [
  [{ enum: ['admin', 'root'] }, { enum: ['admin'] }],
  [{ enum: ['admin', 'root'] }, { const: 'root', description: 'the one and only' }],
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

describe('what `not` rules out', () => {
  it.each(fewer)('%j → %j: more is taken, and less the other way round', (old, now) => {
    expect(toldOf('request', old, now)).toEqual(expect.arrayContaining(['info param-relaxed']));
    expect(toldOf('request', old, now).filter((told) => told.startsWith('error'))).toEqual([]);
    expect(toldOf('request', now, old)).toContain('error request-constraint-tightened');
    expect(toldOf('response', old, now)).toContain('warn response-value-added');
    expect(toldOf('response', now, old)).toContain('info response-strengthened');
  });

  it.each(unlike)('%j → %j: something else', (old, now) => {
    expect(toldOf('request', old, now)).toContain('error request-constraint-tightened');
    expect(toldOf('request', now, old)).toContain('error request-constraint-tightened');
  });

  it('may be written in another way', () => {
    expect(toldOf('request', { enum: ['a', 'b'] }, { enum: ['b', 'a'] })).toEqual([]);
    expect(toldOf('request', { const: 'a' }, { enum: ['a'] })).toEqual([]);
  });
});
