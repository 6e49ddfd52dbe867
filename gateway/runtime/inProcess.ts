import { Server as NetServer } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { createDiscovery } from '../discovery/app.ts';
import { ejectionsIn } from '../observability/ejections.ts';
import { followCertificate } from '../pipeline/certificate.ts';
import { adjustFrontDoor, createFrontDoor } from '../pipeline/frontDoor.ts';
import { end, listen, portOf } from '../pipeline/listener.ts';
import type { GatewayContext } from '../pipeline/live.ts';
import { assemble } from './dataPlane.ts';
import { OpenFiles } from './openFiles.ts';
import type { Serve } from './serving.ts';
import { Telemetry } from './telemetry.ts';

// Clients that are quick to ask again are told with an answer to leave; the others lose nothing.
const mostIdleMs = 2000;
const sweepMs = 250;
// A connection that is destroyed reports its end within a few turns of the event loop.
const recordingMs = 1000;

/** Serves in this very process. */
export const serveInProcess: Serve = async (snapshot, options) => {
  const { clock, notice } = options;
  const assembly = assemble(snapshot, { clock, discovery: createDiscovery });
  const { context, draining } = assembly;
  const telemetry = new Telemetry(snapshot, options, assembly.uses);
  const front = createFrontDoor(snapshot.gateway, context, options.ticketKeys);
  try {
    await (options.listen ?? listen)(front, snapshot.gateway.listen);
  } catch (error) {
    assembly.close();
    await telemetry.close();
    throw error;
  }
  const files = new OpenFiles(front, snapshot, notice);
  context.recorder = files.watching(telemetry.recorder);
  const stopFollowing = followCertificate(front, snapshot.gateway.tls, notice);
  return {
    port: portOf(front),
    get ready() {
      return front.listening && !context.draining;
    },
    apply: async (next) => {
      assembly.apply(next);
      adjustFrontDoor(front, next);
      files.adjust(next);
      await telemetry.apply(next);
      return [];
    },
    report: async (metrics) => {
      const report = assembly.report();
      if (!metrics) return report;
      const counted = [...ejectionsIn(report), ...(await telemetry.metrics())];
      return { ...report, workers: report.workers.map((worker) => ({ ...worker, metrics: counted })) };
    },
    flush: async () => {
      await telemetry.flush();
      return true;
    },
    resalt: () => telemetry.resalt(),
    reopenLogs: () => telemetry.reopen(),
    drain: async (ms) => {
      context.draining = true;
      // Not close() of node:http, which drops idle connections although the next request may be on its way on them.
      const ended = new Promise<void>((resolve) => NetServer.prototype.close.call(front, () => resolve()));
      draining.all(ms);
      const over = setTimeout(ms, undefined, { ref: false });
      await Promise.race([ended, setTimeout(Math.min(mostIdleMs, ms / 2), undefined, { ref: false })]);
      // A response that began before may end later, and leave its connection idle.
      const sweep = setInterval(() => front.closeIdleConnections(), sweepMs);
      front.closeIdleConnections();
      await Promise.race([ended, over]);
      clearInterval(sweep);
    },
    close: async () => {
      stopFollowing();
      assembly.close();
      draining.cut();
      // The answers that say so leave before their connections are closed.
      await setImmediate();
      await end(front);
      await allRecorded(context);
      await telemetry.close();
    },
  };
};

/** The listener is closed before its connections report their end, and an exchange is recorded only then. */
async function allRecorded(context: GatewayContext): Promise<void> {
  const limit = performance.now() + recordingMs;
  while (context.unrecorded > 0 && performance.now() < limit) await setImmediate();
}
