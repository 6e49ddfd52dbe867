import type { Socket } from 'node:net';
import type { UpstreamTimeouts } from '../config/snapshot.ts';
import type { Connection } from '../http1/connection.ts';
import type { ResponseHandler } from '../http1/handler.ts';
import type { ResponseHead } from '../http1/responseHead.ts';
import type { Outbound } from './outbound.ts';
import { responseFields } from './responseFields.ts';

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
  const early = upgrade?.takeEarly();
  client.write(switchingHead(head, responseFields(head, outbound.responsePlan()), upgrade?.protocol ?? ''), 'latin1');
  if (early && early.length > 0) connection.socket.write(early);
  const tunnel = new Tunnel(client, connection, timeouts);
  connection.handOver(tunnel);
  connection.expect(timeouts.streamIdle);
  client
    .on('data', (chunk: Buffer) => tunnel.fromClient(chunk))
    .on('drain', () => connection.socket.resume())
    .on('end', () => tunnel.clientEnded())
    .on('close', () => {
      connection.destroy();
      onClose();
      outbound.leave();
    })
    .resume();
  return tunnel;
}

/** The target's side of it. */
export class Tunnel implements ResponseHandler {
  readonly #client: Socket;
  readonly #connection: Connection;
  readonly #timeouts: UpstreamTimeouts;
  // One direction is done. The other may go on, but not in silence for ever.
  #halfOpen = false;

  constructor(client: Socket, connection: Connection, timeouts: UpstreamTimeouts) {
    this.#client = client;
    this.#connection = connection;
    this.#timeouts = timeouts;
  }

  fromClient(chunk: Buffer): void {
    const { streamIdle, idle } = this.#timeouts;
    this.#connection.expect(this.#halfOpen ? idle : streamIdle);
    if (!this.#connection.socket.write(chunk)) this.#client.pause();
  }

  onData(chunk: Buffer): boolean {
    return this.#client.write(chunk);
  }

  onDrain(): void {
    this.#client.resume();
  }

  clientEnded(): void {
    this.#halfOpen = true;
    this.#connection.expect(this.#timeouts.idle);
    this.#connection.socket.end();
  }

  onEnd(): void {
    this.#halfOpen = true;
    this.#connection.expect(this.#timeouts.idle);
    this.#client.end();
  }

  onFailure(): void {
    this.#client.destroy();
  }

  /** It is no longer wanted. */
  goAway(): void {
    this.cut();
  }

  /** Ends both sides at once. */
  cut(): void {
    this.#client.destroy();
  }

  // What belongs to the response that opened the tunnel is over.
  onConnected(): void {}
  onInformation(): void {}
  onWhole(): void {}
  onHead(): void {}
}

function switchingHead(
  { reason, names, fields: received }: ResponseHead,
  fields: readonly string[],
  asked: string,
): string {
  const at = names.indexOf('upgrade');
  let head = `HTTP/1.1 101 ${reason === '' ? 'Switching Protocols' : reason}\r\nConnection: Upgrade\r\n`;
  head += `Upgrade: ${at === -1 ? asked : received[at * 2 + 1]}\r\n`;
  for (let index = 0; index < fields.length; index += 2) head += `${fields[index]}: ${fields[index + 1]}\r\n`;
  return `${head}\r\n`;
}
