import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { cp, mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { composeWith } from './support/compose.ts';
import { connections, eachFile } from './support/inside.ts';
import { firstCommand } from './support/project.ts';
import { skipped, until, useStack } from './support/stack.ts';

describe.skipIf(skipped)('the stack', () => {
  const stack = useStack();
  const { compose } = stack;

  it.each(['/v1/drinks/7', '/v2/cocktails/7'])('answers %s', async (path) => {
    const response = await fetch(stack.url + path);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('Mojito');
  });

  it('is up within seconds, from images of their production dependencies', async () => {
    const sizes = await Promise.all(
      ['gateway', 'v1', 'v2'].map(async (service) => {
        const [id = ''] = await compose.containers(service);
        const image = (await compose.docker('inspect', id, '-f', '{{.Image}}')).trim();
        const own = await compose.docker('image', 'inspect', image, '-f', '{{.Size}}');
        return [service, Math.round(Number(own) / 1e6)] as const;
      }),
    );
    const base = Number(await compose.docker('image', 'inspect', 'node:26-bookworm-slim', '-f', '{{.Size}}')) / 1e6;
    console.log(
      `from up to an answer of both versions: ${stack.times.up} ms, ${stack.times.started} ms of it the gateway's`,
    );
    console.log(
      `images: ${sizes.map(([name, mb]) => `${name} ${mb} MB`).join(', ')}; ${Math.round(base)} MB of each are the base`,
    );
    for (const [service, mb] of sizes) expect(mb - base, service).toBeLessThan(40);
    expect(stack.times.up).toBeLessThan(30_000);
  });

  it('has three healthy containers', async () => {
    for (const service of ['gateway', 'v1', 'v2']) {
      const [id = ''] = await compose.containers(service);
      const health = () => compose.docker('inspect', id, '-f', '{{.State.Health.Status}}');
      await until(async () => (await health()).trim() === 'healthy', `${service} to be healthy`, 40_000);
    }
  });

  it.each(['gateway', 'v1', 'v2'])('confines %s', async (service) => {
    const [id = ''] = await compose.containers(service);
    const script = `
      const { readFileSync, writeFileSync } = require('node:fs');
      const own = readFileSync('/proc/1/status', 'utf8');
      const value = (name) => own.match(new RegExp(name + ':\\\\s+(\\\\S+)'))[1];
      const refused = ['/app/x', '/tmp/x', '/usr/local/bin/x', '/app/config/x'].map((file) => {
        try { writeFileSync(file, ''); return 'written'; } catch ({ code }) { return code; }
      });
      console.log(JSON.stringify({ uid: value('Uid'), caps: value('CapBnd'), fixed: value('NoNewPrivs'), refused }));`;
    const { refused, ...rest } = JSON.parse(await compose.exec(service, ['node', '-e', script]));
    expect(rest).toEqual({ uid: '1000', caps: '0000000000000000', fixed: '1' });
    expect(refused.filter((one: string) => one !== 'EROFS' && one !== 'ENOENT')).toEqual([]);
    expect(refused).toContain('EROFS');
    const limits = await compose.docker('inspect', id, '-f', '{{.HostConfig.Memory}} {{.HostConfig.PidsLimit}}');
    expect(
      limits
        .trim()
        .split(' ')
        .map(Number)
        .every((limit) => limit > 0),
    ).toBe(true);
  });

  it('shows the gateway its configuration, and nothing else of the project', async () => {
    const files = await eachFile(compose, 'gateway', '/app');
    const own = files.filter(
      (file) => !/^\/app\/(node_modules|dist)\//.test(file) && !file.includes('.version-gateway'),
    );
    expect(own.sort()).toEqual([
      '/app/LICENSE',
      '/app/bin/version-gateway.js',
      '/app/config/routes.yaml',
      '/app/package.json',
      '/app/services/v1/contract/openapi.yaml',
      '/app/services/v2/contract/openapi.yaml',
    ]);
    expect(files.filter((file) => /\.(env|ts)$|\.git\b/.test(file) && !/\.d\.ts$|node_modules/.test(file))).toEqual([]);
  });

  it('needs no shell', async () => {
    const [id = ''] = await compose.containers('gateway');
    const image = (await compose.docker('inspect', id, '-f', '{{.Image}}')).trim();
    // Nothing is left of the system's own programs; Node is in /usr/local.
    const hidden = ['--tmpfs', '/usr/bin', '--tmpfs', '/usr/sbin', '--env', 'ADMIN_TOKEN=x'];
    const mounts = ['config', 'services'].flatMap((name) => [
      '--volume',
      `${join(stack.site.folder, name)}:/app/${name}:ro`,
    ]);
    const other = (await compose.docker('run', '--detach', '--rm', ...hidden, ...mounts, image)).trim();
    onTestFinished(() => compose.docker('rm', '--force', other).then(() => {}));
    const ready = () => compose.docker('exec', other, 'node', 'dist/main.js', 'ready');
    await until(async () => (await ready()) === 'ready\n', 'a gateway without a shell', 20_000);
    await expect(compose.docker('exec', other, '/bin/sh', '-c', 'true')).rejects.toThrow();
  });

  it('publishes the port for clients, and that for operators on this machine only', async () => {
    const published = async (service: string) => {
      const [id = ''] = await compose.containers(service);
      const ports: unknown = JSON.parse(await compose.docker('inspect', id, '-f', '{{json .HostConfig.PortBindings}}'));
      return ports;
    };
    const { GATEWAY_PORT, ADMIN_PORT } = stack.site.env;
    expect(await published('gateway')).toEqual({
      '8080/tcp': [{ HostIp: '', HostPort: GATEWAY_PORT }],
      '9901/tcp': [{ HostIp: '127.0.0.1', HostPort: ADMIN_PORT }],
    });
    expect([await published('v1'), await published('v2')]).toEqual([{}, {}]);
    const asked = (headers: Record<string, string>) => fetch(`${stack.admin}/api/status`, { headers });
    expect((await asked({})).status).toBe(403);
    expect((await asked({ authorization: `Bearer ${stack.token}` })).status).toBe(200);
  });

  it('leaves the backends no way out, neither to this machine nor beyond', async () => {
    const host = createServer((socket) => socket.end()).listen(0, '0.0.0.0');
    await once(host, 'listening');
    onTestFinished(() => void host.close());
    const { port } = host.address() as { port: number };
    const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
    const addresses = own
      .filter(({ family, internal }) => family === 'IPv4' && !internal)
      .map(({ address }) => address);
    const inNetwork = await compose.docker(
      'network',
      'inspect',
      compose.network('backends'),
      '-f',
      '{{(index .IPAM.Config 0).Gateway}}',
    );
    const ways = [...addresses, inNetwork.trim()].map((address) => `${address}:${port}`);
    // The gateway does reach this machine, so there is somebody to be reached.
    expect(await connections(compose, 'gateway', ways)).toContain('connected');
    for (const service of ['v1', 'v2']) {
      const tried = await connections(compose, service, [...ways, '1.1.1.1:443', 'gateway:8080']);
      expect(tried.pop(), 'the network of their own').toBe('connected');
      expect(tried, service).not.toContain('connected');
    }
  });

  it('does not start without the token, and says how to make one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'no-token-'));
    onTestFinished(() => rmSync(folder, { recursive: true, maxRetries: 10 }));
    await cp(join(stack.site.folder, 'docker-compose.yml'), join(folder, 'docker-compose.yml'));
    await expect(composeWith({ ...stack.site, folder }).up()).rejects.toThrow(/openssl rand -hex 24 \| sed/);
    expect(firstCommand).toContain('openssl rand -hex 24 | sed s/^/ADMIN_TOKEN=/ >> .env');

    const [id = ''] = await compose.containers('gateway');
    const image = (await compose.docker('inspect', id, '-f', '{{.Image}}')).trim();
    const mounts = ['config', 'services'].flatMap((name) => [
      '--volume',
      `${join(stack.site.folder, name)}:/app/${name}:ro`,
    ]);
    await expect(compose.docker('run', '--rm', ...mounts, image)).rejects.toThrow(
      /0\.0\.0\.0:9901 can be reached from other machines, and admin_token is empty/,
    );
  });
});
