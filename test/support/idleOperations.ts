import { brownoutRoutes } from '../../gateway/operate/admin/brownoutRoutes.ts';
import { fleetRoutes } from '../../gateway/operate/admin/fleetRoutes.ts';
import { notifyRoutes } from '../../gateway/operate/admin/notifyRoutes.ts';
import type {
  AdminFeature,
  AdminSources,
  ConfigurationOperations,
  Operations,
} from '../../gateway/operate/admin/operations.ts';
import { shadowRoutes } from '../../gateway/operate/admin/shadowRoutes.ts';
import { systemClock } from '../../gateway/shared/clock.ts';
import type { ConfigStatus } from '../../gateway/usage/observability/report.ts';

export interface IdleOperations extends Partial<Omit<Operations, 'configuration' | 'live'>> {
  readonly configuration?: Partial<ConfigurationOperations>;
  readonly live?: Partial<AdminSources>;
}

export const idleStatus: ConfigStatus = {
  fingerprint: 'x',
  generation: 1,
  loadedAt: 0,
  trigger: 'start',
  forced: [],
  lastFailure: undefined,
};

/** What an admin listener asks of a gateway that has no traffic, no ledger and no features in use. */
export function idleOperations({ configuration = {}, live = {}, ...more }: IdleOperations = {}): Operations {
  const ofConfiguration: ConfigurationOperations = {
    reload: async () => ({ kind: 'unchanged' }),
    preview: async () => ({ kind: 'unchanged' }),
    snapshotOf: async () => [],
    status: idleStatus,
  };
  const sources: AdminSources = {
    flush: async () => true,
    report: async () => ({ versions: [], workers: [] }),
    ledger: undefined,
    fleet: undefined,
  };
  const asked = withProperties(sources, live);
  return {
    configuration: withProperties(ofConfiguration, configuration),
    live: asked,
    features: idleFeatures(asked),
    clock: systemClock,
    ...more,
  };
}

/** Unlike a spread, it keeps getters. */
function withProperties<One extends object>(one: One, more: Partial<One>): One {
  return Object.defineProperties(one, Object.getOwnPropertyDescriptors(more));
}

export function idleFeatures(live: Pick<AdminSources, 'fleet'>): AdminFeature[] {
  const stop = async () => ({ kind: 'nothing', reason: 'This gateway has no brownouts.' }) as const;
  return [
    { status: () => ({ edit_watch: [] }) },
    { status: () => ({ freezes: [] }) },
    {
      status: () => ({ brownouts: [] }),
      routes: (context) => brownoutRoutes(context, { status: () => [], stop }),
    },
    { status: () => ({ shadows: [] }), routes: (context) => shadowRoutes(context, () => undefined) },
    { status: () => ({ notify: null }), routes: (context) => notifyRoutes(context, () => undefined) },
    {
      status: () => ({ fleet: live.fleet ? { ...live.fleet.status(), refusal: live.fleet.refusal ?? null } : null }),
      routes: fleetRoutes,
    },
  ];
}
