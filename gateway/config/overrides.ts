import type { Reading } from './readObject.ts';

/** What the command line says over the file: `host:port`, as the file would have it. */
export interface Overrides {
  readonly listen?: string | undefined;
  readonly admin?: string | undefined;
}

/** Puts them in before anything is checked, so that the same rules hold for them. */
export function override(reading: Reading, { listen, admin }: Overrides): Reading {
  const { tree } = reading.source;
  if ((listen === undefined && admin === undefined) || !isMap(tree)) return reading;
  const gateway = isMap(tree['gateway']) ? tree['gateway'] : {};
  const said = { ...(listen === undefined ? {} : { listen }), ...(admin === undefined ? {} : { admin }) };
  const overridden = Object.assign(Object.create(null), tree, {
    gateway: Object.assign(Object.create(null), gateway, said),
  });
  return { ...reading, source: { ...reading.source, tree: overridden } };
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
