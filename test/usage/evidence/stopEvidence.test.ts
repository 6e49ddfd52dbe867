import { expect, it } from 'vitest';
import { type StopFacts, stopEvidence } from '../../../gateway/usage/evidence/stopEvidence.ts';

const idle: StopFacts = { hasEnded: true, open: 0, isOpenKnown: true, blockers: [] };
const silent = { text: 'gw-2 not heard for 41 s', used: 'not known' } as const;
const serving = { text: 'gw-3 still serves it', used: 'yes' } as const;

it.each<[string, Partial<StopFacts>, string]>([
  ['nothing uses them', {}, 'yes'],
  ['the version is served', { hasEnded: false }, 'no'],
  ['a request is open', { open: 1 }, 'no'],
  ['a worker does not answer', { isOpenKnown: false }, 'not known'],
  ['a worker does not answer, and a request is open', { isOpenKnown: false, open: 1 }, 'no'],
  ['a gateway is silent', { blockers: [silent] }, 'not known'],
  ['another gateway uses them', { blockers: [serving] }, 'no'],
  ['a gateway is silent, and another one uses them', { blockers: [silent, serving] }, 'no'],
])('backends are safe to stop if %s: %s', (_when, facts, answer) => {
  expect(stopEvidence({ ...idle, ...facts })).toBe(answer);
});
