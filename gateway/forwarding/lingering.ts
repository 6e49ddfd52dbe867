import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

// How long we listen on to a client that is answered already. Long enough for the answer to be read.
const lingerMs = 2000;

/**
 * Ends the connection once `res` is sent, although the client is still sending: closing a socket with unread bytes
 * resets it, and the reset can overtake the answer (RFC 9112 §9.6). So our side is closed first, and what still
 * comes is thrown away for a while. The caller says `Connection: close`.
 */
export function lingerAfter(res: ServerResponse): void {
  const { socket } = res;
  if (!socket) return;
  // node:http calls this one when the last response of a connection is out.
  socket.destroySoon = endAndDrain;
}

/** Says the last word on a socket that no response holds, and lingers as well. */
export function endAndDrain(this: Socket): void {
  this.end();
  this.resume();
  const timer = setTimeout(() => this.destroy(), lingerMs).unref();
  this.once('close', () => clearTimeout(timer));
}
