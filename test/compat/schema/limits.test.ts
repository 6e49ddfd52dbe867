import { describe, expect, it } from 'vitest';
import { matchesPattern } from '../../../gateway/compat/schema/limits.ts';

const many = 'a'.repeat(32);

describe('a pattern', () => {
  it.each([
    ['^[a-z]$', 'a', true],
    ['^[a-z]$', 'ab', false],
    ['b', 'abc', true],
    ['^(GET|POST)$', 'POST', true],
    ['^(?:[a-z]+-)*[a-z]+$', 'dry-gin', true],
    ['^\\p{L}+$', 'é', true],
  ])('%s tried with %s: %s', (pattern, text, expected) => {
    expect(matchesPattern(pattern, text)).toBe(expected);
  });

  it.each([
    ['that is none', '(', 'a'],
    ['that no `u` allows', '\\-', '-'],
    ['with loops in a loop, for a long text', '^(a+)+$', `${many.slice(1)}!`],
    ['with choices in a loop', '^(a|a)*$', 'a'],
    ['with too many loops', '^a*a*a*a*a*$', 'a'],
    ['of any length', `^${'a?'.repeat(80)}$`, 'a'],
    ['for a text of any length', 'a', `${many}a`],
  ])('%s is not tried', (_what, pattern, text) => {
    expect(matchesPattern(pattern, text)).toBeUndefined();
  });

  it.each([
    ['^a*a*a*a*$', `${many.slice(1)}!`],
    ['^(a+)+$', 'aaaaaaaaaaa!'],
    [`^${'(a|a)'.repeat(19)}$`, 'a'.repeat(20)],
  ])('%s takes no time', (pattern, text) => {
    const before = process.cpuUsage();
    expect(matchesPattern(pattern, text)).toBe(false);
    const { user } = process.cpuUsage(before);
    expect(user / 1000).toBeLessThan(500);
  });
});
