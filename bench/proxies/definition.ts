import type { Command } from '../support/children.ts';

export interface Place {
  readonly port: number;
  readonly backendPort: number;
  /** For configuration files; removed afterwards. */
  readonly folder: string;
}

/** One way to do the work, set up as its own manual advises for speed. */
export interface Contender {
  readonly name: string;
  /** Undefined: not installed here. */
  readonly version: string | undefined;
  /** True for ours: without it there is nothing to compare with, so its failure ends the run. */
  readonly required?: boolean;
  command(place: Place): Command;
}
