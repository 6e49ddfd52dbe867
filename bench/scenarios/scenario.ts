import type { Options } from '../options.ts';
import type { Section } from '../report/results.ts';

/** A question that the benchmark answers, in a section of its own. */
export interface Scenario {
  readonly name: string;
  readonly title: string;
  /** `quick`: every run; `full`: every run but a quick one; `named`: runs only if it is named. */
  readonly runs: 'quick' | 'full' | 'named';
  /** Programs without which it cannot run. */
  readonly needs?: readonly string[];
  run(options: Options): Promise<Pick<Section, 'text' | 'tables' | 'notes'>>;
}
