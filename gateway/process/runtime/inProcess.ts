import { Server as NetServer } from 'node:net';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Sampler } from '../../contracts/shadow/sampling/sampler.ts';
import type { DiscoveryFactory } from '../../operate/discovery/app.ts';
import { VersionCallMarks } from '../../proxy/pipeline/callMarks.ts';
import { followCertificate, setTicketKeys } from '../../proxy/pipeline/certificate.ts';
import {
  adjustClientListener,
  closeListener,
  createClientListener,
  listen,
  portOf,
} from '../../proxy/pipeline/clientListener.ts';
import type { GatewayContext } from '../../proxy/pipeline/exchange.ts';
import { loadedOnDemand } from '../../shared/onDemand.ts';
import { maxMarkingProcesses } from '../../usage/ledger/markFile.ts';
import type { ExchangeRecord } from '../../usage/observability/exchangeRecord.ts';
import { ejectionsIn } from '../../usage/observability/metrics.ts';
import { DataPlane } from './dataPlane.ts';
import { OpenFiles } from './openFiles.ts';
import type { Serve, UsageSink } from './serving.ts';
import { Telemetry } from './telemetry.ts';

// During a drain, idle connections stay open for at most this time. A client that sends another request gets a response with
// `Connection: close`.
const longestIdleMs = 2000;
const idleSweepMs = 250;
// How long closing waits for the last records. A destroyed connection usually reports its end within a few turns of the event loop.
const maxRecordingMs = 1000;

/** Serves in this process: a client listener in front of a data plane. */
export const serveInProcess: Serve = async (snapshot, options) => {
  const { clock, notice } = options;
  // Loaded by the first request for a discovery page. That request usually comes long after the start.
  const discovery: DiscoveryFactory = (source) =>
    loadedOnDemand(
      async () => (await import('../../operate/discovery/app.ts')).createDiscovery(source, clock, notice),
      notice,
    );
  // `ownUsage` answers `GET /versions/me`: what one client still calls.
  const { usage, restrictions, ownUsage, shadow } = options;
  const dataPlane = new DataPlane(snapshot, { clock, discovery, salt: usage?.salt, restrictions, ownUsage });
  const { context, draining } = dataPlane;
  // No exchange is recorded before `context.recorder` is set, and `openFiles` exists by then.
  const callMarks = callMarksOf(usage, dataPlane);
  context.callMarks = callMarks;
  const onRecord = (exchange: ExchangeRecord): void => openFiles.onRecord(exchange);
  const { requestsByVersion } = dataPlane;
  const telemetry = new Telemetry(dataPlane, options, { requestsByVersion, onRecord, callMarks });
  await telemetry.applyCurrent();
  let sampler: Sampler | undefined;
  const configureSampling = async (): Promise<void> => {
    const isSampled = dataPlane.current.sortedVersions.some((version) => version.shadow ?? version.drift);
    // The module is loaded only if a version has a shadow or drift.
    if (shadow && isSampled)
      sampler ??= new (await import('../../contracts/shadow/sampling/sampler.ts')).Sampler(shadow);
    sampler?.configure(dataPlane.current, dataPlane.identification.fields);
    context.shadow = isSampled ? sampler : undefined;
  };
  await configureSampling();
  const listener = createClientListener(snapshot.gateway, context, options.ticketKeys);
  try {
    await (options.listen ?? listen)(listener, snapshot.gateway.listen);
  } catch (error) {
    dataPlane.close();
    await telemetry.close();
    throw error;
  }
  const openFiles = new OpenFiles(listener, snapshot, notice);
  context.recorder = telemetry.recorder;
  const stopFollowing = followCertificate(listener, snapshot.gateway.tls, notice);
  return {
    port: portOf(listener),
    get current() {
      return dataPlane.current;
    },
    get ready() {
      return listener.listening && !context.draining;
    },
    apply: async (next) => {
      dataPlane.apply(next);
      adjustClientListener(listener, next);
      openFiles.adjust(next);
      await configureSampling();
      await telemetry.applyCurrent();
      return [];
    },
    report: async ({ withMetrics } = { withMetrics: false }) => {
      const { workers, ...rest } = dataPlane.report();
      const answers = telemetry.answers();
      const report = {
        ...rest,
        workers: workers.map((worker) => ({ ...worker, answers })),
        unsentSince: telemetry.unsentSince(),
      };
      if (!withMetrics) return report;
      const metricValues = [...ejectionsIn(report), ...(await telemetry.metrics())];
      return { ...report, workers: report.workers.map((worker) => ({ ...worker, metrics: metricValues })) };
    },
    flush: async () => {
      await telemetry.flush();
      return true;
    },
    resalt: async () => {
      if (usage) dataPlane.resalt(usage.salt);
      await telemetry.resalt();
    },
    rekey: async (ticketKeys) => setTicketKeys(listener, ticketKeys),
    restrict: async (update) => dataPlane.restrict(update),
    reopenLogs: () => telemetry.reopenLogs(),
    drain: async (ms) => {
      context.draining = true;
      // Closing the listener resets connections that are not accepted yet. So the ones that have arrived are accepted first.
      for (let turn = 0; turn < 2; turn += 1) await setImmediate();
      // Not close() of node:http, which also closes idle connections: the next request on them may already be on its way.
      const listenerClosed = new Promise<void>((resolve) => NetServer.prototype.close.call(listener, () => resolve()));
      draining.endAll(ms);
      const deadline = sleep(ms, undefined, { ref: false });
      await Promise.race([listenerClosed, sleep(Math.min(longestIdleMs, ms / 2), undefined, { ref: false })]);
      // The connection of a response that started before the drain becomes idle when the response ends.
      const sweep = setInterval(() => listener.closeIdleConnections(), idleSweepMs);
      listener.closeIdleConnections();
      await Promise.race([listenerClosed, deadline]);
      clearInterval(sweep);
    },
    close: async () => {
      stopFollowing();
      dataPlane.close();
      draining.cutAll();
      // The answers to interrupted requests leave before their connections are closed.
      await setImmediate();
      await closeListener(listener);
      await awaitRecords(context);
      await telemetry.close();
    },
  };
};

/** Undefined: the gateway keeps no ledger, or this process has no place for its marks. */
function callMarksOf(usage: UsageSink | undefined, { context, requestsByVersion }: DataPlane) {
  const { markFiles: files, process } = usage ?? {};
  if (files === undefined || process === undefined || process >= maxMarkingProcesses) return undefined;
  return new VersionCallMarks({ files, process }, context, requestsByVersion);
}

/** Waits for the last records: connections report their end, and exchanges are recorded, after the listener has closed. */
async function awaitRecords(context: GatewayContext): Promise<void> {
  const deadline = performance.now() + maxRecordingMs;
  while (context.unrecordedExchanges > 0 && performance.now() < deadline) await setImmediate();
}
