import type { Socket } from 'node:net';
import type { UpstreamTimeouts } from '../config/snapshot.ts';
import type { Connection } from '../http1/connection.ts';
import type { ResponseHandler } from '../http1/responseHandler.ts';
import type { ResponseHead } from '../http1/responseHead.ts';
import { endAndDrain } from './lingering.ts';
import type { ExchangeStats, Outbound } from './outbound.ts';
import { responseFields } from './responseFields.ts';
import { FrameFollower, goingAwayFrame } from './webSocketFrames.ts';

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

/** One way through a tunnel. */
export class TunnelDirection {
  /** Nothing more goes this way: whatever still comes is thrown away. */
  over = false;
  readonly #to: Socket;
  readonly #masked: boolean;
  readonly #frames: FrameFollower | undefined;
  #ending = false;

  /** `masked`: it leads to the server of the WebSocket. */
  constructor(to: Socket, isWebSocket: boolean, masked: boolean) {
    this.#to = to;
    this.#masked = masked;
    this.#frames = isWebSocket ? new FrameFollower() : undefined;
  }

  /** False when the other end does not keep up. */
  pass(chunk: Buffer): boolean {
    if (this.over) return true;
    const end = this.#frames?.follow(chunk, this.#ending) ?? chunk.length;
    const flowing = this.#to.write(end === chunk.length ? chunk : chunk.subarray(0, end));
    if (this.#ending) this.#endBetweenFrames();
    return flowing || this.over;
  }

  /** Ends as soon as that breaks nothing; says of a WebSocket that it is 1001. */
  goAway(): void {
    if (this.over) return;
    this.#ending = true;
    this.#endBetweenFrames();
  }

  /** There is nothing more to come. What has been passed still arrives. */
  end(): void {
    this.over = true;
    this.#to.end();
  }

  #endBetweenFrames(): void {
    if (this.#frames?.between === false) return;
    // Behind a Close no other frame may come (RFC 6455 §5.5.1).
    if (this.#frames?.closing === false && this.#to.writable) this.#to.write(goingAwayFrame(this.#masked));
    this.end();
  }
}

/**
 * What two connections become after a 101 (RFC 9110 §7.8): bytes both ways, whatever they mean.
 * `onClose`: both sides are done.
 */
export function openTunnel(
  outbound: Outbound,
  connection: Connection,
  head: ResponseHead,
  onClose: () => void,
): Tunnel {
  const { res, upgrade, timeouts } = outbound;
  const client = res.socket as Socket;
  res.detachSocket(client);
  const early = upgrade?.take();
  const at = head.names.indexOf('upgrade');
  const protocol = at === -1 ? (upgrade?.protocol ?? '') : (head.fields[at * 2 + 1] as string);
  client.write(switchingHead(head.reason, protocol, responseFields(head, outbound.responsePlan())), 'latin1');
  outbound.onSwitched();
  const tunnel = new Tunnel(client, connection, outbound, protocol.toLowerCase() === 'websocket', () => {
    onClose();
    outbound.onTunnelClosed();
  });
  connection.handOver(tunnel);
  connection.expect(timeouts.streamIdle);
  client
    .on('data', (chunk: Buffer) => tunnel.fromClient(chunk))
    .on('drain', () => connection.socket.resume())
    .on('end', () => tunnel.clientEnded())
    .on('close', () => tunnel.clientClosed())
    .resume();
  if (early && early.length > 0) tunnel.fromClient(early);
  return tunnel;
}

function switchingHead(reason: string, protocol: string, fields: readonly string[]): string {
  let head = `HTTP/1.1 101 ${reason === '' ? 'Switching Protocols' : reason}\r\nConnection: Upgrade\r\n`;
  head += `Upgrade: ${protocol}\r\n`;
  for (let index = 0; index < fields.length; index += 2) head += `${fields[index]}: ${fields[index + 1]}\r\n`;
  return `${head}\r\n`;
}
