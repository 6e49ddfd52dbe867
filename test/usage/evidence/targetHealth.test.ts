import { describe, expect, it } from 'vitest';
import { type ContactFacts, mergeContacts, observedHealth } from '../../../gateway/usage/evidence/targetHealth.ts';

const untried: ContactFacts = { reachable: undefined, ejectedUntil: undefined };
const answeredAt = (lastSuccess: number): ContactFacts => ({ ...untried, reachable: true, lastSuccess });
/** `lastSuccess` is earlier than the failures, as in each process. */
const failing = (failingSince: number, lastFailure: number, lastSuccess?: number): ContactFacts => ({
  ...untried,
  reachable: false,
  failingSince,
  lastFailure,
  lastSuccess,
});
const failsProbes: ContactFacts = { ...failing(10, 20, 25), failsProbes: true };
const ejected: ContactFacts = { ...failing(10, 20), ejectedUntil: 99 };

describe('the contacts of several processes', () => {
  it.each<[string, ContactFacts[], object]>([
    ['none', [untried, untried], { health: 'not tried', reachable: undefined }],
    ['one success', [untried, answeredAt(5), untried], { health: 'healthy', reachable: true }],
    ['a failure and no success', [untried, failing(5, 9)], { health: 'failing', failingSince: 5, reachable: false }],
    ['a failure after the last success', [answeredAt(5), failing(7, 9)], { health: 'failing', failingSince: 7 }],
    ['a failure before and after a success', [answeredAt(8), failing(7, 9)], { health: 'failing', failingSince: 8 }],
    ['a failure before the last success', [answeredAt(10), failing(7, 9, 3)], { health: 'healthy', reachable: true }],
    ['two failures', [failing(7, 9), failing(6, 8, 2), answeredAt(3)], { health: 'failing', failingSince: 6 }],
    ['failed probes', [failsProbes, answeredAt(30)], { health: 'failing', failingSince: 10 }],
    ['an ejection', [ejected, answeredAt(30)], { health: 'ejected', ejectedUntil: 99 }],
  ])('%s', (_what, processes, expected) => {
    expect(observedHealth(processes.reduce(mergeContacts))).toMatchObject(expected);
    expect(observedHealth(processes.toReversed().reduce(mergeContacts))).toMatchObject(expected);
  });
});
