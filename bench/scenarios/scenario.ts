import type { Options } from '../options.ts';

/** One question, answered by a section of Markdown. */
export interface Scenario {
  readonly name: string;
  readonly title: string;
  /** False for the long ones: only when asked for by name. */
  readonly ordinary: boolean;
  run(options: Options): Promise<string>;
}
