import type { z } from 'zod';
import { defaults, routes } from './schema/routes.ts';
import { section } from './schema/scalar.ts';
import { compat, gateway, guard, log, retire, usage } from './schema/settings.ts';

/** A whole routes.yaml: its keys, types and defaults. The JSON Schema for editors is made from it. */
export const routesFile = section({
  routes: routes.prefault({}).describe('What is served: one entry for each major, under its prefix /vN.'),
  defaults: defaults.prefault({}).describe('What holds for every route that says nothing else.'),
  gateway: gateway.prefault({}).describe('The gateway itself.'),
  guard: guard.prefault({}).describe('What a reload must not do to a version that is in use.'),
  usage: usage.prefault({}).describe('Who still calls what.'),
  retire: retire.prefault({}).describe('When a version counts as no longer used.'),
  compat: compat.prefault({}).describe('What counts as a breaking change.'),
  log: log.prefault({}).describe('What is written down of every exchange.'),
});

/** The file as typed values: durations in milliseconds, sizes in bytes, dates in epoch milliseconds. */
export type Draft = z.output<typeof routesFile>;
