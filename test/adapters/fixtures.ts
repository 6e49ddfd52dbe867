import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { formatFault } from '../../gateway/config/fault.ts';
import { parseConfig } from '../../gateway/config/load.ts';
import type { ConfigResult } from '../../gateway/config/validate.ts';
import { withAdapters } from '../../gateway/runtime/adapterCheck.ts';

/** A routes.yaml with both contracts, and the faults and warnings that are expected. */
export interface AdapterFixture {
  readonly name: string;
  readonly routes: string;
  readonly v1: string;
  readonly v2: string;
  readonly expected: string;
}

const folder = (name: string): string => new URL(`../fixtures/${name}/`, import.meta.url).pathname;

export function adapterFixtures(name: string): AdapterFixture[] {
  return readdirSync(folder(name)).map((file) => {
    const text = readFileSync(join(folder(name), file), 'utf8');
    const [routes = '', v1 = '', v2 = '', expected = ''] = text.split(/^---(?:v1|v2|expected)---\n/m);
    return { name: basename(file, '.yaml'), routes, v1, v2, expected };
  });
}

/** Loads the routes.yaml of a fixture, and checks its adapter with the contracts. */
export async function loadFixture(
  { routes, v1, v2 }: Pick<AdapterFixture, 'routes' | 'v1' | 'v2'>,
  samples?: number,
): Promise<ConfigResult> {
  const cwd = mkdtempSync(join(tmpdir(), 'adapter-'));
  try {
    writeFileSync(join(cwd, 'v1.yaml'), v1);
    writeFileSync(join(cwd, 'v2.yaml'), v2);
    const clock = { now: () => Date.parse('2026-11-21T10:00:00Z') };
    return await withAdapters(parseConfig(routes, 'routes.yaml', { cwd, env: {}, clock }), samples);
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

export function printed({ faults, warnings }: Pick<ConfigResult, 'faults' | 'warnings'>): string {
  return [...faults.map(formatFault), ...warnings.map((one) => `warning ${formatFault(one)}`)]
    .map((line) => `${line.replaceAll(/\/\S*\/adapter-\w+\//g, '')}\n`)
    .join('');
}
