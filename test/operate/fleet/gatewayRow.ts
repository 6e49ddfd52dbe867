import { randomUUID } from 'node:crypto';
import type {
  GatewayIdentity,
  GatewayRow,
  GatewayState,
  StoredVersionLoad,
} from '../../../gateway/operate/fleet/membership.ts';

export function identity(name: string, options: Partial<GatewayIdentity> = {}): GatewayIdentity {
  return {
    instance: randomUUID(),
    epoch: 1,
    name,
    release: '1.0.0',
    addresses: [],
    silentAfter: undefined,
    start: 'wait',
    began: Date.now(),
    previous: undefined,
    ...options,
  };
}

export function gatewayState(options: Partial<GatewayState> = {}): GatewayState {
  const base = { versions: {}, config: 'aaaa', ready: true, problem: undefined, spooled: 0, spooledSince: undefined };
  return { ...base, counted: undefined, questionId: undefined, ...options };
}

/** A row that was heard at `heard`, epoch ms. */
export function gatewayRow(name: string, heard: number, options: Partial<GatewayRow> = {}): GatewayRow {
  return {
    ...gatewayState(),
    instance: `id-of-${name}`,
    name,
    release: '1.0.0',
    addresses: [],
    versions: {},
    started: 0,
    heard,
    configSince: 0,
    skewMs: 0,
    silentAfter: undefined,
    start: 'wait',
    leftAt: undefined,
    goneAt: undefined,
    goneReason: undefined,
    endedAt: undefined,
    ...options,
  };
}

export function retiredLoad(idleSince: number | null, inFlight = 0): StoredVersionLoad {
  return { stage: 'retired', in_flight: inFlight, waiting: 0, targets: [], idle_since: idleSince };
}

export const activeLoad: StoredVersionLoad = {
  stage: 'active',
  in_flight: 0,
  waiting: 0,
  targets: [],
  idle_since: null,
};
