import type { Socket } from 'node:net';
import type { Connection } from '../http1/connection.ts';
import type { ResponseHandler } from '../http1/handler.ts';
import type { ResponseHead } from '../http1/responseHead.ts';
import { endAndDrain } from './lingering.ts';
import type { Outbound } from './outbound.ts';
import { responseFields } from './responseFields.ts';

/**
 * What two connections become after a 101 (RFC 9110 §7.8): bytes both ways, whatever they mean.
 * `onClose`: both sides are done.
 */
export function openTunnel(outbound: Outbound, connection: Connection, head: ResponseHead, onClose: () => void): void {
  const { res, upgrade, timeouts } = outbound;
  const client = res.socket as Socket;
  res.detachSocket(client);
  client.write(switchingHead(head, responseFields(head, outbound.responsePlan()), upgrade?.protocol ?? ''), 'latin1');
  if (upgrade && upgrade.early.length > 0) client.unshift(upgrade.early);
  connection.handOver(new Tunnel(client));
  connection.expect(timeouts.streamIdle);
  client
    .on('data', (chunk: Buffer) => {
      connection.expect(timeouts.streamIdle);
      if (!connection.socket.write(chunk)) client.pause();
    })
    .on('drain', () => connection.socket.resume())
    .on('end', () => connection.socket.end())
    .on('close', () => {
      connection.destroy();
      onClose();
      outbound.onTunnelClosed();
    });
}

/** The target's side of it. */
class Tunnel implements ResponseHandler {
  readonly #client: Socket;

  constructor(client: Socket) {
    this.#client = client;
  }

  onData(chunk: Buffer): boolean {
    return this.#client.write(chunk);
  }

  onDrain(): void {
    this.#client.resume();
  }

  onEnd(): void {
    endAndDrain.call(this.#client);
  }

  onFailure(): void {
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
