import type { SendHandle } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { HostPort } from '../config/snapshot.ts';

/**
 * The listening socket of all workers. The first worker opens it, and the primary holds it from then on without accepting:
 * while no worker lives, the kernel queues connections instead of refusing them.
 */
export interface SharedSocket {
  /** undefined: this worker is the first one. */
  readonly handle: SendHandle;
  /** Encrypts TLS sessions: a client may resume its session with another worker. */
  readonly ticketKeys: Buffer;
}

/** @throws the system's own errors, such as EADDRINUSE */
export async function listenOn(handle: SendHandle, server: Server, { host, port }: HostPort): Promise<void> {
  // `exclusive`: node:cluster would close the socket when the last worker is gone.
  if (handle === undefined) server.listen({ host, port, exclusive: true });
  else server.listen(handle);
  await once(server, 'listening');
}

/** What process.send() takes: the socket itself. Sending the server would have the primary accept, too. */
export function handleOf(server: Server): SendHandle {
  return (server as Server & { readonly _handle?: SendHandle })._handle;
}
