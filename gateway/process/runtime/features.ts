import { longestQuiet, receiversOf } from '../../config/api.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import type { ShadowBatch } from '../../contracts/shadow/sampling/shadowBatch.ts';
import type { ShadowControl } from '../../contracts/shadow/sampling/shadowControl.ts';
import type { AdminFeature } from '../../operate/admin/operations.ts';
import type { LedgerClient } from '../../operate/admin/reading/ledgerClient.ts';
import type { Fleet } from '../../operate/fleet/fleet.ts';
import type { Notifier } from '../../operate/notify/notifier.ts';
import type { OtlpBatch, OtlpSink } from '../../operate/otlp/batch.ts';
import type { OtlpExporter } from '../../operate/otlp/exporter.ts';
import { rotateTicketKeys } from '../../proxy/pipeline/certificate.ts';
import type { Clock } from '../../shared/clock.ts';
import { namingRulesIdOf } from '../../usage/counting/identification.ts';
import { recentMs } from '../../usage/evidence/recentPeriod.ts';
import type { WritableLedger } from '../../usage/ledger/writableLedger.ts';
import type { AnsweringGateway } from '../../usage/observability/answeringGateway.ts';
import { EditWatch } from '../../versions/editWatch/editWatch.ts';
import { editWatchGauge } from '../../versions/editWatch/watchStatus.ts';
import { BrownoutControl, brownoutGauge } from '../../versions/restrictions/brownoutControl.ts';
import { FreezeWatch } from '../../versions/restrictions/freezeWatch.ts';
import { type FreezeStatus, freezeGauges, freezeJson } from '../../versions/restrictions/knownClients.ts';
import type { LiveState } from '../../versions/retirement/liveFacts.ts';
import { ledgerGauges, maintainLedger, shareBrownouts } from './ledgerMaintenance.ts';
import { reportUnreachableVersions, shareRouteAnswers } from './monitors.ts';
import type { ServeOptions, Serving } from './serving.ts';

const dayMs = 86_400_000;
const weekMs = 7 * dayMs;

/** A feature of the process beside the serving of clients. The process walks a list of them. */
export interface OperatingFeature extends Omit<AdminFeature, 'routes'> {
  /** Called before the processes serve `next`: at the start, and for each edit. */
  prepare?(next: Snapshot): Promise<void> | void;
  /** Applies an edit with `apply`, and watches it. */
  around?<Result>(next: Snapshot, apply: () => Promise<Result>): Promise<Result>;
  /** Called once the processes serve `current`: after the start, and after each edit. */
  configure?(current: Snapshot): Promise<void> | void;
  /** Loads the modules of its routes. They are loaded with the first request to the admin listener. */
  loadRoutes?(): Promise<NonNullable<AdminFeature['routes']>>;
  /** `served` resolves when the processes have ended. */
  readonly close?: ((served: Promise<void>) => Promise<void> | void) | undefined;
}

/** What the features get of the process. */
export interface FeatureHost {
  readonly serving: Serving;
  readonly clock: Clock;
  readonly notice: (line: string) => void;
  /** Undefined: the gateway keeps no usage ledger. */
  readonly ledger: WritableLedger | undefined;
  /** Reads the ledger. */
  readonly queries: LedgerClient | undefined;
  readonly fleet: Fleet | undefined;
  readonly ticketKeysMs: number | undefined;
  readonly identity: () => AnsweringGateway;
  /** Waits until the ledger has the calls of these versions, for a few seconds at most, and tells which of the last `periodMs` it may lack. */
  readonly askAbout: (versions: readonly string[], periodMs: number) => Promise<LiveState>;
}

export interface Features {
  /** Take what the processes pass on. */
  readonly otlp: OtlpSink;
  readonly shadow: NonNullable<ServeOptions['shadow']>;
  readonly list: readonly OperatingFeature[];
  readonly freezeOf: (version: string) => FreezeStatus | undefined;
}

