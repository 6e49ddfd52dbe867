import { writeFileSync } from 'node:fs';
import { help, type Options, readOptions } from './options.ts';
import { scenarios } from './scenarios/index.ts';
import { machine } from './support/machine.ts';
import { progress } from './support/progress.ts';

const options = readOptions(process.argv.slice(2));
if (options) await run(options);
else process.stdout.write(help);

async function run(options: Options): Promise<void> {
  const selected = scenarios.filter(({ name, isDefault }) => options.scenarios?.includes(name) ?? isDefault);
  const sections = [machine(options)];
  for (const scenario of selected) {
    progress(scenario.title);
    sections.push(`## ${scenario.title}\n\n${await scenario.run(options)}`);
  }
  const page = `${sections.join('\n\n')}\n`;
  process.stdout.write(page);
  // A partial run must not replace the figures of a full run.
  const isFullRun = !options.quick && options.only.length === 0 && options.scenarios === undefined;
  if (isFullRun) writeFileSync(new URL('RESULTS.md', import.meta.url), page);
  process.exit(); // the backends still listen
}
