import type { RequestListener } from 'node:http';
import { isIPv6 } from 'node:net';
import { hostname } from 'node:os';
import { forceReasons } from '../../config/api.ts';
import { type Snapshot, withVersions } from '../../config/snapshot.ts';
import type { ReloadOutcome } from '../../operate/admin/adminApi.ts';
import { ThreadedLedgerClient } from '../../operate/admin/reading/threadedClient.ts';
import type { Fleet } from '../../operate/fleet/fleet.ts';
import { closeListener, listen, portOf } from '../../proxy/pipeline/clientListener.ts';
import { ownListeners } from '../../proxy/trial/ownAddress.ts';
import { http } from '../../shared/builtinHttp.ts';
import { type Clock, systemClock } from '../../shared/clock.ts';
import { loadedOnDemand } from '../../shared/onDemand.ts';
import type { WritableLedger } from '../../usage/ledger/writableLedger.ts';
import type { AnsweringGateway } from '../../usage/observability/answeringGateway.ts';
import { TrafficSamples } from '../../usage/observability/recentTraffic.ts';
import type { ConfigStatus, Trigger } from '../../usage/observability/report.ts';
import { adapterMessages, newServingAdapters } from '../../versions/lifecycle/reloadGuard.ts';
import { adapterRouteMessages } from '../../versions/plan/editRefusals.ts';
import { CallsQuestion, factsWithoutWaiting, type LiveSources } from '../../versions/retirement/liveFacts.ts';
import { ownUsagePeriodMs } from '../../versions/selfService/ownUsage.ts';
import { createFeatures, type FeatureHost, type Features } from './features.ts';
import { serveInProcess } from './inProcess.ts';
import { LedgerConfiguration, usageSinkOf } from './ledgerMaintenance.ts';
import { Reloader, type ReloadSteps, versionUsage } from './reload.ts';
import type { Serve, ServeOptions, Serving } from './serving.ts';
import { TargetTrials } from './targetTrials.ts';

// A process that does not answer is asked again after this time.
const settleMs = 5_000;

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
  const gateway = new GatewayProcess(snapshot, options);
  try {
    await gateway.start(snapshot);
    return gateway.handle();
  } catch (error) {
    // The reason why it did not start is worth more than a second failure.
    await gateway.close().catch(() => {});
    throw error;
  }
}

/** The process of a gateway: it serves clients, or supervises the processes that do, and runs the features. */
class GatewayProcess {
  readonly #options: GatewayOptions;
  readonly #clock: Clock;
  readonly #notice: (line: string) => void;
  readonly #queries: ThreadedLedgerClient | undefined;
  readonly #ledgerConfiguration: LedgerConfiguration | undefined;
  readonly #trials: TargetTrials;
  readonly #traffic = new TrafficSamples();
  #adminListener: RequestListener = waitingListener;
  readonly #admin = http.createServer((req, res) => this.#adminListener(req, res));
  #settleTimer: NodeJS.Timeout | undefined;
  /** Undefined until clients are served. */
  #parts: RunningParts | undefined;

