import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { loadSnapshot, snapshotFrom } from './config/load.ts';
import { concerns } from './pipeline/findVersion.ts';
import { handle } from './pipeline/http.ts';
import type { Surroundings } from './pipeline/live.ts';
import { handleUpgrade } from './pipeline/upgrade.ts';
import { assemble } from './serving/assembly.ts';

export { ConfigError } from './config/fault.ts';

/** A version gateway for a server of your own: Express, Connect, or plain `node:http`. */
export interface VersionGateway {
  /** Answers what is under a version, and passes the rest to `next`; without one, the rest is answered 404. */
  (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void): void;
  /** For the `upgrade` event of the server. What is no version's is left to its other listeners, if it has any. */
  readonly upgrade: (req: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** For the `checkContinue` event: then a refused body is never asked for. Only where every path is the gateway's. */
  readonly checkContinue: (req: IncomingMessage, res: ServerResponse) => void;
  /** Lets go of the connections to the backends. The server stays yours to close. */
  close(): void;
}

/** node:http notes here which server a socket belongs to. */
interface ServerSocket extends Duplex {
  readonly server?: Server;
}

/**
 * `config` is the path of a routes.yaml, or an object of the same shape; `gateway.listen`, `gateway.admin` and the
 * limits of a listener mean nothing here, since the server is yours. Mount it at the root, before anything that reads
 * bodies, and say `gateway.base_path` when the API lives below a path.
 * @throws ConfigError with every fault of the file
 */
export function createVersionGateway(config: string | object): VersionGateway {
  const snapshot = typeof config === 'string' ? loadSnapshot(config) : snapshotFrom(config);
  const guest = assemble(snapshot, { embedded: true });
  const alone = { ...guest.surroundings, embedded: false };
  // Without `next` nobody else would answer.
  const around = (next: unknown): Surroundings => (next === undefined ? alone : guest.surroundings);
  const gateway = (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void): void => {
    if (!handle(req, res, around(next))) next?.();
  };
  const checkContinue = (req: IncomingMessage, res: ServerResponse): void => void handle(req, res, alone, true);
  const upgrade = (req: IncomingMessage, socket: Duplex, head: Buffer): void => {
    // With nobody else to answer it, what is no version's is refused here.
    const others = ((socket as ServerSocket).server?.listenerCount('upgrade') ?? 0) > 1;
    if (!others || concerns(req.url ?? '', alone)) handleUpgrade(req, socket as Socket, head, alone);
  };
  return Object.assign(gateway, { upgrade, checkContinue, close: guest.close });
}
