import type { UsageSettings } from '../config/operating.ts';
import type { Clock } from '../shared/clock.ts';
import type { Limits } from './ledgerBounds.ts';

export type LedgerSettings = Pick<UsageSettings, 'store' | 'retention'> &
  Partial<Pick<UsageSettings, 'names' | 'maxClients' | 'maxRoutes'>>;

export interface LedgerOptions {
  readonly clock: Clock;
  /** Is told, in one line, of what an operator should know and can do nothing about later. */
  readonly onNotice?: (notice: string) => void;
}

/** Without settings there are no limits. */
export function limitsOf({
  maxClients = Number.MAX_SAFE_INTEGER,
  maxRoutes = Number.MAX_SAFE_INTEGER,
}: LedgerSettings): Limits {
  return { client: maxClients, route: maxRoutes };
}
