import { realpathSync } from 'node:fs';
import { asGithub } from '../compat/report/github.ts';
import { asJson } from '../compat/report/json.ts';
import { asMarkdown } from '../compat/report/markdown.ts';
import type { CompatReport } from '../compat/report/report.ts';
import { asSarif } from '../compat/report/sarif.ts';
import type { Base } from '../compat/report/sides.ts';
import { asText } from '../compat/report/text.ts';
import { workingTreeOf } from '../compat/source/git.ts';
import type { Compared } from './compat.ts';
import type { Io } from './io.ts';
import { packageVersion } from './packageVersion.ts';
import { painter } from './paint.ts';
import { printedJson } from './printedJson.ts';

export const compatFormats = ['text', 'json', 'sarif', 'github', 'markdown'] as const;
export type CompatFormat = (typeof compatFormats)[number];

interface Printing {
  readonly all: boolean;
  readonly io: Io;
  readonly base: () => Base;
}

const printers: Record<CompatFormat, (report: CompatReport, printing: Printing) => string> = {
  text: (report, { all, io }) => asText(report, { paint: painter(io.stdout, io.env), showAll: all }),
  json: (report) => printedJson(asJson(report)),
  sarif: (report, { base }) => printedJson(asSarif(report, { version: packageVersion(), ...base() })),
  github: (report, { base }) => asGithub(report, base()),
  markdown: (report) => asMarkdown(report),
};

/** What is to be printed, as a whole. */
export function reportIn(
  { report, folder }: Compared,
  { format, all }: { readonly format: CompatFormat; readonly all: boolean },
  io: Io,
): string {
  return printers[format](report, { all, io, base: () => baseOf(folder) });
}

/** Git names the working tree without the links that may have led to it. */
function baseOf(folder: string): Base {
  const real = realpathSync(folder);
  return { root: workingTreeOf(real) ?? real, folder: real };
}
