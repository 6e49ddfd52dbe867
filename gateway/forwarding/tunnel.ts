import type { Socket } from 'node:net';
import type { UpstreamTimeouts } from '../config/snapshot.ts';
import type { Connection } from '../http1/connection.ts';
import type { ResponseHandler } from '../http1/handler.ts';
import type { ExchangeStats } from './exchangeStats.ts';
import { endAndDrain } from './lingering.ts';
import { TunnelDirection } from './tunnelDirection.ts';

/** What becomes of a 101: two ways between two sockets, and the end of both. `onClose`: both sides are done. */
export class Tunnel implements ResponseHandler {
  readonly #client: Socket;
  readonly #connection: Connection;
  readonly #timeouts: UpstreamTimeouts;
  readonly #toClient: TunnelDirection;
  readonly #toTarget: TunnelDirection;
  readonly #stats: ExchangeStats;
  readonly #onClose: () => void;
  // One direction is done. The other may go on, but not in silence for ever.
  #halfOpen = false;
  #phase: 'open' | 'leaving' | 'lingering' = 'open';

  constructor(
    client: Socket,
    connection: Connection,
    { timeouts, stats }: { readonly timeouts: UpstreamTimeouts; readonly stats: ExchangeStats },
    isWebSocket: boolean,
    onClose: () => void,
  ) {
    this.#client = client;
    this.#connection = connection;
    this.#timeouts = timeouts;
    this.#stats = stats;
    this.#toClient = new TunnelDirection(client, isWebSocket, false);
    this.#toTarget = new TunnelDirection(connection.socket, isWebSocket, true);
    this.#onClose = onClose;
  }

  fromClient(chunk: Buffer): void {
    const { streamIdle, idle } = this.#timeouts;
    this.#stats.bytesIn += chunk.length;
    this.#connection.expect(this.#halfOpen ? idle : streamIdle);
    if (!this.#toTarget.pass(chunk)) this.#client.pause();
    if (this.#phase === 'leaving') this.#settle();
  }

  onData(chunk: Buffer): boolean {
    this.#stats.bytesOut += chunk.length;
    const flowing = this.#toClient.pass(chunk);
    if (this.#phase === 'leaving') this.#settle();
    return flowing;
  }

  onDrain(): void {
    this.#client.resume();
  }

  clientEnded(): void {
    this.#end(this.#toTarget);
  }

  onEnd(): void {
    this.#end(this.#toClient);
  }

  onFailure(): void {
    this.#toTarget.over = true;
    // The last words for the client may still be on their way.
    if (this.#phase === 'leaving' && this.#toClient.over) this.#settle();
    else if (this.#phase !== 'lingering') this.#client.destroy();
  }

  clientClosed(): void {
    const { socket, closed } = this.#connection;
    if (closed || this.#phase === 'open' || !this.#toTarget.over) {
      this.#connection.destroy();
      this.#onClose();
      return;
    }
    // Likewise those for the target.
    socket.once('close', this.#onClose);
    this.#toClient.over = true;
    if (this.#phase === 'leaving') this.#settle();
  }

  /** It is no longer wanted: tells both sides, each as soon as a frame of its direction is whole. Safe to call twice. */
  goAway(): void {
    if (this.#phase !== 'open') return;
    this.#phase = 'leaving';
    this.#toClient.goAway();
    this.#toTarget.goAway();
    this.#settle();
  }

  /** Ends both sides at once. */
  cut(): void {
    this.#connection.destroy();
    this.#client.destroy();
  }

  #end(way: TunnelDirection): void {
    this.#halfOpen = true;
    this.#connection.expect(this.#timeouts.idle);
    way.end();
    if (this.#phase === 'leaving') this.#settle();
  }

  /** Whoever has been told is listened to all the same: a socket with unread bytes is reset, and its end goes unheard. */
  #settle(): void {
    if (this.#toTarget.over) this.#client.resume();
    if (this.#toClient.over) this.#connection.socket.resume();
    if (!this.#toTarget.over || !this.#toClient.over) return;
    this.#phase = 'lingering';
    linger(this.#client);
    linger(this.#connection.socket);
  }

  // What belongs to the response that opened the tunnel is over.
  onConnected(): void {}
  onInformation(): void {}
  onWhole(): void {}
  onHead(): void {}
}

/** The time to linger begins when all that was written has left. */
function linger(socket: Socket): void {
  if (socket.destroyed) return;
  socket.end(() => endAndDrain.call(socket));
}
