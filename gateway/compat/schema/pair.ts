import type { ChangeOf, Comparison, Direction, Kind, Step } from '../change.ts';
import { addPart } from '../change.ts';
import type { SubtreeEquality } from '../document/identicalSubtrees.ts';
import type { Located } from '../document/located.ts';
import type { Held } from './held.ts';
import type { Schema } from './schema.ts';
import type { View } from './view.ts';

/** How values are written: in URLs, headers and forms (`text`, `multipart`), 7 and "7" look alike. `bytes`: as they are. */
export type Wire = 'json' | 'text' | 'xml' | 'multipart' | 'bytes';

export interface Context {
  readonly direction: Direction;
  readonly wire: Wire;
}

/** Whether a number that is sent looks like its digits. What is received is still what the contract says it is. */
export function isSentAsText({ direction, wire }: Context): boolean {
  return direction === 'request' && (wire === 'text' || wire === 'multipart');
}

export type CompareSchemas = (old: Schema, now: Schema, context: Context) => Comparison;

export interface PairOptions {
  readonly old: Schema;
  readonly new: Schema;
  readonly context: Context;
  readonly into: Comparison;
  readonly twins: SubtreeEquality;
  readonly compare: CompareSchemas;
}

/** Two schemas that are held against each other, and where what is found goes. */
export class Pair {
  readonly oldSchema: Schema;
  readonly newSchema: Schema;
  readonly context: Context;
  readonly into: Comparison;
  readonly #twins: SubtreeEquality;
  readonly #compare: CompareSchemas;

  constructor({ old, new: now, context, into, twins, compare }: PairOptions) {
    this.oldSchema = old;
    this.newSchema = now;
    this.context = context;
    this.into = into;
    this.#twins = twins;
    this.#compare = compare;
  }

  get old(): View {
    return this.oldSchema.view;
  }

  get new(): View {
    return this.newSchema.view;
  }

  /** One thing that differs. `old` and `now`: where; undefined where there is nothing. */
  found<K extends Kind>(
    kind: K,
    effect: ChangeOf<K>['effect'],
    name: string,
    old: Located | undefined,
    now: Located | undefined,
  ): void {
    const change: ChangeOf<Kind> = { kind, effect, direction: this.context.direction, name, old, new: now };
    this.into.changes.push(change as ChangeOf<K> & Comparison['changes'][number]);
  }

  /** Holds parts of the two against each other. */
  part(step: Step | undefined, old: Schema, now: Schema): void {
    addPart(this.into, step, this.#compare(old, now, this.context));
  }

  /** The same, where it may well be plain that nothing differs. */
  held(step: Step, old: Held, now: Held): void {
    if (!this.areTwins(old, now)) this.part(step, old.schema, now.schema);
  }

  areTwins(old: Held, now: Held): boolean {
    return old.all.length === 1 && now.all.length === 1 && this.#twins.are(old.at, now.at);
  }

  /** The same without keeping what is found. */
  trial(old: Schema, now: Schema): Comparison {
    return this.#compare(old, now, this.context);
  }
}
