import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createDiscovery, type DiscoveryFactory } from './operate/discovery/app.ts';
import { type EmbeddingOptions, embed } from './process/runtime/embedding.ts';
import { isGatewayPath } from './proxy/pipeline/findVersion.ts';
import { handleRequest, handleUpgrade } from './proxy/pipeline/http.ts';

export { ConfigError, UnreadableFileError } from './config/fault.ts';

export interface VersionGatewayOptions extends EmbeddingOptions {
  /**
   * Answers the index of versions, the contracts, the migration guides and the API catalog: `GET /`, `/contracts/…`,
   * `/guides/…` and `/.well-known/api-catalog`. If false, your application answers these paths. Default: false.
   */
  readonly discovery?: boolean;
}

/** A version gateway for your own server: Express, Connect, or plain `node:http`. */
export interface VersionGateway {
  /** Answers requests for a version and passes others to `next`; without `next`, others are answered 404. */
  (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void): void;
  /**
   * For the server's `upgrade` event. Upgrades for other paths are left to the other listeners of this event. If there are
   * none, these upgrades are refused.
   */
  readonly upgrade: (req: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /**
   * For the server's `checkContinue` event, so that a client sends no body if its request is refused. Use it only if the
   * gateway answers every path of the server.
   */
  readonly checkContinue: (req: IncomingMessage, res: ServerResponse) => void;
  /** Closes the connections to the backends, the ledger and the watched files. It does not close your server. */
  close(): Promise<void>;
}

/** node:http sets `server` on the socket. */
interface ServerSocket extends Duplex {
  readonly server?: Server;
}

/**
 * `config` is the path of a routes.yaml, or an object of the same shape. `gateway.listen`, `gateway.admin` and the limits of
 * a listener are ignored, since the server is yours. Mount the gateway at the root, before middleware that reads bodies, and
 * set `gateway.base_path` if the API is below a path. docs/embedding.md lists what works and what does not.
 * @throws ConfigError with every fault of the file; UnreadableFileError if it cannot be read
 */
export function createVersionGateway(config: string | object, options: VersionGatewayOptions = {}): VersionGateway {
  const { notice } = options;
  const discovery: DiscoveryFactory | undefined = options.discovery
    ? (source, clock) => createDiscovery(source, clock, notice)
    : undefined;
  const { context, close } = embed(config, { ...options, discovery, forwardsRequests: true });
  const gateway = (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void): void => {
    // Without `next`, no other handler would answer.
    if (next && !isGatewayPath(req.url ?? '', context)) next();
    else handleRequest(req, res, context);
  };
  const expectsContinue = true;
  const checkContinue = (req: IncomingMessage, res: ServerResponse): void =>
    handleRequest(req, res, context, expectsContinue);
  const upgrade = (req: IncomingMessage, socket: Duplex, head: Buffer): void => {
    // If there is no other listener, upgrades for other paths are refused here.
    const hasOtherListeners = ((socket as ServerSocket).server?.listenerCount('upgrade') ?? 0) > 1;
    if (!hasOtherListeners || isGatewayPath(req.url ?? '', context))
      handleUpgrade(req, socket as Socket, head, context);
  };
  return Object.assign(gateway, { upgrade, checkContinue, close });
}