/** The features of the process. Each can be deleted with its folder, its routes of the admin listener and its line in the list. */
export function createFeatures(host: FeatureHost): Features {
  const telemetry = telemetryFeature(host);
  const editWatch = editWatchFeature(host);
  const brownouts = brownoutFeature(host);
  const freezes = freezeFeature(host);
  const shadows = shadowFeature(host);
  const list: readonly OperatingFeature[] = [
    telemetry,
    editWatch,
    brownouts,
    shadows,
    notifyFeature(host, brownouts.control, editWatch.control),
    freezes,
    fleetFeature(host),
    ledgerFeature(host, freezes.control),
    ticketKeyFeature(host),
    { close: reportUnreachableVersions(host) },
    { close: shareRouteAnswers(host) },
  ];
  return { list, otlp: telemetry.take, shadow: shadows.take, freezeOf: freezes.of };
}

function telemetryFeature({ notice }: FeatureHost) {
  let exporter: OtlpExporter | undefined;
  return {
    // The exporter starts before the processes send spans, and ends after the last ones.
    prepare: async (next) => {
      // The module is loaded only if it is needed.
      if (next.telemetry) exporter ??= new (await import('../../operate/otlp/exporter.ts')).OtlpExporter(notice);
      if (next.telemetry) await exporter?.configure(next);
    },
    configure: (current) => (current.telemetry ? undefined : exporter?.configure(current)),
    take: (batch: OtlpBatch) => exporter?.take(batch),
    metrics: () => exporter?.metrics() ?? [],
    close: (served) => served.then(() => exporter?.close()),
  } satisfies OperatingFeature & { take: OtlpSink };
}

function editWatchFeature({ serving, clock, notice }: FeatureHost) {
  const control = new EditWatch({
    source: serving,
    clock,
    notice,
    report: () => serving.report(),
    restrict: (update) => serving.restrict(update),
  });
  return {
    control,
    around: (next, apply) => control.around(next, apply),
    status: () => ({ edit_watch: control.status() }),
    metrics: () => [editWatchGauge(control.status())],
    close: () => control.close(),
  } satisfies OperatingFeature & { control: EditWatch };
}

function brownoutFeature({ serving, clock, notice, ledger, queries, fleet, askAbout }: FeatureHost) {
  const control = new BrownoutControl({
    source: serving,
    clock,
    notice,
    report: (options) => serving.report(options),
    estimate: async ({ name: version }, { at }, now) => {
      const live = (await askAbout([version], recentMs)).facts.get(version);
      return queries?.query('brownoutEstimate', serving.current, { version, at, now, live });
    },
    storeAndRead: async (records) =>
      fleet ? fleet.member.shareBrownouts(records) : ledger && shareBrownouts(ledger, records),
    restrict: (update) => serving.restrict(update),
  });
  return {
    control,
    status: () => ({ brownouts: control.status() }),
    metrics: () => [brownoutGauge(control.status())],
    loadRoutes: async () => {
      const { brownoutRoutes } = await import('../../operate/admin/brownoutRoutes.ts');
      return (context) => brownoutRoutes(context, control);
    },
    close: () => control.close(),
  } satisfies OperatingFeature & { control: BrownoutControl };
}

function freezeFeature({ serving, clock, notice, ledger, queries, askAbout }: FeatureHost) {
  const control = new FreezeWatch(serving.current, {
    now: () => clock.now(),
    notice,
    askForCalls: async (version, periodMs) => (await askAbout([version], periodMs)).facts.get(version),
    findClients: queries && ((current, query) => queries.query('freeze', current, query)),
    namingRulesId: ({ usage: { identify } }) => namingRulesIdOf(identify, ledger?.salt ?? ''),
    restrict: (known) => serving.restrict({ known }),
  });
  return {
    control,
    of: (version: string) => control.status().find((one) => one.version === version),
    // Reading the ledger may take seconds.
    configure: (current) => void control.apply(current),
    status: () => ({ freezes: control.status().map(freezeJson) }),
    metrics: () => freezeGauges(control.status()),
    close: () => control.close(),
  } satisfies OperatingFeature & { control: FreezeWatch; of: Features['freezeOf'] };
}

