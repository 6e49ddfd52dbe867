import type { Fault } from '../fault.ts';
import type { Context } from '../rules/rule.ts';

/** What a file may say and is hardly meant to. `now` in epoch milliseconds. */
export type Warning = (context: Context, now: number) => Fault[];
