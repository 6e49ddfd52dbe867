import type { RequestListener } from 'node:http';
import { isIPv6 } from 'node:net';
import { hostname } from 'node:os';
import { ThreadedLedgerClient } from '../admin/reading/threadedClient.ts';
import { type Snapshot, withVersions } from '../config/snapshot.ts';
import { EditWatch } from '../editWatch/editWatch.ts';
import type { LiveFacts } from '../evidence/callEvidence.ts';
import { recentMs } from '../evidence/recentPeriod.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { adapterMessages, newServingAdapters } from '../lifecycle/reloadGuard.ts';
import { unreachableVersions } from '../lifecycle/unreachableVersions.ts';
import type { Notifier } from '../notify/notifier.ts';
import type { AnsweringGateway } from '../observability/answeringGateway.ts';
import { TrafficSamples } from '../observability/recentTraffic.ts';
import type { ConfigStatus, Trigger } from '../observability/report.ts';
import type { OtlpSink } from '../otlp/batch.ts';
import type { OtlpExporter } from '../otlp/exporter.ts';
import { rotateTicketKeys } from '../pipeline/certificate.ts';
import { closeListener, listen, portOf } from '../pipeline/clientListener.ts';
import { adapterRouteMessages } from '../plan/editRefusals.ts';
import { BrownoutControl } from '../restrictions/brownoutControl.ts';
import { FreezeWatch } from '../restrictions/freezeWatch.ts';
import { CallsQuestion, type LiveSources, type LiveState } from '../retirement/liveFacts.ts';
import type { ShadowControl } from '../shadow/shadowControl.ts';
import { http } from '../shared/builtinHttp.ts';
import { type Clock, systemClock } from '../shared/clock.ts';
import { loadedOnDemand } from '../shared/onDemand.ts';
import { ownListeners } from '../trial/ownAddress.ts';
import { namingRulesIdOf } from '../usage/counting/identification.ts';
import type { WritableLedger } from '../usage/ledger/writableLedger.ts';
import { serveInProcess } from './inProcess.ts';
import { LedgerConfiguration, maintainLedger, shareBrownouts, usageSinkOf } from './ledgerMaintenance.ts';
import { Reloader, type ReloadOutcome, type ReloadSteps, versionUsage } from './reload.ts';
import type { Serve, ServeOptions, Serving } from './serving.ts';
import { TargetTrials } from './targetTrials.ts';
import { waitingListener } from './waitingListener.ts';

const unreachableCheckMs = 1000;
const shareIntervalMs = 1000;
const weekMs = 7 * 86_400_000;

export interface RunningGateway {
  /** The bound ports. If a configured port is 0, the system has chosen the bound one. */
  readonly port: number;
  readonly adminPort: number;
  /** Reads the file again, or uses `content` instead. The new configuration is served if it is valid and the guard allows it. */
  reload(trigger: Trigger, content?: Uint8Array): Promise<ReloadOutcome>;
  readonly config: ConfigStatus;
  /** Opens the log files again, after they were renamed. */
  reopenLogs(): Promise<void>;
  /** Accepts no new connections and resolves when all exchanges have ended, or after `ms`. */
  drain(ms: number): Promise<void>;
  /** Closes the listeners and every connection. */
  close(): Promise<void>;
}

export interface GatewayOptions extends Partial<Omit<ServeOptions, 'usage'>> {
  /** Records usage. The caller closes it. */
  readonly ledger?: WritableLedger;
  /** The fleet that this gateway belongs to. The caller stops it. */
  readonly fleet?: Fleet | undefined;
  /** Serves the clients; default: this process. */
  readonly serve?: Serve;
  /** Reads the file again; without this function, there is nothing to reload. @throws ConfigError */
  readonly load?: (content?: Uint8Array) => Snapshot | Promise<Snapshot>;
  /** Like `load` without side effects, for a preview of the file or of `text`. */
  readonly loadPreview?: (text?: string) => Snapshot | Promise<Snapshot>;
  /** How long the same keys encrypt TLS session tickets, ms; default: 12 hours. */
  readonly ticketKeysMs?: number;
  /** The real path of routes.yaml, and the SHA-256 of its content that was read last. */
  readonly file?: () => { readonly path: string; readonly digest: string };
  /** Called with every snapshot that a reload has made current. */
  readonly onAccepted?: (snapshot: Snapshot) => void;
}

