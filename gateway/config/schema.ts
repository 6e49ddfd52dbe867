import type { z } from 'zod';
import { fleet } from './schema/fleet.ts';
import { notify } from './schema/notify.ts';
import { defaults, routes } from './schema/routes.ts';
import { section } from './schema/scalar.ts';
import { brownout, compat, gateway, guard, log, retire, telemetry, usage } from './schema/settings.ts';

/** A whole routes.yaml: keys, types and defaults. The JSON Schema for editors is generated from it. */
export const routesFile = section({
  routes: routes.prefault({}).describe('The versions: one entry for each major, under its prefix /vN.'),
  defaults: defaults.prefault({}).describe('Values for every route that does not set its own.'),
  gateway: gateway.prefault({}).describe('The gateway itself.'),
  guard: guard.prefault({}).describe('Limits for a reload that changes or removes a version in use.'),
  usage: usage.prefault({}).describe('The usage ledger, which counts the calls of each client.'),
  retire: retire.prefault({}).describe('When a version counts as unused.'),
  brownout: brownout
    .prefault({})
    .describe('Rules for the brownouts of all versions: when they start, and how refused requests are answered.'),
  compat: compat.prefault({}).describe('Levels and exemptions of the contract check.'),
  fleet: fleet.prefault({}).describe('Several gateways that share one ledger.'),
  log: log.prefault({}).describe('The access log.'),
  notify: notify.prefault([]).describe('Webhooks that are told about the end of versions.'),
  telemetry: telemetry.prefault({}).describe('Export to an OpenTelemetry collector. Off without `otlp`.'),
});

/** The file as typed values: durations in milliseconds, sizes in bytes, dates in epoch milliseconds. */
export type Draft = z.output<typeof routesFile>;
