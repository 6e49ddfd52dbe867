import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HostPort } from '../config/snapshot.ts';

/** @throws the system's own errors, such as EADDRINUSE. */
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

/** Ends the listener, if it listens, and every connection with it. */
export function end(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
