import type { Reading } from './readObject.ts';
import { placeKey } from './source.ts';

/** Values of command-line options that replace those of the file: `host:port`, as in the file. */
export interface Overrides {
  readonly listen?: string | undefined;
  readonly admin?: string | undefined;
}

/** Replaces values before anything is checked, so that the same rules hold for them. A fault names the option, not the file. */
export function override(reading: Reading, overrides: Overrides): Reading {
  const { tree } = reading.source;
  const given = Object.entries(overrides).filter(([, value]) => value !== undefined);
  if (given.length === 0 || !isMap(tree)) return reading;
  const gateway = isMap(tree['gateway']) ? tree['gateway'] : {};
  const overridden = Object.assign(Object.create(null), tree, {
    gateway: Object.assign(Object.create(null), gateway, Object.fromEntries(given)),
  });
  const options = new Map(given.map(([key]) => [placeKey(['gateway', key]), `--${key}`]));
  return { ...reading, source: { ...reading.source, tree: overridden, options } };
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