/** Starts a gateway with its admin listener. @throws the listeners' own errors, such as EADDRINUSE. */
export async function startGateway(snapshot: Snapshot, options: GatewayOptions = {}): Promise<RunningGateway> {
  const { clock = systemClock, notice = () => {}, load = () => snapshot, serve = serveInProcess, ledger } = options;
  const { onAccepted = () => {} } = options;
  const ledgerReader =
    ledger && new ThreadedLedgerClient(ledger, snapshot.fleet, undefined, () => options.fleet?.member.memory);
  const listeners = () => ownListeners(snapshot.gateway, serving.port, portOf(admin));
  const trials = new TargetTrials({ ledger: () => ledgerReader, clock, notice, listeners });
  const ledgerConfiguration = ledger && new LedgerConfiguration(ledger, snapshot);
  const usageSink = ledger && usageSinkOf(ledger, trials, options.fleet, clock);
  let exporter: OtlpExporter | undefined;
  const configureExport = async (next: Snapshot): Promise<void> => {
    // The module is loaded only if it is needed.
    if (next.telemetry) exporter ??= new (await import('../otlp/exporter.ts')).OtlpExporter(notice);
    await exporter?.configure(next);
  };
  let notifier: Notifier | undefined;
  const configureNotify = async (): Promise<void> => {
    if (!notifier && serving.current.notify.length > 0)
      notifier = new (await import('../notify/notifier.ts')).Notifier({
        source: serving,
        clock,
        notice,
        ledger,
        storeProblem: () => options.fleet?.storeProblem,
        brownouts: () => brownouts.status(),
        editWatches: () => editWatch.status(),
        gateway: identity,
        clientEvents: async (now) => {
          const query = { now, state: await askAbout(serving.current) };
          return (await ledgerReader?.query('clientEvents', serving.current, query)) ?? [];
        },
        weeklyDigest: async (monday, now) => {
          const state = await askAbout(serving.current);
          const query = { since: now - weekMs, monday, state, gateway: identity(), now };
          return ledgerReader?.query('digest', serving.current, query);
        },
      });
    notifier?.configure();
  };
  let shadow: ShadowControl | undefined;
  const configureShadow = async (): Promise<void> => {
    const { usage: ledgerSettings, sortedVersions } = serving.current;
    if (!shadow && sortedVersions.some((version) => version.shadow ?? version.drift))
      shadow = new (await import('../shadow/shadowControl.ts')).ShadowControl({
        source: serving,
        clock,
        notice,
        file: ledger && ledgerSettings.store.replace(/(?:\.db)?$/, '-stopped-shadows.json'),
        save: (rows) => ledger?.saveEvidence(rows),
        restrict: (stoppedComparisons) => serving.restrict({ stoppedComparisons }),
      });
    shadow?.configure();
  };
  const otlpSink: OtlpSink = (batch) => exporter?.take(batch);
  const member = options.fleet?.member;
  let adminListener: RequestListener = waitingListener;
  const admin = http.createServer((req, res) => adminListener(req, res));
  await member?.register(
    snapshot,
    () => clock.now(),
    () => listen(admin, snapshot.gateway.admin),
  );
  const ownUsage =
    ledgerReader && ((client: string) => ledgerReader.query('ownUsage', serving.current, { client, now: clock.now() }));
  const serving: Serving = await serve(snapshot, {
    clock,
    notice,
    usage: usageSink,
    otlp: otlpSink,
    ownUsage,
    shadow: (batch) => shadow?.take(batch),
    logs: options.logs ?? false,
  }).catch(async (error) => {
    await closeListener(admin);
    throw error;
  });
  const flush = async (): Promise<boolean> => {
    const flushProcesses = (): Promise<boolean> => serving.flush();
    const isComplete = await (ledgerConfiguration?.whenFlushed(flushProcesses) ?? flushProcesses());
    await options.fleet?.flush();
    return isComplete;
  };
  const reporting = { flush, report: () => serving.report() };
  const liveSources: LiveSources = { ...reporting, ledger: ledgerReader, fleet: member };
  /** Waits until the other gateways have sent their calls of this version, for a few seconds at most. */
  const askForCalls = async (version: string, periodMs: number): Promise<LiveFacts | undefined> => {
    const question = new CallsQuestion(liveSources);
    await question.wait([version]);
    return (await question.answer([version], periodMs)).facts.get(version);
  };
  const askAbout = async ({ versions, retire }: Snapshot): Promise<LiveState> => {
    const question = new CallsQuestion(liveSources);
    await question.wait([...versions.keys()]);
    return question.answer(versions.keys(), retire.quiet);
  };
  const identity = (): AnsweringGateway => {
    const { path = '', digest = '' } = options.file?.() ?? {};
    const { host: adminHost } = snapshot.gateway.admin;
    const origin = `http://${isIPv6(adminHost) ? `[${adminHost}]` : adminHost || '0.0.0.0'}:${portOf(admin)}`;
    const host = hostname();
    return { name: serving.current.fleet?.name ?? host, host, admin: origin, file: path, digest };
  };
  const readUsage: ReloadSteps['readUsage'] = (editEffects) =>
    versionUsage(serving.current, liveSources, ledgerReader, clock.now(), editEffects);
  const reloader = new Reloader({
    source: serving,
    announcedConfig: () => member?.announcedConfig ?? serving.current,
    load,
    loadPreview: options.loadPreview ?? (() => load()),
    apply: async (next) => {
      // The exporter starts before the processes send spans, and ends after the last ones.
      if (next.telemetry) await configureExport(next);
      const applyInProcesses = (): Promise<readonly string[]> => editWatch.around(next, () => serving.apply(next));
      const unconfirmedWorkers = await (ledgerConfiguration?.around(next, applyInProcesses) ?? applyInProcesses());
      if (!next.telemetry) await configureExport(next);
      await configureNotify();
      await configureShadow();
      options.fleet?.configure();
      member?.accept(next);
      onAccepted(next);
      void freezes.apply(next);
      return unconfirmedWorkers;
    },
    readUsage,
    tryNewTargets: (query) => trials.tryNewTargets(query),
    clock,
  });
  const brownouts = new BrownoutControl({
    source: serving,
    clock,
    notice,
    report: (options) => serving.report(options),
    estimate: async ({ name: version }, { at }, now) => {
      const live = await askForCalls(version, recentMs);
      return ledgerReader?.query('brownoutEstimate', serving.current, { version, at, now, live });
    },
    storeAndRead: async (records) =>
      member ? member.shareBrownouts(records) : ledger && shareBrownouts(ledger, records),
    restrict: (update) => serving.restrict(update),
  });
  const editWatch = new EditWatch({
    source: serving,
    clock,
    notice,
    report: () => serving.report(),
    restrict: (update) => serving.restrict(update),
  });
  const traffic = new TrafficSamples();
  const freezes = new FreezeWatch(snapshot, {
    now: () => clock.now(),
    notice,
    askForCalls,
    findClients: ledgerReader && ((current, query) => ledgerReader.query('freeze', current, query)),
    namingRulesId: ({ usage: { identify } }) => namingRulesIdOf(identify, ledger?.salt ?? ''),
    restrict: (known) => serving.restrict({ known }),
  });
  const createAdminApp = async () => {
    const { createAdmin } = await import('../admin/app.ts');
    return createAdmin(
      serving,
      { ready: () => serving.ready, refusal: () => member?.refusal },
      {
        reload: () => reloader.reload('admin'),
        preview: (text) => reloader.preview(text),
        snapshotOf: (text) => reloader.snapshotOf(text),
        config: () => reloader.status,
        identity,
        report: (options) => serving.report(options),
        flush,
        clock,
        notice,
        usage: ledgerReader,
        traffic,
        exporterMetrics: () => exporter?.metrics() ?? [],
        notifier: () => (serving.current.notify.length > 0 ? notifier : undefined),
        brownouts,
        editWatch,
        shadow: () => shadow,
        freezes: () => freezes.status(),
        fleet: member,
        fleetStore: options.fleet,
      },
    );
  };
  adminListener = loadedOnDemand(createAdminApp, notice);
  try {
    await configureExport(snapshot);
    if (!admin.listening) await listen(admin, snapshot.gateway.admin);
  } catch (error) {
    brownouts.close();
    editWatch.close();
    await serving.close();
    await exporter?.close();
    throw error;
  }
  await member?.join({ source: serving, ready: () => serving.ready, ...reporting, readUsage, onAccepted, clock });
  await configureNotify();
  const stopRotation = snapshot.gateway.tls
    ? rotateTicketKeys((keys) => void serving.rekey(keys), options.ticketKeysMs)
    : undefined;
  await configureShadow();
  const stopMonitor = monitorUnreachableVersions(serving, clock, notice);
  const stopSharing = shareRouteAnswers(serving);
  const stopMaintenance =
    ledger &&
    maintainLedger(ledger, clock, { onSaltChange: () => void serving.resalt().then(() => freezes.readAgain()) });
  void freezes.apply(serving.current);
  void warnOfAdapters(snapshot, readUsage, notice);
  return {
    port: serving.port,
    adminPort: portOf(admin),
    reload: (trigger, content) => reloader.reload(trigger, content),
    get config() {
      return reloader.status;
    },
    reopenLogs: () => serving.reopenLogs(),
    drain: (ms) => serving.drain(ms),
    close: async () => {
      trials.close();
      stopMonitor();
      stopSharing();
      stopRotation?.();
      freezes.close();
      brownouts.close();
      editWatch.close();
      stopMaintenance?.();
      const closed = serving.close().then(() => exporter?.close());
      await Promise.all([closed, closeListener(admin), notifier?.close(), shadow?.close(), ledgerReader?.close()]);
    },
  };
}

