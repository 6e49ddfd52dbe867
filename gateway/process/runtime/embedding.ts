import { resolve } from 'node:path';
import { receiversOf } from '../../config/api.ts';
import { ConfigError } from '../../config/fault.ts';
import { loadSnapshot, snapshotFrom } from '../../config/load.ts';
import { readRoutes } from '../../config/location.ts';
import { digestOf } from '../../config/referencedFiles.ts';
import { type Snapshot, type Version, withVersions } from '../../config/snapshot.ts';
import { WatchedFiles } from '../../config/watchedFiles.ts';
import { ThreadedLedgerClient } from '../../operate/admin/reading/threadedClient.ts';
import type { DiscoveryFactory } from '../../operate/discovery/app.ts';
import { VersionCallMarks } from '../../proxy/pipeline/callMarks.ts';
import type { GatewayContext } from '../../proxy/pipeline/exchange.ts';
import { nothingTried } from '../../proxy/trial/trial.ts';
import { systemClock as clock } from '../../shared/clock.ts';
import { saltFrom } from '../../usage/counting/identification.ts';
import { CallMarks } from '../../usage/ledger/callMarks.ts';
import { ThreadedLedger } from '../../usage/ledger/threadedLedger.ts';
import type { LedgerSettings } from '../../usage/ledger/writableLedger.ts';
import type { ExchangeRecord } from '../../usage/observability/exchangeRecord.ts';
import { DataPlane } from './dataPlane.ts';
import { ledgerSettingsOf, maintainLedger, usageSinkOf } from './ledgerMaintenance.ts';
import { LoadThread } from './loadThread.ts';
import { outcomeLines } from './outcomeLines.ts';
import { Reloader, versionUsage } from './reload.ts';
import { TargetTrials } from './targetTrials.ts';
import { Telemetry } from './telemetry.ts';

// At most this many exchanges are kept until the ledger is open. On a slow disk, opening it may take seconds.
const maxWaitingExchanges = 10_000;

/** What an embedded gateway does besides answering requests. All of it is off by default. */
export interface EmbeddingOptions {
  /**
   * Applies edits of routes.yaml and of its contracts without a restart. An edit that is invalid or refused by the guard
   * changes nothing. Needs `config` to be the path of a file.
   */
  readonly reload?: boolean;
  /** Counts requests by client in the SQLite file `usage.store`. Only one process may write to that file. */
  readonly ledger?: boolean;
  /** Takes lines for the operator: what a reload changed, why an edit was refused, problems with the ledger. */
  readonly notice?: (line: string) => void;
}

export interface EmbeddingSettings extends EmbeddingOptions {
  readonly discovery: DiscoveryFactory | undefined;
  /** False for an application that answers the requests itself: versions need no upstream. */
  readonly forwardsRequests: boolean;
}

export interface Embedding {
  readonly context: GatewayContext;
  /** Stops watching files, closes connections to backends and writes the remaining counts. */
  close(): Promise<void>;
}

/**
 * A gateway without listeners of its own. `config` is the path of a routes.yaml, or an object of the same shape.
 * @throws ConfigError with every fault of the file; UnreadableFileError if it cannot be read
 */
export function embed(config: string | object, settings: EmbeddingSettings): Embedding {
  const { discovery, forwardsRequests, reload = false, notice = () => {} } = settings;
  const { env } = process;
  const path = typeof config === 'string' ? resolve(config) : undefined;
  if (reload && path === undefined) throw new TypeError('reload: true needs the path of a routes.yaml.');
  // Taken before the file is loaded, so that an edit in between is noticed.
  const digest = reload && path ? digestOf(readRoutes(path)) : undefined;
  const loaded =
    typeof config === 'string'
      ? loadSnapshot(config, env, forwardsRequests)
      : snapshotFrom(config, '.', env, forwardsRequests);
  const reportedLines = new Set<string>();
  // Checks a loaded snapshot, reports the sections that an embedded gateway ignores, and removes them.
  const prepare = (snapshot: Snapshot) => {
    if (forwardsRequests) requireUpstreams(snapshot, typeof config === 'string' ? config : undefined);
    for (const line of ignoredSections(snapshot, settings.ledger === true)) {
      // If the caller takes no notices, Node prints the line as a warning.
      if (!reportedLines.has(line)) (settings.notice ?? process.emitWarning)(line);
      reportedLines.add(line);
    }
    return withoutIgnored(discovery ? snapshot : withoutGuides(snapshot));
  };
  const firstSnapshot = prepare(loaded);
  const { tagKey } = firstSnapshot.usage;
  const salt = tagKey === undefined ? undefined : saltFrom(tagKey);
  const dataPlane = new DataPlane(firstSnapshot, { clock, discovery, forwardsRequests, salt });
  const ledger = settings.ledger ? new EmbeddedLedger(dataPlane, notice) : undefined;
  const loadThread =
    reload && typeof config === 'string' && path
      ? new LoadThread(
          { file: config, path, cwd: process.cwd(), env, needsUpstreams: forwardsRequests, ignoresAdapters: true },
          { snapshot: firstSnapshot, digest },
        )
      : undefined;
  const watched = loadThread && reloadOnEdits(dataPlane, loadThread, prepare, { ledger, notice, forwardsRequests });
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    watched?.close();
    await loadThread?.close();
    dataPlane.close();
    await ledger?.close();
  };
  return {
    context: dataPlane.context,
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}

