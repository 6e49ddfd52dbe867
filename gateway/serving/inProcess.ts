import { Server as NetServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { followCertificate } from '../pipeline/certificate.ts';
import { adjustFrontDoor, createFrontDoor } from '../pipeline/frontDoor.ts';
import { end, listen, portOf } from '../pipeline/listener.ts';
import { assemble } from './assembly.ts';
import type { Serve } from './serving.ts';

// Clients that are quick to ask again are told with an answer to leave; the others lose nothing.
const mostIdleMs = 2000;

/** Serves in this very process. */
export const serveInProcess: Serve = async (snapshot, { clock, notice }) => {
  const assembly = assemble(snapshot, { clock });
  const { surroundings, endings } = assembly;
  const front = createFrontDoor(snapshot.gateway, surroundings);
  await listen(front, snapshot.gateway.listen);
  const stopFollowing = followCertificate(front, snapshot.gateway.tls, notice);
  return {
    port: portOf(front),
    get ready() {
      return front.listening && !surroundings.draining;
    },
    apply: async (next) => {
      assembly.apply(next);
      adjustFrontDoor(front, next.gateway);
    },
    report: async () => assembly.report(),
    drain: async (ms) => {
      surroundings.draining = true;
      // Not close() of node:http, which drops idle connections although the next request may be on its way on them.
      const ended = new Promise<void>((resolve) => NetServer.prototype.close.call(front, () => resolve()));
      endings.all(ms);
      const over = setTimeout(ms, undefined, { ref: false });
      await Promise.race([ended, setTimeout(Math.min(mostIdleMs, ms / 2), undefined, { ref: false })]);
      front.closeIdleConnections();
      await Promise.race([ended, over]);
    },
    close: async () => {
      stopFollowing();
      assembly.close();
      await end(front);
    },
  };
};
