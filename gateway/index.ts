import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createDiscovery } from './discovery/app.ts';
import { isGatewayPath } from './pipeline/findVersion.ts';
import { handleRequest } from './pipeline/http.ts';
import { handleUpgrade } from './pipeline/upgrade.ts';
import { type EmbeddingOptions, embed } from './runtime/embedding.ts';

export { ConfigError, UnreadableFileError } from './config/fault.ts';

export interface VersionGatewayOptions extends EmbeddingOptions {
  /**
   * Answers the index of versions, the contracts, the migration guides and the API catalog: `GET /`, `/contracts/…`,
   * `/guides/…` and `/.well-known/api-catalog`. Without it these paths are the host's. Default: false.
   */
  readonly discovery?: boolean;
}

/** A version gateway for a server of your own: Express, Connect, or plain `node:http`. */
export interface VersionGateway {
  /** Answers what is under a version, and passes the rest to `next`; without one, the rest is answered 404. */
  (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void): void;
  /** For the `upgrade` event of the server. What is no version's is left to its other listeners, if it has any. */
  readonly upgrade: (req: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** For the `checkContinue` event: then a refused body is never asked for. Only where every path is the gateway's. */
  readonly checkContinue: (req: IncomingMessage, res: ServerResponse) => void;
  /** Closes the connections to the backends, the ledger and the watched files. The server stays yours to close. */
  close(): Promise<void>;
}

/** node:http notes here which server a socket belongs to. */
interface ServerSocket extends Duplex {
  readonly server?: Server;
}

/**
 * `config` is the path of a routes.yaml, or an object of the same shape; `gateway.listen`, `gateway.admin` and the
 * limits of a listener mean nothing here, since the server is yours. Mount it at the root, before anything that reads
 * bodies, and say `gateway.base_path` when the API lives below a path. docs/embedding.md lists what works and what does not.
 * @throws ConfigError with every fault of the file; UnreadableFileError if it cannot be read
 */
export function createVersionGateway(config: string | object, options: VersionGatewayOptions = {}): VersionGateway {
  const discovery = options.discovery ? createDiscovery : undefined;
  const { context, close } = embed(config, { ...options, discovery, forwards: true });
  const gateway = (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void): void => {
    // Without `next` nobody else would answer.
    if (next && !isGatewayPath(req.url ?? '', context)) next();
    else handleRequest(req, res, context);
  };
  const checkContinue = (req: IncomingMessage, res: ServerResponse): void => handleRequest(req, res, context, true);
  const upgrade = (req: IncomingMessage, socket: Duplex, head: Buffer): void => {
    // With nobody else to answer it, what is no version's is refused here.
    const others = ((socket as ServerSocket).server?.listenerCount('upgrade') ?? 0) > 1;
    if (!others || isGatewayPath(req.url ?? '', context)) handleUpgrade(req, socket as Socket, head, context);
  };
  return Object.assign(gateway, { upgrade, checkContinue, close });
}
