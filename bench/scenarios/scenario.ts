import type { Options } from '../options.ts';
import type { Section } from '../report/results.ts';

/** A question that the benchmark answers, in a section of its own. */
export interface Scenario {
  readonly name: string;
  readonly title: string;
  /** Without `--scenarios`: `quick` runs always, `full` runs without `--quick`, and `only if named` never runs. */
  readonly runs: 'quick' | 'full' | 'only if named';
  /** Programs that must be installed. */
  readonly needs?: readonly string[];
  run(options: Options): Promise<Pick<Section, 'text' | 'tables' | 'notes'>>;
}
