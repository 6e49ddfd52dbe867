import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type EmbeddingOptions, embed } from './process/runtime/embedding.ts';
import { interceptRequest, interceptUpgrade } from './proxy/pipeline/application.ts';

export { ConfigError, UnreadableFileError } from './config/fault.ts';

export type VersionLifecycleOptions = EmbeddingOptions;

export type UpgradeListener<Stream extends Duplex = Duplex> = (
  req: IncomingMessage,
  socket: Stream,
  head: Buffer,
) => void;

/** A middleware for Express, Connect and `node:http`. */
export interface VersionLifecycle {
  (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void): void;
  /** Wraps a listener of the server's `upgrade` event, such as the `upgrade` of http-proxy-middleware. */
  upgrade<Stream extends Duplex>(listener: UpgradeListener<Stream>): UpgradeListener<Stream>;
  /** Closes the ledger and the watched files. */
  close(): Promise<void>;
}

/** Express keeps the request target in `originalUrl`, and removes the mount path from `url`. */
interface MountedRequest extends IncomingMessage {
  readonly originalUrl?: string;
}

/**
 * The version lifecycle for an application that answers or forwards requests itself. Responses of an announced, deprecated
 * or sunset version get `Deprecation`, `Sunset` and `Link`. An unknown version is answered 404, a retired one 410. All other
 * requests are passed to `next`. With `ledger: true`, requests whose path names a version are counted. `config` is the path
 * of a routes.yaml, or an object of the same shape. Its versions need no `upstream`; if they have one, it is ignored.
 * @throws ConfigError with every fault of the file; UnreadableFileError if it cannot be read
 */
export function versionLifecycle(config: string | object, options: VersionLifecycleOptions = {}): VersionLifecycle {
  const { context, close } = embed(config, { ...options, discovery: undefined, forwardsRequests: false });
  const middleware = (req: MountedRequest, res: ServerResponse, next: (error?: unknown) => void): void =>
    interceptRequest(req, res, req.originalUrl ?? req.url ?? '', context, next);
  const upgrade =
    <Stream extends Duplex>(listener: UpgradeListener<Stream>): UpgradeListener<Stream> =>
    (req, socket, head) =>
      // node:http passes a net.Socket, or its subclass TLSSocket.
      interceptUpgrade(req, socket as Duplex as Socket, context, () => listener(req, socket, head));
  return Object.assign(middleware, { upgrade, close });
}
