import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Snapshot } from '../config/snapshot.ts';
import type { Recorder } from '../observability/exchangeRecord.ts';
import type { Live } from './activeVersion.ts';

/** What every exchange needs from the gateway that it is part of. */
export interface GatewayContext {
  /** Replaced by a reload; an exchange keeps the one that it began with. */
  live: Live;
  readonly now: () => number;
  /** Our name in Via: random, so that it identifies this process only. */
  readonly pseudonym: string;
  /** Exchanges that have begun and are not recorded yet. */
  unrecorded: number;
  /** The gateway is stopping: every answer carries `Connection: close`. */
  draining: boolean;
  /** Receives every exchange that ends; undefined: exchanges are not recorded. */
  recorder?: Recorder | undefined;
  readonly isDiscovery: (path: string, snapshot: Snapshot) => boolean;
  /** Undefined if `isDiscovery` is always false. */
  readonly discovery: ((req: IncomingMessage, res: ServerResponse) => void) | undefined;
}

export function newPseudonym(): string {
  return `version-gateway-${randomBytes(6).toString('hex')}`;
}
