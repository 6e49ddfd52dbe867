import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Members } from '../../../gateway/operate/fleet/members.ts';
import { refusedUrl } from '../../support/gateway.ts';
import { gatewayRow } from './gatewayRow.ts';

const silentAfter = 10_000;
const now = 1_000_000;
const [heardAt, silentAt] = [now - 1_000, now - 11_000];
// RFC 5737: no machine has this address.
const nowhere = '192.0.2.1';
// The system resolves it to addresses of this machine.
const listed = 'localhost';
const own = ['127.0.0.1'];

async function closedPort(): Promise<number> {
  return Number(new URL(await refusedUrl()).port);
}

async function openPort(host = '127.0.0.1'): Promise<number> {
  const server = createServer((socket) => socket.destroy()).listen(0, host);
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

describe('a silent gateway', () => {
  it('is not gone while the name cannot be looked up', async () => {
    const members = new Members({ host: 'gateways.invalid', port: await closedPort() }, silentAfter);
    const rows = [gatewayRow('gw-1', silentAt, { addresses: [nowhere] })];
    expect(await members.check({ rows, now }, own)).toMatchObject({ gone: [], unheardAddresses: [] });
  });

  it('is not gone while the name has one of its addresses', async () => {
    const members = new Members({ host: listed, port: await closedPort() }, silentAfter);
    const rows = [gatewayRow('gw-1', silentAt, { addresses: [nowhere, '::ffff:127.0.0.1'] })];
    expect(await members.check({ rows, now }, own)).toMatchObject({ gone: [] });
  });

  it('is not gone while its admin port accepts connections', async () => {
    // 127.0.0.2 is this machine, too, but the name does not have it.
    const port = await openPort('127.0.0.2');
    const members = new Members({ host: listed, port }, silentAfter);
    const rows = [gatewayRow('gw-1', silentAt, { addresses: ['127.0.0.2'] })];
    expect(await members.check({ rows, now }, own)).toMatchObject({ gone: [] });
  });

  it('is not gone if its addresses are unknown', async () => {
    const members = new Members({ host: listed, port: await closedPort() }, silentAfter);
    expect(await members.check({ rows: [gatewayRow('gw-1', silentAt)], now }, own)).toMatchObject({ gone: [] });
  });

  it('is gone if the name has none of its addresses and none of them answers', async () => {
    const members = new Members({ host: listed, port: await closedPort() }, silentAfter);
    const rows = [
      gatewayRow('silent', silentAt, { addresses: [nowhere] }),
      gatewayRow('heard', heardAt, { addresses: [nowhere] }),
      gatewayRow('left', silentAt, { addresses: [nowhere], leftAt: silentAt }),
      gatewayRow('gone', silentAt, { addresses: [nowhere], goneAt: silentAt }),
    ];
    expect(await members.check({ rows, now }, own)).toMatchObject({ gone: [{ instance: 'id-of-silent' }] });
  });

  it('is not gone if the DNS answer contains neither it nor the gateway that asks', async () => {
    const members = new Members({ host: listed, port: await closedPort() }, silentAfter);
    const rows = [gatewayRow('gw-1', silentAt, { addresses: [nowhere] })];
    expect(await members.check({ rows, now }, ['192.0.2.2'])).toMatchObject({ gone: [] });
    expect(await members.check({ rows, now }, ['192.0.2.2', '::ffff:127.0.0.1'])).toMatchObject({
      gone: [{ instance: 'id-of-gw-1' }],
    });
  });

  it('is silent by its own fleet.silent_after', async () => {
    const members = new Members({ host: listed, port: await closedPort() }, silentAfter);
    const rows = [gatewayRow('gw-1', silentAt, { addresses: [nowhere], silentAfter: 60_000 })];
    expect(await members.check({ rows, now }, own)).toMatchObject({ gone: [] });
  });

  it('is gone if another gateway has started with its address since', async () => {
    const members = new Members({ host: listed, port: await openPort() }, silentAfter);
    const old = gatewayRow('old', silentAt, { addresses: ['127.0.0.1'] });
    const successor = gatewayRow('new', heardAt, { addresses: ['127.0.0.1'], started: silentAt + 1 });
    expect(await members.check({ rows: [old, successor], now }, own)).toMatchObject({
      gone: [{ instance: 'id-of-old' }],
    });
  });

  it('is not gone if another gateway had the same address before it became silent', async () => {
    const members = new Members({ host: listed, port: await openPort() }, silentAfter);
    const old = gatewayRow('old', silentAt, { addresses: ['127.0.0.1'] });
    const other = gatewayRow('other', heardAt, { addresses: ['127.0.0.1'], started: silentAt - 1 });
    expect(await members.check({ rows: [old, other], now }, own)).toMatchObject({ gone: [] });
  });
});

describe('an address without a gateway', () => {
  const unheardOf = async (members: Members, at: number, rows = [gatewayRow('gw-1', at)]) =>
    (await members.check({ rows, now: at }, own)).unheardAddresses.filter((one) => one === '127.0.0.1');

  it('counts after silent_after', async () => {
    const members = new Members({ host: listed, port: await closedPort() }, silentAfter);
    expect(await unheardOf(members, now)).toEqual([]);
    expect(await unheardOf(members, now + silentAfter)).toEqual([]);
    expect(await unheardOf(members, now + silentAfter + 1)).toEqual(['127.0.0.1']);
  });

  it('stops counting once a gateway with it is heard', async () => {
    const members = new Members({ host: listed, port: await closedPort() }, silentAfter);
    await unheardOf(members, now);
    const at = now + silentAfter + 1;
    expect(await unheardOf(members, at, [gatewayRow('gw-1', at, { addresses: ['127.0.0.1'] })])).toEqual([]);
  });

  it('may stay in the name for a while after its gateway has left', async () => {
    const members = new Members({ host: listed, port: await closedPort() }, silentAfter);
    const left = (at: number) => [
      gatewayRow('gw-1', now, { addresses: ['127.0.0.1'], leftAt: now }),
      gatewayRow('gw-2', at),
    ];
    expect(await unheardOf(members, now + 59_000, left(now + 59_000))).toEqual([]);
    expect(await unheardOf(members, now + 60_000, left(now + 60_000))).toEqual([]);
    expect(await unheardOf(members, now + 71_000, left(now + 71_000))).toEqual(['127.0.0.1']);
  });
});

describe('a name that does not list this gateway', () => {
  const minute = 60_000;
  const problemAt = async (members: Members, at: number, addresses = own) =>
    (await members.check({ rows: [], now: at }, addresses)).problem;

  it('is a problem after a minute without an answer', async () => {
    const members = new Members({ host: 'gateways.invalid', port: 1 }, silentAfter);
    expect(await problemAt(members, now)).toBeUndefined();
    expect(await problemAt(members, now + minute)).toBeUndefined();
    expect(await problemAt(members, now + minute + 1)).toMatch(/^getaddrinfo \w+ gateways\.invalid$/);
  });

  it('is a problem after a minute with other addresses, until it has one of this gateway', async () => {
    const members = new Members({ host: listed, port: 1 }, silentAfter);
    const others = ['192.0.2.2'];
    expect(await problemAt(members, now, others)).toBeUndefined();
    expect(await problemAt(members, now + minute + 1, others)).toBe('its addresses are not those of this gateway');
    expect(await problemAt(members, now + minute + 2)).toBeUndefined();
    expect(await problemAt(members, now + minute + 3, others)).toBeUndefined();
  });
});
