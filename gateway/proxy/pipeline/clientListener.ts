import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { GatewaySettings, HostPort, Snapshot } from '../../config/snapshot.ts';
import { http } from '../../shared/builtinHttp.ts';
import { readKeyPair } from './certificate.ts';
import type { GatewayContext } from './exchange.ts';
import { openFastLane } from './fastLane.ts';
import { handleRequest, handleUpgrade, shouldUpgrade } from './http.ts';
import { openHttp2 } from './http2/openHttp2.ts';
import { refuseConnection } from './parserErrors.ts';
import { currentResponse } from './pipeliningOrder.ts';
import { allowParserPause, isParserPause } from './readAhead.ts';

/** The client sends the body only after a 100 (`Expect: 100-continue`). */
const expectsContinue = true;

/** The server that clients connect to: HTTP/2, the fast lane and node's strict parser, with our own limits and answers. */
export function createClientListener(settings: GatewaySettings, context: GatewayContext, ticketKeys?: Buffer): Server {
  const onRequest = (req: IncomingMessage, res: ServerResponse): void => handleRequest(req, res, context);
  const { tls } = settings;
  const server: Server = tls
    ? createTlsServer(
        {
          ...optionsFor(settings),
          ...readKeyPair(tls),
          ...(ticketKeys && { ticketKeys }),
          ALPNProtocols: settings.http2 === 'auto' ? ['h2', 'http/1.1'] : ['http/1.1'],
          // node:tls has no value for no limit, so 0 becomes the longest time that a timer can have.
          handshakeTimeout: settings.timeouts.head || 0x7fff_ffff,
        },
        onRequest,
      )
    : http.createServer(optionsFor(settings), onRequest);
  // No limit: the default of 2,000 drops fields silently. The step `checkMessage` counts the fields.
  server.maxHeadersCount = 0;
  server.timeout = longestWriteIdleMs(context.activeSnapshot.snapshot);
  allowParserPause(server);
  if (settings.fastLane === 'auto') openFastLane(server, context);
  if (tls ? settings.http2 === 'auto' : settings.h2c === 'on') openHttp2(server, settings, context);
  return server
    .on('checkContinue', (req, res) => handleRequest(req, res, context, expectsContinue))
    .on('checkExpectation', onRequest)
    .on('upgrade', (req, socket, head) => handleUpgrade(req, socket as Socket, head, context))
    .on('connect', (req, socket, head) => handleUpgrade(req, socket as Socket, head, context))
    .on('timeout', endIfStuck)
    .on('clientError', (error, socket) => {
      // A paused parser also emits an error.
      if (!isParserPause(error, socket as Socket)) refuseConnection(error, socket as Socket, context);
    });
}

/**
 * Closes a connection without traffic if it is idle, or if the client does not read the response. A connection that waits
 * for a backend, or for the next event of a stream, stays open.
 */
function endIfStuck(socket: Socket): void {
  if (currentResponse(socket) === undefined || socket.writableLength > 0) socket.destroy();
}

/** Applies the settings of a new snapshot that can change while the listener is open; the others need a restart. */
export function adjustClientListener(server: Server, snapshot: Snapshot): void {
  const { timeouts } = snapshot.gateway;
  server.timeout = longestWriteIdleMs(snapshot);
  server.headersTimeout = timeouts.head;
  server.keepAliveTimeout = timeouts.keepAlive;
}

/** 0 if a version has no limit. */
function longestWriteIdleMs({ sortedVersions }: Snapshot): number {
  const limits = sortedVersions.map(({ timeouts }) => timeouts.writeIdle);
  return limits.includes(0) ? 0 : Math.max(0, ...limits);
}

function optionsFor({ timeouts, limits }: GatewaySettings): ServerOptions {
  return {
    insecureHTTPParser: false,
    // Above our own limits, so that our answer names the limit that was reached.
    maxHeaderSize: limits.head + limits.url + 8 * 1024,
    headersTimeout: timeouts.head,
    // RequestBody times bodies itself, so that a large upload that makes progress never times out.
    requestTimeout: 0,
    connectionsCheckingInterval: 500,
    keepAliveTimeout: timeouts.keepAlive,
    requireHostHeader: false,
    noDelay: true,
    // Skips the stream machinery for requests without a body.
    optimizeEmptyRequests: true,
    shouldUpgradeCallback: shouldUpgrade,
  };
}

/** @throws system errors such as EADDRINUSE. */
export function listen(server: Server, { host, port }: HostPort): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Closes the server, if it listens, and all its connections. */
export function closeListener(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