function shadowFeature({ serving, clock, notice, ledger }: FeatureHost) {
  let control: ShadowControl | undefined;
  return {
    configure: async ({ usage, sortedVersions }) => {
      if (!control && sortedVersions.some((version) => version.shadow ?? version.drift))
        control = new (await import('../../contracts/shadow/sampling/shadowControl.ts')).ShadowControl({
          source: serving,
          clock,
          notice,
          file: ledger && usage.store.replace(/(?:\.db)?$/, '-stopped-shadows.json'),
          save: (rows) => ledger?.saveEvidence(rows),
          restrict: (stoppedComparisons) => serving.restrict({ stoppedComparisons }),
        });
      control?.configure();
    },
    take: (batch: ShadowBatch) => control?.take(batch),
    status: () => ({ shadows: control?.status() ?? [] }),
    metrics: () => control?.metrics() ?? [],
    loadRoutes: async () => {
      const { shadowRoutes } = await import('../../operate/admin/shadowRoutes.ts');
      return (context) => shadowRoutes(context, () => control);
    },
    close: () => control?.close(),
  } satisfies OperatingFeature & { take: Features['shadow'] };
}

function notifyFeature(host: FeatureHost, brownouts: BrownoutControl, editWatch: EditWatch): OperatingFeature {
  const { serving, clock, notice, ledger, queries, fleet, identity, askAbout } = host;
  // A digest compares its week with the week before, and an event a day with the quiet period before it.
  const askAboutAll = (snapshot: Snapshot) =>
    askAbout([...snapshot.versions.keys()], Math.max(2 * weekMs, longestQuiet(snapshot, 'retire') + 2 * dayMs));
  let notifier: Notifier | undefined;
  const active = () => (receiversOf(serving.current).length > 0 ? notifier : undefined);
  return {
    configure: async (snapshot) => {
      if (!notifier && receiversOf(snapshot).length > 0)
        notifier = new (await import('../../operate/notify/notifier.ts')).Notifier({
          source: serving,
          clock,
          notice,
          ledger,
          storeProblem: () => fleet?.storeProblem,
          brownouts: () => brownouts.status(),
          editWatches: () => editWatch.status(),
          gateway: identity,
          clientEvents: async (now) => {
            const query = { now, state: await askAboutAll(serving.current) };
            return (await queries?.query('clientEvents', serving.current, query)) ?? [];
          },
          weeklyDigest: async (monday, now, api) => {
            const state = await askAboutAll(serving.current);
            const query = { since: now - weekMs, monday, state, gateway: identity(), now, api };
            return queries?.query('digest', serving.current, query);
          },
        });
      notifier?.configure();
    },
    status: () => ({ notify: active()?.status() ?? null }),
    loadRoutes: async () => {
      const { notifyRoutes } = await import('../../operate/admin/notifyRoutes.ts');
      return (context) => notifyRoutes(context, active);
    },
    close: () => notifier?.close(),
  };
}

function fleetFeature({ fleet }: FeatureHost): OperatingFeature {
  return {
    status: () => ({ fleet: fleet ? fleet.json() : null }),
    metrics: () => fleet?.metrics() ?? [],
    loadRoutes: async () => (await import('../../operate/admin/fleetRoutes.ts')).fleetRoutes,
  };
}

function ledgerFeature(
  { ledger, queries, fleet, clock, serving }: FeatureHost,
  freezes: FreezeWatch,
): OperatingFeature {
  const onSaltChange = () => void serving.resalt().then(() => freezes.readAgain());
  return {
    metrics: () => ledgerGauges(queries, fleet?.outbox, clock.now()),
    close: ledger && maintainLedger(ledger, clock, { onSaltChange }),
  };
}

function ticketKeyFeature({ serving, ticketKeysMs }: FeatureHost): OperatingFeature {
  const rekey = (keys: Buffer) => void serving.rekey(keys);
  return { close: serving.current.gateway.tls && rotateTicketKeys(rekey, ticketKeysMs) };
}
