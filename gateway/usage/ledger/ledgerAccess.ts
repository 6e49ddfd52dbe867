import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { failureOf, type LedgerFailure } from './failure.ts';
import { type Subject, schemaVersion } from './schema.ts';
import { dayMs, type Spans, spanAt, spansOf } from './spans.ts';

type Row = Record<string, SQLInputValue>;

/** How an open ledger is asked, and how far back it knows what. Nothing throws. */
export abstract class LedgerAccess {
  abstract readonly problem: string | undefined;

  /** Undefined while there is none that could be asked. */
  protected abstract database(): DatabaseSync | undefined;
  protected abstract failed(failure: LedgerFailure): void;

  protected spans(since: number, until: number, subject: Subject, longest: 'day' | 'block' = 'block'): Spans[] {
    const from = Math.max(since, this.meta('kept_from'), 0);
    const hoursAreKept = subject === 'version' || from >= this.meta('hours_from');
    return spansOf(from, Math.max(until, from), hoursAreKept ? 'hour' : 'day', longest);
  }

  /** After all that was counted, for who goes through the spans one by one. */
  protected end(): number {
    const [row] = this.ask<{ day: number | null }>('SELECT MAX(span) AS day FROM version_day');
    return row?.day == null ? 0 : (row.day + 1) * dayMs;
  }

  protected oldestDay(): number {
    const [row] = this.ask<{ day: number | null }>('SELECT MIN(span) AS day FROM version_day');
    return Math.max(row?.day ?? 0, spanAt('day', this.meta('kept_from')));
  }

  /** False in a ledger of an earlier release that is only read: it does not know which requests failed. */
  protected hasOutcomes(): boolean {
    return (this.ask<{ user_version: number }>('PRAGMA user_version')[0]?.user_version ?? schemaVersion) >= 3;
  }

  protected meta(key: string): number {
    return this.ask<{ value: number }>('SELECT value FROM meta WHERE key = ?', [key])[0]?.value ?? 0;
  }

  protected ask<Result extends object>(sql: string, values: readonly SQLInputValue[] = []): Result[] {
    try {
      return (this.database()
        ?.prepare(sql)
        .all(...values) ?? []) as (Row & Result)[];
    } catch (error) {
      this.failed(failureOf(error));
      return [];
    }
  }
}
