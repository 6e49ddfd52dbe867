import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, type TestContext } from 'vitest';
import { temporaryFolder } from '../../config/temporary.ts';
import { type DnsAnswer, type DnsServer, startDnsServer } from '../../support/dnsServer.ts';
import { eventually } from '../../support/eventually.ts';
import { gatewayMain } from '../../support/gatewayMain.ts';
import { run } from '../../support/process.ts';
import { connectTo, get } from '../../support/rawClient.ts';

// The gateway resolves names with the system's resolver, which asks a real DNS server: the gateway runs in a mount namespace with a
// /etc/resolv.conf of its own.
const withResolver = ['--mount', 'sh', '-c', 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"', 'sh'];
const isPossible = spawnSync('unshare', [...withResolver, '/dev/null', 'true']).status === 0;

const loopback = (): string => `127.${randomInt(1, 250)}.${randomInt(1, 250)}.${randomInt(2, 250)}`;

/** A host that answers with its name, and keeps its connections open. */
class Host {
  readonly address: string;
  port = 0;
  /** All bytes received. */
  received = '';
  connections = 0;
  readonly open = new Set<Socket>();
  /** Answers the requests for `/slow`. */
  readonly slow: (() => void)[] = [];
  readonly #name: string;
  readonly #server = createServer((socket) => this.#serve(socket));

  private constructor(name: string, address: string) {
    this.#name = name;
    this.address = address;
  }

  static async start(test: TestContext, name: string, address: string, port = 0): Promise<Host> {
    const host = new Host(name, address);
    host.#server.listen(port, address);
    await once(host.#server, 'listening');
    host.port = (host.#server.address() as AddressInfo).port;
    test.onTestFinished(() => host.stop());
    return host;
  }

  get requests(): number {
    return this.received.split('HTTP/1.1\r\n').length - 1;
  }

  /** Refuses new connections. Open ones stay. */
  refuse(): void {
    this.#server.close();
  }

  stop(): void {
    this.refuse();
    for (const socket of this.open) socket.destroy();
  }

  #serve(socket: Socket): void {
    this.connections += 1;
    this.open.add(socket);
    const answer = `HTTP/1.1 200 OK\r\nContent-Length: ${this.#name.length}\r\n\r\n${this.#name}`;
    socket
      .on('data', (bytes) => {
        const text = bytes.toString('latin1');
        this.received += text;
        // A tunnel returns every byte.
        if (/^upgrade: echo/im.test(text)) {
          socket.removeAllListeners('data').on('data', (echoed) => socket.write(echoed));
          socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
        } else if (text.includes('/slow')) {
          this.slow.push(() => socket.write(answer));
        } else socket.write(answer);
      })
      .on('error', () => socket.destroy())
      .on('close', () => this.open.delete(socket));
  }
}

/** A gateway whose `/v1` has the host `backend.test`, and that host. */
async function start(test: TestContext) {
  const dns = await startDnsServer(loopback());
  test.onTestFinished(() => dns.close());
  const host = await Host.start(test, 'backend', loopback());
  dns.answerWith('backend.test', [host.address]);
  const folder = temporaryFolder();
  const [resolver, file] = [join(folder, 'resolv.conf'), join(folder, 'routes.yaml')];
  writeFileSync(resolver, `nameserver ${dns.address}\noptions timeout:1 attempts:1\n`);
  const settings = {
    gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0' },
    usage: { store: join(folder, 'usage.db') },
    // Longer than any test: only a forgotten address ends an idle connection.
    routes: { '/v1': { upstream: `http://backend.test:${host.port}`, timeouts: { keep_alive: '5m' } } },
  };
  // JSON is valid YAML.
  writeFileSync(file, JSON.stringify(settings));
  const args = [...withResolver, resolver, process.execPath, gatewayMain, 'start', '--config', file];
  const gateway = run('unshare', args, {}, test);
  const [, portText] = await gateway.printed(/listens on https?:\/\/127\.0\.0\.1:(\d+)/);
  const port = Number(portText);
  /** `200 backend`, or the code of the problem. */
  const outcome = async (path = '/v1/x'): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: 'Bearer s3cret' } });
    const body = await response.text();
    return response.status === 200 ? `200 ${body}` : String(JSON.parse(body).code);
  };
  await eventually(async () => expect(await outcome()).toBe('200 backend'));
  return { dns, host, port, outcome };
}

