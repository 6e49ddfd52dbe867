import { writeFileSync } from 'node:fs';
import { help, type Options, readOptions } from './options.ts';
import { renderChart } from './report/chart.ts';
import { type Results, renderPage, renderSection, type Section } from './report/results.ts';
import { scenarios } from './scenarios/index.ts';
import type { Scenario } from './scenarios/scenario.ts';
import { conditions } from './support/machine.ts';
import { progress } from './support/progress.ts';
import { programVersion } from './support/versions.ts';

const options = readOptions(process.argv.slice(2));
if (options) await run(options);
else process.stdout.write(help);

async function run(options: Options): Promise<void> {
  const isDefault = ({ runs }: Scenario) => runs === 'always' || (runs === 'unless quick' && !options.quick);
  const selected = scenarios.filter((one) => options.scenarios?.includes(one.name) ?? isDefault(one));
  const sections: Section[] = [];
  for (const scenario of selected) {
    progress(`${selected.indexOf(scenario) + 1}/${selected.length}  ${scenario.title}`);
    const section = await runScenario(scenario, options);
    sections.push(section);
    process.stdout.write(`${renderSection(section)}\n\n`);
  }
  // A partial run must not replace the figures of a full run.
  const isFullRun = !options.quick && options.onlyProxies.length === 0 && options.scenarios === undefined;
  if (isFullRun) writeResults({ conditions: conditions(options), sections });
  process.exit(); // the backends still listen
}

/** Runs one scenario. A failure sets the exit code, and the run continues with the next scenario. */
async function runScenario(scenario: Scenario, options: Options): Promise<Section> {
  const { name, title, needs = [] } = scenario;
  const missing = needs.filter((program) => programVersion(program, ['--version']) === undefined);
  const notMeasured = (reason: string): Section => {
    progress(reason);
    return { name, title, text: '', tables: [], notes: [`Not measured: ${reason}.`] };
  };
  if (missing.length > 0) return notMeasured(`not installed: ${missing.join(', ')}`);
  try {
    return { name, title, ...(await scenario.run(options)) };
  } catch (error) {
    process.exitCode = 1;
    return notMeasured(String(error).split('\n')[0] ?? '');
  }
}

function writeResults(results: Results): void {
  // Before any file is written: renderChart throws if the scenario of the chart failed. RESULTS.md then still matches the old chart.
  const chart = renderChart(results);
  writeFileSync(new URL('RESULTS.md', import.meta.url), renderPage(results));
  writeFileSync(new URL('../docs/images/benchmark.svg', import.meta.url), chart);
  progress('RESULTS.md and the chart are written');
}
