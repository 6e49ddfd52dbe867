import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

// How long the gateway keeps reading after its response, so that the client has time to read the response.
const lingerMs = 2000;

/**
 * Closes a connection after its response, although the client is still sending its body. Closing a socket with unread bytes
 * resets it, and the client may lose the answer (RFC 9112 §9.6): so the sending side is closed first, and what still arrives is
 * discarded for a while. The caller sends `Connection: close`.
 */
export function lingerOnClose(socket: Socket | null): void {
  if (!socket) return;
  // `destroySoon()` is called after the last response of a connection.
  socket.destroySoon = endAndDiscardRest;
}

/** Ends the sending side of a socket at once, and discards what still arrives for a while. */
export function endAndDiscardRest(this: Duplex): void {
  this.end();
  this.resume();
  const timer = setTimeout(() => this.destroy(), lingerMs).unref();
  this.once('close', () => clearTimeout(timer));
}
