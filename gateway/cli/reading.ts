import { resolve } from 'node:path';
import { ConfigError, formatFault } from '../config/fault.ts';
import { explain, readText } from '../config/load.ts';
import type { Snapshot } from '../config/snapshot.ts';
import type { Verdict } from '../config/validate.ts';
import type { Io } from './io.ts';

/** Which file to serve, and what counts over it. */
export interface StartOptions {
  readonly config: string;
  readonly listen?: string;
  readonly admin?: string;
}

/** @throws UnreadableFileError */
export function read(options: StartOptions, io: Io): Snapshot | undefined {
  const { snapshot, faults, warnings } = verdictOn(options, io);
  for (const warning of warnings) io.stderr.write(`warning: ${formatFault(warning)}\n`);
  for (const fault of faults) io.stderr.write(`${formatFault(fault)}\n`);
  return snapshot;
}

/** @throws ConfigError, UnreadableFileError */
export function loadAgain(options: StartOptions, io: Io, text?: string): Snapshot {
  const { snapshot, faults } = verdictOn(options, io, text);
  if (!snapshot) throw new ConfigError(faults);
  return snapshot;
}

/** Of the file, or of `text` in its place. */
function verdictOn({ config, listen, admin }: StartOptions, io: Io, text?: string): Verdict {
  return explain(text ?? readText(resolve(io.cwd, config)), config, {
    env: io.env,
    cwd: io.cwd,
    overrides: { listen, admin },
  });
}
