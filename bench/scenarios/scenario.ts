import type { Options } from '../options.ts';
import type { Section } from '../report/results.ts';

/** A question that the benchmark answers, in a section of its own. */
export interface Scenario {
  readonly name: string;
  /** The heading of the section: *What does a small request cost?* */
  readonly title: string;
  /** When the scenario runs without `--scenarios`. `unless quick`: not with `--quick`. `only if named`: never. */
  readonly runs: 'always' | 'unless quick' | 'only if named';
  /** Programs that must be installed. */
  readonly needs?: readonly string[];
  run(options: Options): Promise<Pick<Section, 'text' | 'tables' | 'notes'>>;
}
