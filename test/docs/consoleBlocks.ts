import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A command of a page, and what the page shows as its output. */
export interface ShownCommand {
  readonly command: string;
  readonly output: string;
}

/** A `console` block: lines that begin with `$ ` are commands, the lines after each are its output. */
export interface ConsoleBlock {
  readonly page: string;
  readonly commands: readonly ShownCommand[];
}

const pages = ['README.md', ...readdirSync('docs').map((file) => join('docs', file))];

/** Every console block of the README and of docs/, in order. */
export function consoleBlocks(): ConsoleBlock[] {
  return pages
    .filter((page) => page.endsWith('.md'))
    .flatMap((page) => {
      const blocks = readFileSync(page, 'utf8').matchAll(/^( *)```console\n(.*?)^ *```$/gms);
      return [...blocks].map(([, indent = '', text = '']) => ({ page, commands: commandsIn(text, indent) }));
    });
}

/** The commands of the text of a console block. */
export function commandsIn(text: string, indent = ''): ShownCommand[] {
  const lines = text.split('\n').map((line) => line.slice(indent.length));
  const commands: { command: string; output: string[] }[] = [];
  let isContinued = false;
  for (const line of lines) {
    const last = commands.at(-1);
    if (isContinued && last) last.command += `\n${line}`;
    else if (line.startsWith('$ ')) commands.push({ command: line.slice(2), output: [] });
    else last?.output.push(line);
    isContinued = line.endsWith('\\');
  }
  return commands.map(({ command, output }) => ({ command, output: output.join('\n').trimEnd() }));
}
