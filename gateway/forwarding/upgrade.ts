import type { Socket } from 'node:net';
import type { Connection } from '../http1/connection.ts';
import type { ResponseHead } from '../http1/responseHead.ts';
import { endAndDrain } from './lingering.ts';
import type { Outbound } from './outbound.ts';

/** What two connections become after a 101 (RFC 9110 §7.8): bytes both ways, whatever they mean. */
export class Tunnel {
  readonly #client: Socket;
  readonly #connection: Connection;
  readonly #streamIdle: number;

  /** `fields`: of the 101, names and values in turn. `onClose`: the client has gone. */
  constructor(
    { res, upgrade, timeouts }: Outbound,
    connection: Connection,
    head: ResponseHead,
    fields: string[],
    onClose: () => void,
  ) {
    const client = res.socket as Socket;
    this.#client = client;
    this.#connection = connection;
    this.#streamIdle = timeouts.streamIdle;
    res.detachSocket(client);
    client.write(switchingHead(head, fields, upgrade?.protocol ?? ''), 'latin1');
    if (upgrade && upgrade.early.length > 0) client.unshift(upgrade.early);
    client
      .on('data', (chunk: Buffer) => this.#fromClient(chunk))
      .on('drain', () => connection.resume())
      .on('end', () => connection.endWriting())
      .on('error', () => client.destroy())
      .on('close', onClose);
  }

  /** False pauses the target until the client has read. */
  fromTarget(chunk: Buffer): boolean {
    return this.#client.write(chunk);
  }

  onTargetDrain(): void {
    this.#client.resume();
  }

  targetEnded(): void {
    endAndDrain.call(this.#client);
  }

  close(): void {
    this.#client.destroy();
  }

  #fromClient(chunk: Buffer): void {
    this.#connection.expect(this.#streamIdle);
    if (!this.#connection.write(chunk)) this.#client.pause();
  }
}

function switchingHead({ reason, fields: received }: ResponseHead, fields: string[], asked: string): string {
  const at = received.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'upgrade');
  let head = `HTTP/1.1 101 ${reason === '' ? 'Switching Protocols' : reason}\r\nConnection: Upgrade\r\n`;
  head += `Upgrade: ${at === -1 ? asked : received[at + 1]}\r\n`;
  for (let index = 0; index < fields.length; index += 2) head += `${fields[index]}: ${fields[index + 1]}\r\n`;
  return `${head}\r\n`;
}
