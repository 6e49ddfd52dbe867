import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { GatewaySettings, Snapshot } from '../config/snapshot.ts';
import { refuseConnection } from './brokenMessage.ts';
import { readKeyPair } from './certificate.ts';
import { handle } from './http.ts';
import type { GatewayContext } from './live.ts';
import { currentResponse } from './pipeliningOrder.ts';
import { isStop, stopParsers } from './readAhead.ts';
import { handleUpgrade, shouldUpgrade } from './upgrade.ts';

/** The listener that clients reach: node's strict parser, and what it leaves to its user. */
export function createFrontDoor(settings: GatewaySettings, context: GatewayContext, ticketKeys?: Buffer): Server {
  const onRequest = (req: IncomingMessage, res: ServerResponse): void => handle(req, res, context);
  const { tls } = settings;
  const server: Server = tls
    ? createTlsServer(
        {
          ...optionsFor(settings),
          ...readKeyPair(tls),
          ...(ticketKeys && { ticketKeys }),
          ALPNProtocols: ['http/1.1'],
          handshakeTimeout: settings.timeouts.head || 0x7fff_ffff,
        },
        onRequest,
      )
    : createServer(optionsFor(settings), onRequest);
  // 0 is no limit, where the default of 2,000 would drop fields without a word; the steps count for themselves.
  server.maxHeadersCount = 0;
  server.timeout = longestWriteIdle(context.live.snapshot);
  stopParsers(server);
  return server
    .on('checkContinue', (req, res) => handle(req, res, context, true))
    .on('checkExpectation', onRequest)
    .on('upgrade', (req, socket, head) => handleUpgrade(req, socket as Socket, head, context))
    .on('connect', (req, socket, head) => handleUpgrade(req, socket as Socket, head, context))
    .on('timeout', endIfStuck)
    .on('clientError', (error, socket) => {
      if (!isStop(error, socket as Socket)) refuseConnection(error, socket as Socket, context);
    });
}

/**
 * Nothing has moved on the connection for a while. That is an end where nothing is under way, and where the client does
 * not read what we have for it; while a backend thinks, or a stream is silent, it is as it should be.
 */
function endIfStuck(socket: Socket): void {
  if (currentResponse(socket) === undefined || socket.writableLength > 0) socket.destroy();
}

/** What of a new snapshot can change while the listener is open; the rest needs a restart. */
export function adjustFrontDoor(server: Server, snapshot: Snapshot): void {
  const { timeouts } = snapshot.gateway;
  server.timeout = longestWriteIdle(snapshot);
  server.headersTimeout = timeouts.head;
  server.keepAliveTimeout = timeouts.keepAlive;
}

function longestWriteIdle({ byMajor }: Snapshot): number {
  return byMajor.reduce((most, { timeouts }) => Math.max(most, timeouts.writeIdle), 0);
}

function optionsFor({ timeouts, limits }: GatewaySettings): ServerOptions {
  return {
    insecureHTTPParser: false,
    // Above our own limits, so that these decide and can say which of them was reached.
    maxHeaderSize: limits.head + limits.url + 8 * 1024,
    headersTimeout: timeouts.head,
    // Bodies have their own clock, which a large upload that keeps coming never runs into.
    requestTimeout: 0,
    connectionsCheckingInterval: 500,
    keepAliveTimeout: timeouts.keepAlive,
    requireHostHeader: false,
    noDelay: true,
    // A request without a body needs none of the stream machinery of one.
    optimizeEmptyRequests: true,
    shouldUpgradeCallback: shouldUpgrade,
  };
}
