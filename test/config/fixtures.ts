import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Fault } from '../../gateway/config/fault.ts';
import { formatFault } from '../../gateway/config/fault.ts';
import { parseConfig } from '../../gateway/config/load.ts';
import type { ConfigResult } from '../../gateway/config/validate.ts';

export const separator = '---expected---\n';

export const now = Date.parse('2026-11-21T10:00:00Z');

/** A file of input, the separator, and the words that are expected. */
export interface Fixture {
  readonly name: string;
  readonly input: string;
  readonly expected: string;
}

export function fixtureFolder(folder: string): string {
  return new URL(`../fixtures/${folder}/`, import.meta.url).pathname;
}

export function fixturesIn(folder: string): Fixture[] {
  return readdirSync(fixtureFolder(folder)).map((file) => {
    const [input = '', expected = ''] = readFileSync(`${fixtureFolder(folder)}${file}`, 'utf8').split(separator);
    return { name: basename(file, '.yaml'), input, expected };
  });
}

/** Reads text as if it were a routes.yaml in one of the fixture folders, in an environment without variables. */
export function parseIn(folder: string, text: string): ConfigResult {
  return parseConfig(text, 'routes.yaml', { cwd: fixtureFolder(folder), env: {}, clock: { now: () => now } });
}

export function print(faults: readonly Fault[]): string {
  return faults.map((fault) => `${formatFault(fault)}\n`).join('');
}
