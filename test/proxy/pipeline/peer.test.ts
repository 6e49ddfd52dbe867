import { once } from 'node:events';
import { type AddressInfo, connect, createServer, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { clientAddressOf, peerOf } from '../../../gateway/proxy/pipeline/peer.ts';

function trusting(...proxies: string[]): Snapshot {
  return snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:3001' }, gateway: { trusted_proxies: proxies } });
}

/** A socket whose remote address is `remote`. */
function socketFrom(remoteAddress: string | undefined, socket = new Socket()): Socket {
  return Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress });
}

describe('the address of a peer', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8::1', '2001:db8::1'],
    ['::1', '::1'],
    ['::ffff:1', '::ffff:1'],
    // Node has no address after the client has disconnected.
    [undefined, 'unknown'],
  ])('%s is reported as %s', (remote, expected) =>
    expect(peerOf(socketFrom(remote), trusting()).address).toBe(expected),
  );
});

describe('trust in a peer', () => {
  it.each([
    ['10.1.2.3', [], false],
    ['10.1.2.3', ['10.0.0.0/8'], true],
    ['::ffff:10.1.2.3', ['10.0.0.0/8'], true],
    ['11.1.2.3', ['10.0.0.0/8'], false],
    ['10.255.255.255', ['10.0.0.0/8'], true],
    ['192.0.2.7', ['192.0.2.7'], true],
    ['192.0.2.8', ['192.0.2.7'], false],
    ['192.0.2.7', ['10.0.0.0/8', '192.0.2.0/24'], true],
    ['2001:db8::1', ['2001:db8::/32'], true],
    ['2001:db9::1', ['2001:db8::/32'], false],
    ['2001:db8::1', ['0.0.0.0/0'], false],
    ['10.1.2.3', ['::/0'], false],
    ['127.0.0.1', ['loopback'], true],
    ['127.9.9.9', ['loopback'], true],
    ['::1', ['loopback'], true],
    ['::ffff:127.0.0.1', ['loopback'], true],
    ['10.1.2.3', ['loopback'], false],
    ['10.1.2.3', ['private'], true],
    ['172.16.0.1', ['private'], true],
    ['172.32.0.1', ['private'], false],
    ['192.168.0.1', ['private'], true],
    ['fd00::1', ['private'], true],
    ['8.8.8.8', ['private', 'loopback'], false],
    [undefined, ['0.0.0.0/0', '::/0'], false],
  ])('at %s with trusted_proxies %j: %s', (remote, proxies, expected) =>
    expect(peerOf(socketFrom(remote), trusting(...proxies)).trusted).toBe(expected),
  );

  it('is decided once for a connection and a snapshot', () => {
    const [socket, snapshot] = [socketFrom('10.1.2.3'), trusting('10.0.0.0/8')];
    expect(peerOf(socket, snapshot)).toBe(peerOf(socket, snapshot));
  });

  it('is decided again after a reload', () => {
    const socket = socketFrom('10.1.2.3');
    expect(peerOf(socket, trusting('10.0.0.0/8')).trusted).toBe(true);
    expect(peerOf(socket, trusting()).trusted).toBe(false);
    expect(peerOf(socket, trusting('private')).trusted).toBe(true);
  });
});

describe('the address of a client', () => {
  const trusted = ['10.0.0.0/8', '2001:db8::/32'];
  it.each([
    ['192.0.2.9', '203.0.113.1', '192.0.2.9'],
    ['10.0.0.1', undefined, '10.0.0.1'],
    ['10.0.0.1', '203.0.113.1', '203.0.113.1'],
    ['10.0.0.1', '198.51.100.7, 203.0.113.1', '203.0.113.1'],
    ['10.0.0.1', '198.51.100.7, 203.0.113.1, 10.0.0.2, 10.0.0.3', '203.0.113.1'],
    ['10.0.0.1', '10.0.0.4,10.0.0.3', '10.0.0.4'],
    ['10.0.0.1', '203.0.113.1, nonsense, 10.0.0.2', '10.0.0.2'],
    ['10.0.0.1', '203.0.113.1, unknown', '10.0.0.1'],
    ['10.0.0.1', ' , ', '10.0.0.1'],
    ['10.0.0.1', '203.0.113.1:4711', '203.0.113.1'],
    ['10.0.0.1', '::ffff:203.0.113.1', '203.0.113.1'],
    ['10.0.0.1', '[2001:db9::1]:443, 2001:db8::1', '2001:db9::1'],
    ['10.0.0.1', '2001:db9::1, [2001:db8::1]', '2001:db9::1'],
    ['10.0.0.1', `203.0.113.1${', 10.0.0.2'.repeat(5_000)}`, '10.0.0.2'],
  ])('of peer %s with X-Forwarded-For: %s is %s', (remote, forwardedFor, expected) =>
    expect(clientAddressOf(peerOf(socketFrom(remote), trusting(...trusted)), forwardedFor)).toBe(expected),
  );
});

it.each([
  ['over plain TCP', new Socket(), 'http'],
  ['over TLS', new TLSSocket(new Socket()), 'https'],
] as const)('a peer %s has the scheme %s', (_name, socket, scheme) =>
  expect(peerOf(socketFrom('192.0.2.1', socket), trusting()).scheme).toBe(scheme),
);

it('is read from a real connection', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.close();
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = connect(port, '127.0.0.1');
  const [socket] = await accepted;
  expect(peerOf(socket, trusting('loopback'))).toMatchObject({
    address: '127.0.0.1',
    scheme: 'http',
    port,
    trusted: true,
  });
  client.destroy();
  socket.destroy();
});