/** An open ledger, the telemetry that writes to it, and its reader. */
interface OpenLedger {
  readonly ledger: ThreadedLedger;
  readonly telemetry: Telemetry;
  readonly reader: ThreadedLedgerClient;
  stopMaintenance(): void;
}

function settingsWithoutFleet(snapshot: Snapshot): LedgerSettings {
  return ledgerSettingsOf({ ...snapshot, fleet: undefined });
}

/** The ledger of an embedded gateway. The host application need not wait until the ledger is open. */
class EmbeddedLedger {
  readonly #opened: Promise<OpenLedger>;

  constructor(dataPlane: DataPlane, notice: (line: string) => void) {
    const { context, requestsByVersion } = dataPlane;
    const waitingExchanges: ExchangeRecord[] = [];
    const since = clock.now();
    // Client identifiers are hashed with the salt in the file, so nothing is counted before the salt is known.
    context.recorder = {
      record: (exchange) => {
        if (waitingExchanges.length < maxWaitingExchanges) waitingExchanges.push(exchange);
      },
    };
    const { current } = dataPlane;
    const { usage } = current;
    // Calls are marked before the ledger is open.
    const marks = CallMarks.open(usage.store, clock.now(), notice);
    const callMarks = new VersionCallMarks({ files: marks.files, process: 0 }, context, requestsByVersion);
    context.callMarks = callMarks;
    this.#opened = ThreadedLedger.open(settingsWithoutFleet(current), notice, { marks }).then((ledger) => {
      dataPlane.resalt(ledger.salt);
      const sink = { clock, notice, usage: usageSinkOf(ledger), logs: false };
      const telemetry = new Telemetry(dataPlane, sink, { requestsByVersion, callMarks, since });
      context.recorder = telemetry.recorder;
      for (const exchange of waitingExchanges) telemetry.recorder.record(exchange);
      const onSaltChange = (): void => {
        dataPlane.resalt(ledger.salt);
        void telemetry.resalt();
      };
      const stopMaintenance = maintainLedger(ledger, clock, { onSaltChange });
      return { ledger, telemetry, reader: new ThreadedLedgerClient(ledger), stopMaintenance };
    });
  }

  async reader(): Promise<ThreadedLedgerClient> {
    return (await this.#opened).reader;
  }

  /** Applies the settings of `next`, which is the current snapshot by now. */
  async applyCurrent(next: Snapshot): Promise<void> {
    const { ledger, telemetry } = await this.#opened;
    // A client that begins to count may have calls that were neither marked nor counted.
    await telemetry.flush();
    ledger.configure(settingsWithoutFleet(next));
    await telemetry.applyCurrent();
  }

  async flush(): Promise<boolean> {
    await (await this.#opened).telemetry.flush();
    return true;
  }

  async close(): Promise<void> {
    const { ledger, telemetry, reader, stopMaintenance } = await this.#opened;
    stopMaintenance();
    await telemetry.close();
    await reader.close();
    await ledger.close();
  }
}

interface Parts extends Pick<EmbeddingSettings, 'forwardsRequests'> {
  readonly ledger: EmbeddedLedger | undefined;
  readonly notice: (line: string) => void;
}

/** Reloads the configuration when its files change, until the returned watch is closed. */
function reloadOnEdits(
  dataPlane: DataPlane,
  loadThread: LoadThread,
  prepare: (snapshot: Snapshot) => Snapshot,
  { ledger, notice, forwardsRequests }: Parts,
): WatchedFiles {
  const load = async (content?: Uint8Array) => prepare((await loadThread.load(content)).snapshot());
  const serving = {
    report: async () => dataPlane.report(),
    flush: async () => (await ledger?.flush()) ?? false,
  };
  // The host application has the listeners.
  const trials = new TargetTrials({ ledger: () => ledger?.reader(), clock, notice, listeners: () => [] });
  const reloader = new Reloader({
    source: dataPlane,
    load,
    loadPreview: () => load(),
    apply: async (next) => {
      dataPlane.apply(next);
      // Before what may fail, so that the next edit of its files is noticed.
      watchFilesOf(next);
      await ledger?.applyCurrent(next);
      return [];
    },
    // An embedded gateway applies neither freezes nor adapters, and is in no fleet. So only `guard.quiet` and the limits
    // of the edit matter.
    readUsage: async ({ quiet, changed }) => {
      const reader = await ledger?.reader();
      const sources = { ...serving, ledger: reader, fleet: undefined };
      return versionUsage(dataPlane.current, sources, reader, clock.now(), { quiet, changed });
    },
    tryNewTargets: (query) => (forwardsRequests ? trials.tryNewTargets(query) : nothingTried),
    clock,
  });
  const onChange = async (content?: Uint8Array): Promise<void> => {
    const outcome = await reloader.reload('file', content);
    // Nothing to report, unless a rejected edit was undone.
    if (outcome.kind === 'unchanged' && !outcome.reverted) return;
    for (const line of outcomeLines(outcome)) notice(line);
  };
  const watched = new WatchedFiles((content) => void onChange(content), {
    lastReadDigest: () => loadThread.lastReadDigest,
    isRejected: () => reloader.status.lastFailure !== undefined,
  });
  const watchFilesOf = (snapshot: Snapshot): void => watched.setFiles(loadThread.path, snapshot);
  watchFilesOf(dataPlane.current);
  return watched;
}

/** A line for each section of routes.yaml that an embedded gateway ignores. */
function ignoredSections(snapshot: Snapshot, hasLedger: boolean): string[] {
  const { fleet, telemetry, gateway, usage, sortedVersions } = snapshot;
  const lines = [];
  if (fleet)
    lines.push('fleet.store is ignored: an embedded gateway cannot be in a fleet.  The shared ledger lacks its calls.');
  if (sortedVersions.some(({ brownouts }) => brownouts.length > 0))
    lines.push('brownouts are ignored: an embedded gateway refuses nobody in a brownout.  Run version-gateway start.');
  if (sortedVersions.some(({ shadow }) => shadow))
    lines.push('shadow is ignored: an embedded gateway copies no requests.  Run version-gateway start.');
  if (sortedVersions.some(({ drift }) => drift))
    lines.push('drift is ignored: an embedded gateway compares no responses.  Run version-gateway start.');
  if (telemetry) lines.push('telemetry is ignored: an embedded gateway exports nothing.  Use the SDK of your server.');
  if (sortedVersions.some(({ freeze }) => freeze))
    lines.push('freeze is ignored: an embedded gateway neither refuses nor reports new clients.');
  if (sortedVersions.some(({ adapter }) => adapter))
    lines.push('adapters are ignored: an embedded gateway changes no responses.  Run version-gateway start.');
  if (sortedVersions.some(({ grease }) => grease))
    lines.push('grease is ignored: an embedded gateway adds no unknown members.  Run version-gateway start.');
  if (receiversOf(snapshot).length > 0) lines.push('notify is ignored: an embedded gateway sends no notifications.');
  if (gateway.selfService === 'on')
    lines.push('gateway.self_service is ignored: an embedded gateway does not answer /versions/me.');
  // The salt of the tags is in the ledger or comes from `usage.tag_key`.
  const isSaltKnown = hasLedger || usage.tagKey !== undefined;
  if (!isSaltKnown && sortedVersions.some(({ waivers }) => waivers.length > 0))
    lines.push(
      'Waivers cannot match tags, because the salt of the tags is not known.  Set usage.tag_key, or ledger: true.',
    );
  return lines;
}

/** Without its adapter, a version needs an upstream of its own. @throws ConfigError */
function requireUpstreams({ sortedVersions }: Snapshot, file: string | undefined): void {
  const faults = sortedVersions
    .filter(({ adapter, targets, retired }) => adapter?.mode === 'serve' && targets.length === 0 && !retired)
    .map(({ name, adapter }) => ({
      ...{ file, line: undefined, column: undefined, value: undefined, path: `routes./${name}` },
      message: `/${name} has no upstream, and an embedded gateway ignores its adapter from /${adapter?.from}.`,
      remedy: 'Add an upstream, or run version-gateway start.',
    }));
  if (faults.length > 0) throw new ConfigError(faults);
}

/**
 * Removes the ignored settings that would otherwise have an effect. `telemetry`: the server around the gateway exports its spans with its
 * own SDK. `selfService`: the index must not list a page that is not answered. `brownouts`: the index and the calendar must not
 * announce a brownout that never begins.
 */
function withoutIgnored(snapshot: Snapshot): Snapshot {
  const gateway = { ...snapshot.gateway, selfService: 'off' } as const;
  const affectedVersions = snapshot.sortedVersions.filter(
    ({ adapter, grease, freeze, brownouts }) => adapter || grease || freeze || brownouts.length > 0,
  );
  const clearedSettings = { adapter: undefined, grease: undefined, freeze: undefined, brownouts: [] };
  const clearedVersions = new Map(
    affectedVersions.map((version) => [version.name, { ...version, ...clearedSettings }]),
  );
  return { ...withVersions(snapshot, clearedVersions), telemetry: undefined, gateway };
}

/** Without discovery, no path serves a guide, so no link may point to one. */
function withoutGuides(snapshot: Snapshot): Snapshot {
  const sortedVersions = snapshot.sortedVersions.map((version): Version => ({ ...version, guide: false }));
  return { ...snapshot, sortedVersions, versions: new Map(sortedVersions.map((version) => [version.name, version])) };
}
