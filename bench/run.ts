import { writeFileSync } from 'node:fs';
import { help, type Options, readOptions } from './options.ts';
import { scenarios } from './scenarios/index.ts';
import { machine } from './support/machine.ts';
import { progress } from './support/progress.ts';

const options = readOptions(process.argv.slice(2));
if (options) await run(options);
else process.stdout.write(help);

async function run(options: Options): Promise<void> {
  const chosen = scenarios.filter(({ name, ordinary }) => options.scenarios?.includes(name) ?? ordinary);
  const sections = [machine(options)];
  for (const scenario of chosen) {
    progress(scenario.title);
    sections.push(`## ${scenario.title}\n\n${await scenario.run(options)}`);
  }
  const page = `${sections.join('\n\n')}\n`;
  process.stdout.write(page);
  // A part of the bench must not replace the figures of the whole.
  const whole = !options.quick && options.only.length === 0 && options.scenarios === undefined;
  if (whole) writeFileSync(new URL('RESULTS.md', import.meta.url), page);
  process.exit(); // the backends still listen
}