/** Changes the answer, and waits until a lookup has got it. */
async function change(dns: DnsServer, answer: DnsAnswer): Promise<void> {
  dns.answerWith('backend.test', answer);
  const before = dns.queries('backend.test');
  await eventually(() => expect(dns.queries('backend.test')).toBeGreaterThan(before));
}

// At the same time, because each of them waits ten seconds or more.
describe.skipIf(!isPossible).concurrent('the address of a host that was stopped', () => {
  it.for<[string, DnsAnswer]>([
    ['does not exist', 'NXDOMAIN'],
    ['has no address', []],
  ])('gets nothing more once its name %s, not even over a connection that is kept open', async ([, answer], test) => {
    const { dns, host, port, outcome } = await start(test);
    const tunnel = await connectTo(port);
    tunnel.send(get('/v1/tunnel', 'Connection: Upgrade', 'Upgrade: echo'));
    expect((await tunnel.response()).status).toBe(101);
    const slow = outcome('/v1/slow');
    await eventually(() => expect(host.received).toContain('/slow'));
    // An idle connection, a tunnel and a request in flight.
    await outcome();
    expect(host.open.size).toBe(3);

    await change(dns, answer);
    // The host is another one from here on: it keeps the address and its connections.
    await eventually(() => expect(host.open.size).toBe(2));
    const { received, connections } = host;
    for (let time = 0; time < 20; time += 1) expect(await outcome()).toBe('TARGET_UNRESOLVED');
    host.slow[0]?.();
    expect(await slow).toBe('200 backend');
    await eventually(() => expect(host.open.size).toBe(1));
    tunnel.send('ping');
    expect(await tunnel.bytes(4)).toBe('ping');
    tunnel.end();
    await eventually(() => expect(host.open.size).toBe(0));
    for (let time = 0; time < 20; time += 1) expect(await outcome()).toBe('TARGET_UNRESOLVED');
    expect([host.received, host.connections]).toEqual([received, connections]);

    const next = await Host.start(test, 'next', loopback(), host.port);
    dns.answerWith('backend.test', [next.address]);
    await eventually(async () => expect(await outcome()).toBe('200 next'));
  });

  it.for<DnsAnswer>(['SERVFAIL', 'REFUSED', 'silence'])(
    'gets nothing more after 10 s in which the resolver fails (%s) and connections cannot be made',
    async (answer, test) => {
      const { dns, host, outcome } = await start(test);
      const [first, second] = [outcome('/v1/slow'), outcome('/v1/slow')];
      await eventually(() => expect(host.slow).toHaveLength(2));
      await change(dns, answer);
      const failingSince = performance.now();
      host.refuse();
      expect(await outcome()).toBe('TARGET_REFUSED');
      // One connection becomes idle, and the other has a request in flight.
      host.slow[0]?.();
      await Promise.race([first, second]);
      const { received, connections } = host;
      await eventually(() => expect(host.open.size).toBe(1));
      expect(performance.now() - failingSince).toBeGreaterThan(5_000);
      expect(await outcome()).toBe('TARGET_UNRESOLVED');
      host.slow[1]?.();
      expect(await Promise.all([first, second])).toEqual(['200 backend', '200 backend']);
      await eventually(() => expect(host.open.size).toBe(0));
      expect([host.received, host.connections]).toEqual([received, connections]);
      const other = await Host.start(test, 'another host', host.address, host.port);
      for (let time = 0; time < 5; time += 1) expect(await outcome()).toBe('TARGET_UNRESOLVED');
      expect([other.connections, other.received]).toEqual([0, '']);
    },
  );

  it('is kept while the resolver fails and connections can be made', async (test) => {
    const { dns, host, outcome } = await start(test);
    await change(dns, 'SERVFAIL');
    const since = performance.now();
    await eventually(async () => {
      for (const socket of host.open) socket.destroy();
      expect(await outcome()).toBe('200 backend');
      expect(performance.now() - since).toBeGreaterThan(11_000);
    });
  });
});
