import { realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { snapshotFrom } from '../../gateway/config/load.ts';
import { tooFewOpenFiles } from '../../gateway/process/runtime/openFiles.ts';
import { temporaryFolder } from '../config/temporary.ts';
import { okAnswer, startBackend } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { gatewayMain } from '../support/gatewayMain.ts';
import { run } from '../support/process.ts';
import { connectTo, get, type RawClient } from '../support/rawClient.ts';

/** The gateway with a limit of open files. */
async function startLimited(openFiles: number, upstream: string, nodeFlags: readonly string[] = []) {
  const folder = temporaryFolder();
  const file = join(folder, 'routes.yaml');
  const gateway = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s' };
  writeFileSync(
    file,
    JSON.stringify({ gateway, usage: { store: join(folder, 'usage.db') }, routes: { '/v1': upstream } }),
  );
  const command = `ulimit -n ${openFiles} && exec "$0" "$@" "$MAIN" start --config "$ROUTES"`;
  const running = run('sh', ['-c', command, process.execPath, ...nodeFlags], { ROUTES: file, MAIN: gatewayMain });
  const [, port] = await running.printed(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  return { ...running, port: Number(port) };
}

it('warns of a limit that is too low, reports once that it is reached, and answers accepted clients', async () => {
  const backend = await startBackend(() => okAnswer);
  const gateway = await startLimited(72, backend.url);
  expect(gateway.output()).toMatch(/warning: the limit of 72 open files is lower than the 4000 .* ulimit -n/);
  const clients = await Promise.all(Array.from({ length: 60 }, () => connectTo(gateway.port)));
  const [, room] = await gateway.printed(
    /a connection was refused\..*leaves room for (\d+) client connections.*ulimit -n/,
  );
  const isOpen = ({ socket }: RawClient): boolean => !socket.destroyed && !socket.readableEnded;
  await eventually(() => expect(clients.filter(isOpen)).toHaveLength(Number(room)));
  const accepted = clients.filter(isOpen);
  for (const client of accepted) client.send(get('/v1/x'));
  const answers = await Promise.all(accepted.map((client) => client.response('GET')));
  expect([...new Set(answers.map(({ status }) => status))]).toEqual([200]);
  expect(gateway.output().match(/open files are exhausted/g)).toHaveLength(1);
  // It accepts new clients once connections are closed.
  for (const client of clients) client.socket.destroy();
  const url = `http://127.0.0.1:${gateway.port}/v1/x`;
  await eventually(async () => expect((await fetch(url, { headers: { connection: 'close' } })).status).toBe(200));
});

it('answers 503 if the gateway itself cannot open a connection, and blames no backend', async () => {
  const backend = await startBackend(() => okAnswer);
  // On a signal, opens files until no more can be opened.
  const code = `import { openSync } from 'node:fs';
    process.on('SIGWINCH', () => { try { for (;;) openSync('/dev/null'); } catch { process.stderr.write('no file left\\n'); } });`;
  const gateway = await startLimited(100, backend.url, [
    '--import',
    `data:text/javascript,${encodeURIComponent(code)}`,
  ]);
  const client = await connectTo(gateway.port);
  gateway.child.kill('SIGWINCH');
  await gateway.printed(/no file left/);
  client.send(get('/v1/x'));
  const { status, body } = await client.response('GET');
  expect([status, JSON.parse(body).code]).toEqual([503, 'OVERLOADED']);
  await gateway.printed(/open files are exhausted: connect EMFILE/);
});

it.each([
  [20_000, undefined],
  [8_000, undefined],
  [4_096, expect.stringContaining('lower than the 8000')],
])('the warning for a limit of %i open files is %o', (limit, warning) => {
  const upstream = 'http://127.0.0.1:1';
  expect(tooFewOpenFiles(snapshotFrom({ routes: { '/v1': upstream, '/v2': upstream } }), limit)).toEqual(warning);
});

it('serves without a limit of connections, and without a warning, where Node may not read /proc', async () => {
  const backend = await startBackend(() => okAnswer);
  const readable = ['.', realpathSync('node_modules'), tmpdir()].map((folder) => `--allow-fs-read=${folder}`);
  const allowed = ['--allow-net', '--allow-worker', '--allow-addons', `--allow-fs-write=${tmpdir()}`, ...readable];
  const gateway = await startLimited(200, backend.url, ['--permission', ...allowed]);
  expect((await fetch(`http://127.0.0.1:${gateway.port}/v1/x`)).status).toBe(200);
  expect(gateway.output()).not.toContain('open files');
});