/**
 * Warns of adapters that a reload would refuse. A start serves them nevertheless, because a lost ledger must not keep a gateway
 * from starting. The returned promise never rejects.
 */
async function warnOfAdapters(
  snapshot: Snapshot,
  readUsage: ReloadSteps['readUsage'],
  notice: (line: string) => void,
): Promise<void> {
  // Compared with a snapshot without adapters, every adapter counts as one that would begin to serve.
  const withoutAdapters = snapshot.sortedVersions.map((version) => ({ ...version, adapter: undefined }));
  const running = withVersions(snapshot, new Map(withoutAdapters.map((version) => [version.name, version])));
  const adapters = newServingAdapters(running, snapshot);
  const unforced = adapters.filter(({ version }) => !snapshot.guard.force.has(version));
  if (unforced.length === 0) return;
  const versions = unforced.map(({ version }) => version);
  const changed = { running, candidate: snapshot, versions };
  const usage = await readUsage({ newAdapters: unforced, changed }).catch(() => undefined);
  if (usage === undefined) return;
  const messages = versions.flatMap((version) => adapterMessages(version, usage));
  for (const message of [...messages, ...adapterRouteMessages(usage.ownRefusals)]) notice(`warning: ${message}`);
}

/**
 * Reports when no target of a version can be reached, and when a target can be reached again. Returns a function that stops the
 * reports.
 */
