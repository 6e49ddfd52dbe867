import { readFileSync } from 'node:fs';

/** The first code block of README.md with the language `kind` that contains a text. */
export function readmeBlock(kind: string, containing: string): string {
  for (const [, language, text] of readFileSync('README.md', 'utf8').matchAll(/^```(\w+)\n(.*?)^```$/gms)) {
    if (language === kind && text?.includes(containing)) return text;
  }
  throw new Error(`README.md has no ${kind} block with ${containing}`);
}
