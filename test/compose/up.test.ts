import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { cp, mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { composeWith } from './support/compose.ts';
import { listFiles, tryConnections } from './support/insideContainer.ts';
import { firstCommand } from './support/project.ts';
import { skipped, useStack, waitUntil } from './support/stack.ts';

describe.skipIf(skipped)('docker compose up', () => {
  const stack = useStack();
  const { compose } = stack;

  it.each(['/v1/drinks/7', '/v2/cocktails/7'])('serves %s', async (path) => {
    const response = await fetch(stack.url + path);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('Mojito');
  });

  it('starts from images with less than 40 MB on top of Node', async () => {
    const sizes = await Promise.all(
      ['gateway', 'v1', 'v2'].map(async (service) => {
        const [id = ''] = await compose.containers(service);
        const image = (await compose.docker('inspect', id, '-f', '{{.Image}}')).trim();
        const size = await compose.docker('image', 'inspect', image, '-f', '{{.Size}}');
        return [service, Math.round(Number(size) / 1e6)] as const;
      }),
    );
    const base = Number(await compose.docker('image', 'inspect', 'node:26-bookworm-slim', '-f', '{{.Size}}')) / 1e6;
    console.log(
      `both versions respond ${stack.times.up} ms after compose up, ${stack.times.started} ms after the start of the gateway`,
    );
    console.log(
      `images: ${sizes.map(([name, mb]) => `${name} ${mb} MB`).join(', ')}; the base image has ${Math.round(base)} MB`,
    );
    for (const [service, mb] of sizes) expect(mb - base, service).toBeLessThan(40);
  });

  it('starts three healthy containers', async () => {
    for (const service of ['gateway', 'v1', 'v2']) {
      const [id = ''] = await compose.containers(service);
      const health = () => compose.docker('inspect', id, '-f', '{{.State.Health.Status}}');
      await waitUntil(async () => (await health()).trim() === 'healthy', `${service} to be healthy`);
    }
  });

  it.each(['gateway', 'v1', 'v2'])(
    'runs %s without root, capabilities or a writable file system, and with limits',
    async (service) => {
      const [id = ''] = await compose.containers(service);
      const script = `
      const { readFileSync, writeFileSync } = require('node:fs');
      const status = readFileSync('/proc/1/status', 'utf8');
      const value = (name) => status.match(new RegExp(name + ':\\\\s+(\\\\S+)'))[1];
      const writes = ['/app/x', '/tmp/x', '/usr/local/bin/x', '/app/config/x'].map((file) => {
        try { writeFileSync(file, ''); return 'written'; } catch ({ code }) { return code; }
      });
      console.log(JSON.stringify({ uid: value('Uid'), capabilities: value('CapBnd'), noNewPrivileges: value('NoNewPrivs'), writes }));`;
      const { writes, ...rest } = JSON.parse(await compose.exec(service, ['node', '-e', script]));
      expect(rest).toEqual({ uid: '1000', capabilities: '0000000000000000', noNewPrivileges: '1' });
      expect(writes.filter((result: string) => result !== 'EROFS' && result !== 'ENOENT')).toEqual([]);
      expect(writes).toContain('EROFS');
      const limits = await compose.docker('inspect', id, '-f', '{{.HostConfig.Memory}} {{.HostConfig.PidsLimit}}');
      const [memory = 0, processes = 0] = limits.trim().split(' ').map(Number);
      expect(memory).toBeGreaterThan(0);
      expect(processes).toBeGreaterThan(0);
    },
  );

  it('mounts only routes.yaml and the contracts into the gateway', async () => {
    const files = await listFiles(compose, 'gateway', '/app');
    const besidesBuild = files.filter(
      (file) => !/^\/app\/(node_modules|dist)\//.test(file) && !file.includes('.version-gateway'),
    );
    expect(besidesBuild.sort()).toEqual([
      '/app/LICENSE',
      '/app/bin/version-gateway.js',
      '/app/config/routes.yaml',
      '/app/package.json',
      '/app/services/v1/contract/openapi.yaml',
      '/app/services/v2/contract/openapi.yaml',
    ]);
    expect(files.filter((file) => /\.(env|ts)$|\.git\b/.test(file) && !/\.d\.ts$|node_modules/.test(file))).toEqual([]);
  });

  it('starts the gateway without a shell', async () => {
    const [id = ''] = await compose.containers('gateway');
    const image = (await compose.docker('inspect', id, '-f', '{{.Image}}')).trim();
    // Hides all programs of the system. Node is in /usr/local.
    const hidden = ['--tmpfs', '/usr/bin', '--tmpfs', '/usr/sbin', '--env', 'ADMIN_TOKEN=x'];
    const mounts = ['config', 'services'].flatMap((name) => [
      '--volume',
      `${join(stack.project.folder, name)}:/app/${name}:ro`,
    ]);
    const other = (await compose.docker('run', '--detach', '--rm', ...hidden, ...mounts, image)).trim();
    onTestFinished(() => compose.docker('rm', '--force', other).then(() => {}));
    const ready = () => compose.docker('exec', other, 'node', 'dist/main.js', 'ready');
    await waitUntil(async () => (await ready()) === 'ready\n', 'a gateway without a shell');
    await expect(compose.docker('exec', other, '/bin/sh', '-c', 'true')).rejects.toThrow();
  });

  it('publishes the client port on all interfaces and the admin port on 127.0.0.1', async () => {
    const publishedPorts = async (service: string) => {
      const [id = ''] = await compose.containers(service);
      const ports: unknown = JSON.parse(await compose.docker('inspect', id, '-f', '{{json .HostConfig.PortBindings}}'));
      return ports;
    };
    const { GATEWAY_PORT, ADMIN_PORT } = stack.project.env;
    expect(await publishedPorts('gateway')).toEqual({
      '8080/tcp': [{ HostIp: '', HostPort: GATEWAY_PORT }],
      '9901/tcp': [{ HostIp: '127.0.0.1', HostPort: ADMIN_PORT }],
    });
    expect([await publishedPorts('v1'), await publishedPorts('v2')]).toEqual([{}, {}]);
    const fetchStatus = (headers: Record<string, string>) => fetch(`${stack.admin}/api/status`, { headers });
    expect((await fetchStatus({})).status).toBe(403);
    expect((await fetchStatus({ authorization: `Bearer ${stack.token}` })).status).toBe(200);
  });

  it('lets the backends connect neither to this machine nor to the internet', async () => {
    const host = createServer((socket) => socket.end()).listen(0, '0.0.0.0');
    await once(host, 'listening');
    onTestFinished(() => void host.close());
    const { port } = host.address() as { port: number };
    const interfaces = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
    const addresses = interfaces
      .filter(({ family, internal }) => family === 'IPv4' && !internal)
      .map(({ address }) => address);
    const bridgeAddress = await compose.docker(
      'network',
      'inspect',
      compose.network('backends'),
      '-f',
      '{{(index .IPAM.Config 0).Gateway}}',
    );
    const hostTargets = [...addresses, bridgeAddress.trim()].map((address) => `${address}:${port}`);
    // The gateway can connect to this machine, so the targets are right.
    expect(await tryConnections(compose, 'gateway', hostTargets)).toContain('connected');
    for (const service of ['v1', 'v2']) {
      const results = await tryConnections(compose, service, [...hostTargets, '1.1.1.1:443', 'gateway:8080']);
      expect(results.pop(), 'the gateway on the network of the backends').toBe('connected');
      expect(results, service).not.toContain('connected');
    }
  });

  it('does not start without an admin token, and prints how to create one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'no-token-'));
    onTestFinished(() => rmSync(folder, { recursive: true, maxRetries: 10 }));
    await cp(join(stack.project.folder, 'docker-compose.yml'), join(folder, 'docker-compose.yml'));
    await expect(composeWith({ ...stack.project, folder }).up()).rejects.toThrow(/openssl rand -hex 24 \| sed/);
    expect(firstCommand).toContain('openssl rand -hex 24 | sed s/^/ADMIN_TOKEN=/ >> .env');

    const [id = ''] = await compose.containers('gateway');
    const image = (await compose.docker('inspect', id, '-f', '{{.Image}}')).trim();
    const mounts = ['config', 'services'].flatMap((name) => [
      '--volume',
      `${join(stack.project.folder, name)}:/app/${name}:ro`,
    ]);
    await expect(compose.docker('run', '--rm', ...mounts, image)).rejects.toThrow(
      /0\.0\.0\.0:9901 can be reached from other machines, and admin_token is empty/,
    );
  });
});
