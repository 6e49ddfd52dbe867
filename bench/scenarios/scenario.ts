import type { Options } from '../options.ts';

/** A benchmark with its own section in the results. */
export interface Scenario {
  readonly name: string;
  readonly title: string;
  /** False: runs only if it is named. */
  readonly isDefault: boolean;
  /** Returns the section in Markdown, without its title. */
  run(options: Options): Promise<string>;
}
