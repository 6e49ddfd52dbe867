import { describe, expect, it } from 'vitest';
import { matchesPattern } from '../../../gateway/contract/schema/limits.ts';

const many = 'a'.repeat(32);

describe('a pattern', () => {
  it.each([
    ['^[a-z]$', 'a', true],
    ['^[a-z]$', 'ab', false],
    ['b', 'abc', true],
    ['^(GET|POST)$', 'POST', true],
    ['^(?:[a-z]+-)*[a-z]+$', 'dry-gin', true],
    ['^\\p{L}+$', 'é', true],
  ])('%s matches %s: %s', (pattern, text, expected) => {
    expect(matchesPattern(pattern, text)).toBe(expected);
  });

  it.each([
    ['that is invalid', '(', 'a'],
    ['that is invalid with the u flag', '\\-', '-'],
    ['with nested loops, on a long text', '^(a+)+$', `${many.slice(1)}!`],
    ['with a choice in a loop', '^(a|a)*$', 'a'],
    ['with too many loops', '^a*a*a*a*a*$', 'a'],
    ['that is too long', `^${'a?'.repeat(80)}$`, 'a'],
    ['on a text that is too long', 'a', `${many}a`],
  ])('%s is not tested', (_what, pattern, text) => {
    expect(matchesPattern(pattern, text)).toBeUndefined();
  });

  it.each([
    ['^a*a*a*a*$', `${many.slice(1)}!`],
    ['^(a+)+$', 'aaaaaaaaaaa!'],
    [`^${'(a|a)'.repeat(19)}$`, 'a'.repeat(20)],
  ])('%s is tested quickly', (pattern, text) => {
    const before = process.cpuUsage();
    expect(matchesPattern(pattern, text)).toBe(false);
    const { user } = process.cpuUsage(before);
    expect(user / 1000).toBeLessThan(500);
  });
});
