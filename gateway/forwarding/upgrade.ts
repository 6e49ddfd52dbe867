import type { Socket } from 'node:net';
import type { Connection } from '../http1/connection.ts';
import type { ResponseHead } from '../http1/responseHead.ts';
import type { Outbound } from './outbound.ts';
import { responseFields } from './responseFields.ts';
import { Tunnel } from './tunnel.ts';

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
  const at = head.names.indexOf('upgrade');
  const protocol = at === -1 ? (upgrade?.protocol ?? '') : (head.fields[at * 2 + 1] as string);
  client.write(switchingHead(head.reason, protocol, responseFields(head, outbound.responsePlan())), 'latin1');
  outbound.switched();
  const tunnel = new Tunnel(client, connection, outbound, protocol.toLowerCase() === 'websocket', () => {
    onClose();
    outbound.leave();
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
