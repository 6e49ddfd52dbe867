import { describe, expect, it } from 'vitest';
import type { WireFailureKind } from '../../../gateway/http1/responseReader.ts';
import { catalogue } from '../../../gateway/problems/catalogue.ts';
import { type AwaitedParty, type Failure, forwardingFailure } from '../../../gateway/proxy/forwarding/outbound.ts';

const expected = {
  unresolved: { code: 'TARGET_UNRESOLVED', fault: 'target' },
  unreachable: { code: 'TARGET_REFUSED', fault: 'target' },
  exhausted: { code: 'OVERLOADED', fault: 'gateway' },
  untrusted: { code: 'TARGET_UNTRUSTED', fault: 'target' },
  'connect-timeout': { code: 'CONNECT_TIMED_OUT', fault: 'target' },
  lost: { code: 'TARGET_FAILED', fault: 'target' },
  malformed: { code: 'TARGET_MALFORMED', fault: 'target' },
  timeout: { code: 'TARGET_TIMED_OUT', fault: 'target' },
} as const satisfies Record<WireFailureKind, Omit<Failure, 'cause'>>;

const kinds = Object.keys(expected) as WireFailureKind[];

describe.each(kinds)('a failure of the kind %s', (kind) => {
  it('is the fault of the target if the gateway waited for the target', () =>
    expect(forwardingFailure({ kind, cause: 'why' }, 'target')).toEqual({ ...expected[kind], cause: 'why' }));

  it('is the fault of the client only for a time-out', () => {
    const late = { code: 'REQUEST_TIMED_OUT', fault: 'client' };
    expect(forwardingFailure({ kind, cause: 'why' }, 'client')).toEqual({
      ...(kind === 'timeout' ? late : expected[kind]),
      cause: 'why',
    });
  });
});

it.each<[kind: WireFailureKind, waited: AwaitedParty, status: number]>([
  ['unresolved', 'target', 502],
  ['unreachable', 'target', 502],
  ['lost', 'target', 502],
  ['malformed', 'target', 502],
  ['connect-timeout', 'target', 504],
  ['timeout', 'target', 504],
  ['timeout', 'client', 408],
])('%s while waiting for the %s is answered %i', (kind, waited, status) =>
  expect(catalogue[forwardingFailure({ kind, cause: '' }, waited).code].status).toBe(status),
);
