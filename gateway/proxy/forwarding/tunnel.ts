import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { UpstreamTimeouts } from '../../config/snapshot.ts';
import type { Connection } from '../../http1/connection.ts';
import type { ResponseHead } from '../../http1/responseHead.ts';
import type { ResponseHandler } from '../../http1/responseReader.ts';
import { endAndDiscardRest } from './lingering.ts';
import type { ExchangeStats, Outbound, OutgoingResponse } from './outbound.ts';
import { responseFields } from './responseFields.ts';
import { FrameFollower, goingAwayFrame } from './webSocketFrames.ts';

/** Turns both connections into a tunnel after a 101 (RFC 9110 §7.8). `onClose`: both sides are closed. */
export function openTunnel(
  outbound: Outbound,
  connection: Connection,
  head: ResponseHead,
  onClose: () => void,
): Tunnel {
  const { res, upgrade, timeouts } = outbound;
  const earlyBytes = upgrade?.take();
  const upgradeAt = head.names.indexOf('upgrade');
  const protocol = upgradeAt === -1 ? (upgrade?.protocol ?? '') : (head.fields[upgradeAt * 2 + 1] as string);
  const fields = responseFields(head, outbound.responsePlan());
  const client = res.openStream?.(fields) ?? switchSocket(res, switchingHead(head.reason, protocol, fields));
  outbound.onSwitched();
  const tunnel = new Tunnel(client, connection, outbound, protocol.toLowerCase() === 'websocket', () => {
    onClose();
    outbound.onTunnelClosed();
  });
  connection.handOver(tunnel);
  connection.setIdleTimeout(timeouts.streamIdle);
  client
    .on('data', (chunk: Buffer) => tunnel.fromClient(chunk))
    .on('drain', () => connection.socket.resume())
    .on('end', () => tunnel.clientEnded())
    .on('close', () => tunnel.clientClosed())
    .resume();
  connection.socket.on('drain', () => client.resume());
  if (earlyBytes && earlyBytes.length > 0) tunnel.fromClient(earlyBytes);
  return tunnel;
}

function switchSocket(res: OutgoingResponse, head: string): Socket {
  const socket = res.socket as Socket;
  res.detachSocket(socket);
  socket.write(head, 'latin1');
  return socket;
}

function switchingHead(reason: string, protocol: string, fields: readonly string[]): string {
  let head = `HTTP/1.1 101 ${reason === '' ? 'Switching Protocols' : reason}\r\nConnection: Upgrade\r\n`;
  head += `Upgrade: ${protocol}\r\n`;
  for (let index = 0; index < fields.length; index += 2) head += `${fields[index]}: ${fields[index + 1]}\r\n`;
  return `${head}\r\n`;
}

/** The two directions between client and target, and how they end. `onClose`: both sides are closed. */
export class Tunnel implements ResponseHandler {
  /** A socket, or a stream of HTTP/2. */
  readonly #client: Duplex;
  readonly #connection: Connection;
  readonly #timeouts: UpstreamTimeouts;
  readonly #toClient: TunnelDirection;
  readonly #toTarget: TunnelDirection;
  readonly #stats: ExchangeStats;
  readonly #onClose: () => void;
  // One direction has ended. The other may stay open, with the shorter idle timeout.
  #halfOpen = false;
  // `leaving`: a Close is sent in both directions. `lingering`: both directions have ended, and the sockets are being closed.
  #phase: 'open' | 'leaving' | 'lingering' = 'open';

  constructor(
    client: Duplex,
    connection: Connection,
    { timeouts, stats }: { readonly timeouts: UpstreamTimeouts; readonly stats: ExchangeStats },
    isWebSocket: boolean,
    onClose: () => void,
  ) {
    this.#client = client;
    this.#connection = connection;
    this.#timeouts = timeouts;
    this.#stats = stats;
    this.#toClient = new TunnelDirection(client, { isWebSocket, masked: false });
    this.#toTarget = new TunnelDirection(connection.socket, { isWebSocket, masked: true });
    this.#onClose = onClose;
  }

