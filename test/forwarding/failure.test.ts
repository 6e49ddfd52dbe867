import { describe, expect, it } from 'vitest';
import { type AwaitedParty, type Failure, failureOf } from '../../gateway/forwarding/failure.ts';
import type { WireFailureKind } from '../../gateway/http1/responseHandler.ts';
import { catalogue } from '../../gateway/problems/catalogue.ts';

const expected = {
  unreachable: { code: 'TARGET_REFUSED', fault: 'target', requestSent: false },
  exhausted: { code: 'OVERLOADED', fault: 'gateway', requestSent: false },
  untrusted: { code: 'TARGET_UNTRUSTED', fault: 'target', requestSent: false },
  'connect-timeout': { code: 'CONNECT_TIMED_OUT', fault: 'target', requestSent: false },
  lost: { code: 'TARGET_FAILED', fault: 'target', requestSent: true },
  malformed: { code: 'TARGET_MALFORMED', fault: 'target', requestSent: true },
  timeout: { code: 'TARGET_TIMED_OUT', fault: 'target', requestSent: true },
} as const satisfies Record<WireFailureKind, Omit<Failure, 'cause'>>;

const kinds = Object.keys(expected) as WireFailureKind[];

describe.each(kinds)('a failure of the kind %s', (kind) => {
  it('is the fault of the target it waited for', () =>
    expect(failureOf({ kind, cause: 'why' }, 'target')).toEqual({ ...expected[kind], cause: 'why' }));

  it('is only a time-out the fault of a client', () => {
    const late = { code: 'REQUEST_TIMED_OUT', fault: 'client', requestSent: true };
    expect(failureOf({ kind, cause: 'why' }, 'client')).toEqual({
      ...(kind === 'timeout' ? late : expected[kind]),
      cause: 'why',
    });
  });
});

it.each<[kind: WireFailureKind, waited: AwaitedParty, status: number]>([
  ['unreachable', 'target', 502],
  ['lost', 'target', 502],
  ['malformed', 'target', 502],
  ['connect-timeout', 'target', 504],
  ['timeout', 'target', 504],
  ['timeout', 'client', 408],
])('%s while the %s was waited for is answered %i', (kind, waited, status) =>
  expect(catalogue[failureOf({ kind, cause: '' }, waited).code].status).toBe(status),
);
