import type { UsageSettings } from '../config/operating.ts';
import type { Clock } from '../shared/clock.ts';

export type LedgerSettings = Pick<UsageSettings, 'store' | 'retention'> & Partial<Pick<UsageSettings, 'names'>>;

export interface LedgerOptions {
  readonly clock: Clock;
  /** Is told, in one line, of what an operator should know and can do nothing about later. */
  readonly onNotice?: (notice: string) => void;
}
