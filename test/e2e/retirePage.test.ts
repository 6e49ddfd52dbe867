import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../bench/support/ports.ts';
import { runIn } from '../process/cli/io.ts';
import { gatewayMain } from '../support/gatewayMain.ts';
import { run } from '../support/process.ts';
import { followRetirePage } from '../support/walkThrough.ts';

it('docs/retire-a-version.md works as written without containers', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'retire-'));
  onTestFinished(() => rmSync(folder, { recursive: true, maxRetries: 10 }));
  for (const name of ['bin', 'gateway', 'node_modules', 'package.json', 'services'])
    symlinkSync(resolve(name), join(folder, name));
  cpSync('config', join(folder, 'config'), { recursive: true });
  const routes = join(folder, 'config', 'routes.yaml');
  const [port, adminPort] = [await freePort(), await freePort()];
  // The ports of `npm start` may be taken on the machine of a test.
  const text = readFileSync(routes, 'utf8');
  const onFreePorts = text
    .replace('# listen: 127.0.0.1:8080', `listen: 127.0.0.1:${port}`)
    .replace('# admin: 127.0.0.1:9901', `admin: 127.0.0.1:${adminPort}`);
  expect(onFreePorts).not.toBe(text);
  writeFileSync(routes, onFreePorts);
  const services = ['v1', 'v2'].map((name) => run(process.execPath, [`services/${name}/server.ts`], { PORT: '0' }));
  const [v1, v2] = await Promise.all(services.map((service) => service.printed(/listening on (\S+)/)));
  const env = { V1_URL: v1?.[1] ?? '', V2_URL: v2?.[1] ?? '' };
  const gateway = run(process.execPath, [gatewayMain, 'start', '--config', routes], env);
  await gateway.printed(/readyz/);

  await followRetirePage('docs/retire-a-version.md', {
    routes,
    url: `http://127.0.0.1:${port}`,
    // Dozens of processes would only say that it is too early.
    ask: (command) => {
      const [npx, name, ...args] = command.split(' ');
      if (npx !== 'npx' || name !== 'version-gateway' || /[|&;<>"'$]/.test(command)) return undefined;
      return () => runIn(folder, args, env);
    },
    run: (command) => {
      // The sample services are not in containers here.
      if (command.startsWith('docker')) return Promise.resolve({ code: 0, stdout: '' });
      const words = command.replace('127.0.0.1:8080', `127.0.0.1:${port}`);
      return new Promise((done) => {
        // npm takes longer to start than the command.
        const script = `npx() { shift; "$NODE" "$MAIN" "$@"; }\n${words}`;
        execFile(
          'sh',
          ['-c', script],
          { cwd: folder, env: { ...process.env, ...env, NODE: process.execPath, MAIN: gatewayMain } },
          (error, stdout) => done({ code: error ? Number(error.code) : 0, stdout }),
        );
      });
    },
  });
});