  constructor(snapshot: Snapshot, options: GatewayOptions) {
    const { clock = systemClock, notice = () => {}, ledger, fleet } = options;
    this.#options = options;
    this.#clock = clock;
    this.#notice = notice;
    this.#queries = ledger && new ThreadedLedgerClient(ledger, snapshot.fleet, undefined, () => fleet?.member.memory);
    this.#ledgerConfiguration = ledger && new LedgerConfiguration(ledger, snapshot);
    const listeners = () => ownListeners(snapshot.gateway, this.#running.serving.port, portOf(this.#admin));
    this.#trials = new TargetTrials({ ledger: () => this.#queries, clock, notice, listeners });
  }

  async start(snapshot: Snapshot): Promise<void> {
    const { fleet, onAccepted = () => {} } = this.#options;
    const listenForAdmin = () => listen(this.#admin, snapshot.gateway.admin);
    await fleet?.member.register(snapshot, () => this.#clock.now(), listenForAdmin);
    const serving = await this.#serve(snapshot);
    this.#parts = this.#createParts(serving);
    const { features, readUsage } = this.#parts;
    this.#adminListener = loadedOnDemand(() => this.#createAdmin(), this.#notice);
    for (const feature of features.list) await feature.prepare?.(snapshot);
    if (!this.#admin.listening) await listenForAdmin();
    const joining = { source: serving, ready: () => serving.ready, readUsage, onAccepted, clock: this.#clock };
    await fleet?.member.join({ ...joining, flush: () => this.#flush(), report: () => serving.report() });
    for (const feature of features.list) await feature.configure?.(serving.current);
    void warnOfAdapters(snapshot, readUsage, this.#notice);
  }

  handle(): RunningGateway {
    const { serving, reloader } = this.#running;
    return {
      port: serving.port,
      adminPort: portOf(this.#admin),
      reload: (trigger, content) => reloader.reload(trigger, content),
      get config() {
        return reloader.status;
      },
      reopenLogs: () => serving.reopenLogs(),
      drain: (ms) => serving.drain(ms),
      close: () => this.close(),
    };
  }

  async close(): Promise<void> {
    const { serving, features } = this.#parts ?? {};
    this.#trials.close();
    clearTimeout(this.#settleTimer);
    const served = serving?.close() ?? Promise.resolve();
    const ends = features?.list.map(async (feature) => feature.close?.(served)) ?? [];
    await Promise.all([served, ...ends, closeListener(this.#admin), this.#queries?.close()]);
  }

  get #running(): RunningParts {
    if (this.#parts === undefined) throw new Error('the gateway has not started');
    return this.#parts;
  }

  #serve(snapshot: Snapshot): Promise<Serving> {
    const { ledger, fleet, logs = false, serve = serveInProcess } = this.#options;
    const [queries, clock] = [this.#queries, this.#clock];
    return serve(snapshot, {
      clock,
      notice: this.#notice,
      usage: ledger && usageSinkOf(ledger, { trials: this.#trials, fleet, clock }),
      otlp: (batch) => this.#parts?.features.otlp(batch),
      ownUsage:
        queries &&
        (async (client) => {
          const { serving } = this.#running;
          const live = factsWithoutWaiting('', await serving.report(), ownUsagePeriodMs, fleet?.member);
          return queries.query('ownUsage', serving.current, { ...client, now: clock.now(), live });
        }),
      shadow: (batch) => this.#parts?.features.shadow(batch),
      logs,
    });
  }

  #createParts(serving: Serving): RunningParts {
    const { ledger, fleet, load = () => serving.current, loadPreview = () => load(), ticketKeysMs } = this.#options;
    const [clock, notice, queries] = [this.#clock, this.#notice, this.#queries];
    const sources: LiveSources = {
      flush: () => this.#flush(),
      report: () => serving.report(),
      ledger: queries,
      fleet: fleet?.member,
    };
    const askAbout: FeatureHost['askAbout'] = async (versions, periodMs) => {
      const question = new CallsQuestion(sources);
      await question.wait(versions);
      return question.answer(versions, periodMs);
    };
    const identity = () => this.#identity(serving);
    const host = { serving, clock, notice, ledger, queries, fleet, ticketKeysMs, identity, askAbout };
    const readUsage: ReloadSteps['readUsage'] = (editEffects) =>
      versionUsage(serving.current, sources, queries, clock.now(), editEffects);
    const reloader = new Reloader({
      source: serving,
      announcedConfig: () => fleet?.member.announcedConfig ?? serving.current,
      load,
      loadPreview,
      apply: (next) => this.#apply(next),
      readUsage,
      tryNewTargets: (query) => this.#trials.tryNewTargets(query),
      clock,
    });
    return { serving, features: createFeatures(host), reloader, readUsage };
  }

  /** @returns one line per process that has not confirmed it */
  async #apply(next: Snapshot): Promise<readonly string[]> {
    const { fleet, onAccepted = () => {} } = this.#options;
    const { serving, features } = this.#running;
    for (const feature of features.list) await feature.prepare?.(next);
    const applyWatched = features.list.reduceRight(
      (apply, feature) => (feature.around ? () => feature.around?.(next, apply) ?? apply() : apply),
      () => serving.apply(next),
    );
    const unconfirmed = await (this.#ledgerConfiguration?.around(next, applyWatched) ?? applyWatched());
    fleet?.configure();
    fleet?.member.accept(next);
    onAccepted(next);
    for (const feature of features.list) await feature.configure?.(next);
    this.#settleLedger();
    return unconfirmed;
  }

  /** Flushes until every process has counted the calls from before an edit. Otherwise only the next question would. */
  #settleLedger(): void {
    const repeat = (): void => {
      if (this.#ledgerConfiguration?.isSettled !== false) return;
      this.#settleTimer = setTimeout(() => this.#settleLedger(), settleMs).unref();
    };
    clearTimeout(this.#settleTimer);
    if (this.#ledgerConfiguration?.isSettled === false) void this.#flush().then(repeat, repeat);
  }

  async #flush(): Promise<boolean> {
    const flushProcesses = () => this.#running.serving.flush();
    const isComplete = await (this.#ledgerConfiguration?.whenFlushed(flushProcesses) ?? flushProcesses());
    await this.#options.fleet?.flush();
    return isComplete;
  }

  #identity({ current }: Serving): AnsweringGateway {
    const { path = '', digest = '' } = this.#options.file?.() ?? {};
    const { host: adminHost } = current.gateway.admin;
    const origin = `http://${isIPv6(adminHost) ? `[${adminHost}]` : adminHost || '0.0.0.0'}:${portOf(this.#admin)}`;
    const host = hostname();
    return { name: current.fleet?.name ?? host, host, admin: origin, file: path, digest };
  }

  async #createAdmin(): Promise<RequestListener> {
    const { createAdmin } = await import('../../operate/admin/app.ts');
    const { serving, reloader, features } = this.#running;
    const member = this.#options.fleet?.member;
    const adminFeatures = features.list.map(async ({ status, metrics, loadRoutes }) => ({
      ...(status && { status }),
      ...(metrics && { metrics }),
      ...(loadRoutes && { routes: await loadRoutes() }),
    }));
    return createAdmin(
      serving,
      { ready: () => serving.ready, refusal: () => member?.refusal },
      {
        configuration: {
          reload: () => reloader.reload('admin'),
          preview: (text) => reloader.preview(text),
          snapshotOf: (text) => reloader.snapshotOf(text),
          get status() {
            return reloader.status;
          },
        },
        live: {
          flush: () => this.#flush(),
          report: (options) => serving.report(options),
          ledger: this.#queries,
          fleet: member,
        },
        features: await Promise.all(adminFeatures),
        freezeOf: features.freezeOf,
        identity: () => this.#identity(serving),
        clock: this.#clock,
        notice: this.#notice,
        traffic: this.#traffic,
      },
    );
  }
}

/** What runs while clients are served. */
interface RunningParts {
  readonly serving: Serving;
  readonly features: Features;
  readonly reloader: Reloader;
  readonly readUsage: ReloadSteps['readUsage'];
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
  const unforced = adapters.filter(({ version }) => forceReasons(version, snapshot).length === 0);
  if (unforced.length === 0) return;
  const versions = unforced.map(({ version }) => version);
  const changed = { running, candidate: snapshot, versions };
  // A warning that cannot be made must not keep the gateway from starting.
  const usage = await readUsage({ newAdapters: unforced, changed }).catch(() => undefined);
  if (usage === undefined) return;
  const messages = versions.flatMap((version) => adapterMessages(version, usage));
  for (const message of [...messages, ...adapterRouteMessages(usage.ownRefusals)]) notice(`warning: ${message}`);
}

const waitsForStore = 'The gateway has not reached the shared store of its fleet since its start (fleet.start: wait).';

/** Answers the admin listener while the gateway waits for the shared store of its fleet: it runs, and it is not ready. */
const waitingListener: RequestListener = (req, res) => {
  const isProbe = req.method === 'GET' || req.method === 'HEAD';
  if (isProbe && req.url === '/healthz') {
    res.writeHead(200, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }).end('ok');
    return;
  }
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'retry-after': '2',
  };
  res.writeHead(503, headers).end(JSON.stringify({ ready: false, reason: waitsForStore }));
};