function monitorUnreachableVersions(serving: Serving, clock: Clock, notice: (line: string) => void): () => void {
  /** The unreachable versions by name, each with whether it was stopped before it was retired. */
  let lastUnreachable = new Map<string, boolean>();
  const check = async (): Promise<void> => {
    const found = unreachableVersions(serving.current, await serving.report(), clock.now());
    const unreachable = new Map(found.map((one) => [one.version, one.wasStoppedBeforeRetired]));
    for (const [name, wasStopped] of unreachable) {
      if (lastUnreachable.get(name) === wasStopped) continue;
      const what = `no target of /${name} can be reached`;
      notice(wasStopped ? `/${name} was stopped before it was retired: ${what}` : what);
    }
    for (const name of lastUnreachable.keys())
      if (!unreachable.has(name)) notice(`/${name} can be reached again, or is no longer served`);
    lastUnreachable = unreachable;
  };
  // A report fails only while the gateway is stopping.
  const timer = setInterval(() => void check().catch(() => {}), unreachableCheckMs).unref();
  return () => clearInterval(timer);
}

/**
 * Tells every worker which routes the others have found missing, once a second. A single process knows that itself. Returns a
 * function that stops it.
 */
function shareRouteAnswers(serving: Serving): () => void {
  let shared = '';
  const share = async (): Promise<void> => {
    const { routeAnswers, workers } = await serving.report();
    const text = JSON.stringify(routeAnswers);
    if (routeAnswers === undefined || workers.length < 2 || text === shared) return;
    shared = text;
    await serving.restrict({ routeAnswers });
  };
  const timer = setInterval(() => void share().catch(() => {}), shareIntervalMs).unref();
  return () => clearInterval(timer);
}