  fromClient(chunk: Buffer): void {
    const { streamIdle, idle } = this.#timeouts;
    this.#stats.bytesIn += chunk.length;
    this.#connection.setIdleTimeout(this.#halfOpen ? idle : streamIdle);
    if (!this.#toTarget.pass(chunk)) this.#client.pause();
    if (this.#phase === 'leaving') this.#continueClosing();
  }

  onData(chunk: Buffer): boolean {
    this.#stats.bytesOut += chunk.length;
    const flowing = this.#toClient.pass(chunk);
    if (this.#phase === 'leaving') this.#continueClosing();
    return flowing;
  }

  clientEnded(): void {
    this.#end(this.#toTarget);
  }

  onEnd(): void {
    this.#end(this.#toClient);
  }

  onFailure(): void {
    this.#toTarget.ended = true;
    // The Close for the client may not be sent completely yet.
    if (this.#phase === 'leaving' && this.#toClient.ended) this.#continueClosing();
    else if (this.#phase !== 'lingering') this.#client.destroy();
  }

  clientClosed(): void {
    const { socket, closed } = this.#connection;
    const mayHaveUnsentClose = !closed && this.#phase !== 'open' && this.#toTarget.ended;
    if (!mayHaveUnsentClose) {
      this.#connection.destroy();
      this.#onClose();
      return;
    }
    socket.once('close', this.#onClose);
    this.#toClient.ended = true;
    if (this.#phase === 'leaving') this.#continueClosing();
  }

  /** Sends both sides a Close, each as soon as the current frame of its direction is complete. Safe to call twice. */
  endGracefully(): void {
    if (this.#phase !== 'open') return;
    this.#phase = 'leaving';
    this.#toClient.endAtFrameBoundary();
    this.#toTarget.endAtFrameBoundary();
    this.#continueClosing();
  }

  /** Ends both sides at once. */
  cut(): void {
    this.#connection.destroy();
    this.#client.destroy();
  }

  #end(direction: TunnelDirection): void {
    this.#halfOpen = true;
    this.#connection.setIdleTimeout(this.#timeouts.idle);
    direction.end();
    if (this.#phase === 'leaving') this.#continueClosing();
  }

  /**
   * Keeps reading from a side that was sent a Close, because closing a socket with unread bytes resets it, and the Close
   * would be lost. Closes both sockets once both directions have ended.
   */
  #continueClosing(): void {
    if (this.#toTarget.ended) this.#client.resume();
    if (this.#toClient.ended) this.#connection.socket.resume();
    if (!this.#toTarget.ended || !this.#toClient.ended) return;
    this.#phase = 'lingering';
    linger(this.#client);
    linger(this.#connection.socket);
  }

  // These methods are not called in a tunnel: they belong to the response that opened it.
  onConnected(): void {}
  onInformation(): void {}
  onComplete(): void {}
  onHead(): void {}
}

/** Closes a socket once all written bytes are sent and the peer has had time to read them. */
function linger(socket: Duplex): void {
  if (socket.destroyed) return;
  socket.end(() => endAndDiscardRest.call(socket));
}

/** One direction of a tunnel. */
class TunnelDirection {
  /** No more bytes are passed on. Those that still arrive are discarded. */
  ended = false;
  readonly #receiver: Duplex;
  readonly #masked: boolean;
  readonly #frames: FrameFollower | undefined;
  #isGoingAway = false;

  /** `masked`: towards the WebSocket server. */
  constructor(receiver: Duplex, { isWebSocket, masked }: { readonly isWebSocket: boolean; readonly masked: boolean }) {
    this.#receiver = receiver;
    this.#masked = masked;
    this.#frames = isWebSocket ? new FrameFollower() : undefined;
  }

  /** False if the receiver reads too slowly. */
  pass(chunk: Buffer): boolean {
    if (this.ended) return true;
    const onlyToBoundary = this.#isGoingAway;
    const length = this.#frames?.follow(chunk, onlyToBoundary) ?? chunk.length;
    const flowing = this.#receiver.write(length === chunk.length ? chunk : chunk.subarray(0, length));
    if (this.#isGoingAway) this.#endBetweenFrames();
    return flowing || this.ended;
  }

  /** Ends at the next frame boundary, with a Close of status 1001. A tunnel without WebSocket ends at once. */
  endAtFrameBoundary(): void {
    if (this.ended) return;
    this.#isGoingAway = true;
    this.#endBetweenFrames();
  }

  /** Ends now. Bytes that are already written are still sent. */
  end(): void {
    this.ended = true;
    this.#receiver.end();
  }

  #endBetweenFrames(): void {
    if (this.#frames?.isAtBoundary === false) return;
    // No frame may follow a Close (RFC 6455 §5.5.1).
    if (this.#frames?.hasSeenClose === false && this.#receiver.writable)
      this.#receiver.write(goingAwayFrame(this.#masked));
    this.end();
  }
}
