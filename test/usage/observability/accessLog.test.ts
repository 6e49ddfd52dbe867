import { execFileSync, spawnSync } from 'node:child_process';
import { constants, rmSync } from 'node:fs';
import { mkdir, mkdtemp, open, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { LogSettings } from '../../../gateway/config/snapshot.ts';
import { AccessLog } from '../../../gateway/usage/observability/accessLog.ts';
import type { ExchangeRecord } from '../../../gateway/usage/observability/exchangeRecord.ts';
import { logLine, prettyLine, shownPartsOf } from '../../../gateway/usage/observability/logLine.ts';
import { startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { ask, get } from '../../support/rawClient.ts';
import { startRecorded, successfulExchange } from './recorded.ts';

const shown = { access: 'stdout', format: 'auto', sample: 1, address: 'full', query: true, redact: [] } as const;

function lineOf(facts: Partial<ExchangeRecord>, settings: Partial<LogSettings> = {}, client?: string): string {
  return logLine({ ...successfulExchange, ...facts }, 'info', shownPartsOf({ ...shown, ...settings }), client);
}

async function temporaryFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'access-log-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, 'deep', 'access.log');
}

function settingsFor(file: string, more: Partial<LogSettings> = {}): LogSettings {
  return { ...shown, access: { file }, ...more };
}

async function linesIn(file: string): Promise<Record<string, unknown>[]> {
  const text = await readFile(file, 'utf8');
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('a line', () => {
  it('names the API of a version, unless it is the one at the root', () => {
    for (const version of ['v1', '']) expect(lineOf({ version })).not.toContain('"api"');
    expect(lineOf({ version: 'shop/pay/v1' })).toContain('"version":"shop/pay/v1","api":"/shop/pay","stage"');
    // The part with the version is kept for the next line.
    expect(JSON.parse(lineOf({ version: 'orders/v1' }))).toMatchObject({ version: 'orders/v1', api: '/orders' });
  });

  it('has the same bytes whatever the lines before it were', () => {
    const pick = <T>(values: readonly T[], at: number): T => values[at % values.length] as T;
    // Neighbours share some values and differ in others, since parts of a line are kept for the next one.
    for (let at = 0; at < 2_000; at += 1) {
      const turn = Math.floor(at / 3);
      const facts: Partial<ExchangeRecord> = {
        at: 1_790_000_000_000 + turn * 331,
        version: pick(['v1', 'v1', 'v12', ''], turn),
        stage: pick(['active', 'sunset', undefined], at),
        address: pick(['192.0.2.7', '2001:db8::1', 'unknown'], turn),
        method: pick(['GET', 'POST'], at >> 4),
        status: pick([200, 200, 404], turn),
        problem: pick([undefined, undefined, 'UNKNOWN_VERSION'], turn),
        target: pick(['http://127.0.0.1:3001', undefined], at >> 3),
        duration: at * 0.0505,
        upstreamMs: pick([undefined, 0, 1.5, 12.3456, 999.9996], at),
        bytesOut: at * 997,
        fault: pick([undefined, 'target'], at >> 5),
        cause: pick([undefined, 'closed by the "target"'], at >> 5),
      };
      const { id, traceId, ...one } = { ...successfulExchange, ...facts };
      const network = pick(['192.0.2.0/24', '2001:db8::/48', undefined], turn);
      const client = pick([undefined, 'ua:a"b'], at >> 6);
      const expected = {
        level: 'info',
        time: new Date(one.at).toISOString(),
        id,
        trace_id: traceId,
        ...(one.version !== '' && { version: one.version }),
        ...{ stage: one.stage, client, address: network, method: one.method, path: one.path },
        ...{ status: one.status, problem: one.problem, target: one.target },
        duration_ms: Math.round(one.duration * 1000) / 1000,
        upstream_ms: one.upstreamMs === undefined ? undefined : Math.round(one.upstreamMs * 1000) / 1000,
        ...{ bytes_in: one.bytesIn, bytes_out: one.bytesOut, retries: one.retries, fault: one.fault, cause: one.cause },
      };
      expect(lineOf(facts, { address: 'network' }, client)).toBe(`${JSON.stringify(expected)}\n`);
    }
  });

  it('has the fields of the exchange', () => {
    const facts: Partial<ExchangeRecord> = {
      query: 'a=1',
      status: 502,
      problem: 'TARGET_FAILED',
      stage: 'deprecated',
      fault: 'target',
      cause: 'closed by the target',
      retries: 1,
    };
    expect(JSON.parse(lineOf(facts))).toEqual({
      level: 'info',
      time: '2026-11-21T08:00:00.042Z',
      id: 'id-1',
      trace_id: '0af7651916cd43dd8448eb211c80319c',
      version: 'v1',
      stage: 'deprecated',
      address: '192.0.2.7',
      method: 'GET',
      path: '/v1/drinks/7',
      query: 'a=1',
      status: 502,
      problem: 'TARGET_FAILED',
      target: 'http://127.0.0.1:3001',
      duration_ms: 12.346,
      upstream_ms: 11.1,
      bytes_in: 3,
      bytes_out: 5,
      retries: 1,
      fault: 'target',
      cause: 'closed by the target',
    });
  });

  it('leaves out fields without a value', () => {
    const line = JSON.parse(
      lineOf({ version: '', stage: undefined, target: undefined, upstreamMs: undefined, query: 'q' }, { query: false }),
    ) as object;
    expect(Object.keys(line)).toEqual(
      'level time id trace_id address method path status duration_ms bytes_in bytes_out retries'.split(' '),
    );
  });

  it.each(['\x1b[31m', '\x9b31m', 'a\r\nb', '"},{"x":"', '\\', '\0', '\x7f', 'ÿ', '\u2028', '😀', '\ud800'])(
    'has %j in one line of JSON without terminal controls',
    (hostile) => {
      const line = lineOf({ path: `/v1/${hostile}`, query: hostile, cause: hostile });
      expect(line).toMatch(/^[ -~]+\n$/);
      const { path } = JSON.parse(line) as { path: string };
      expect(path.startsWith('/v1/')).toBe(true);
      expect(path).toMatch(/^[ -~]+$/);
      expect(prettyLine(line, false)).not.toMatch(/[\0-\x09\x0b-\x1f\x7f-\x9f]/);
    },
  );

  it.each([
    ['192.0.2.7', 'full', '192.0.2.7'],
    ['192.0.2.7', 'network', '192.0.2.0/24'],
    ['2001:db8:7:1::9', 'network', '2001:db8:7::/48'],
    ['192.0.2.7', 'network', '192.0.2.0/24'],
    ['unknown', 'network', undefined],
    ['192.0.2.7', 'none', undefined],
  ] as const)('shows the address %s with log.address %s as %s', (address, how, expected) => {
    const line = JSON.parse(lineOf({ address }, { address: how })) as Record<string, unknown>;
    expect(line['address']).toBe(expected);
    expect('address' in line).toBe(expected !== undefined);
  });

  it('names the client like the ledger, with escapes', () => {
    expect(JSON.parse(lineOf({}, {}, 'x-api-key:#4f2a91c0'))).toMatchObject({ client: 'x-api-key:#4f2a91c0' });
    expect(lineOf({}, {}, 'a"\x1b[31m')).toMatch(/^[ -~]+\n$/);
  });

  it.each([
    ['a=1&token=2&b=3', 'a=1&token=***&b=3'],
    ['ssn=1', 'ssn=***'],
  ])('shows the query %s as %s', (query, expected) => {
    expect(JSON.parse(lineOf({ query }, { redact: ['ssn'] }))).toMatchObject({ query: expected });
  });

  it('hides secrets in path parameters', () => {
    expect(JSON.parse(lineOf({ path: '/v1/cart;jsessionid=A1' }))).toMatchObject({ path: '/v1/cart;jsessionid=***' });
  });
});

describe('a line for a terminal', () => {
  it.each([
    ['info', 32],
    ['warn', 33],
    ['error', 31],
  ] as const)('has level %s in colour %i, if colours are wanted', (level, colour) => {
    const json = logLine(successfulExchange, level, shownPartsOf(shown));
    const message =
      'GET /v1/drinks/7 → 200 in 12.346 ms  v1 (active)  client 192.0.2.7  http://127.0.0.1:3001  id id-1';
    const name = level.toUpperCase();
    expect(prettyLine(json, false)).toBe(`[08:00:00.042] ${name}: ${message}\n`);
    expect(prettyLine(json, true)).toBe(`[08:00:00.042] \x1b[${colour}m${name}\x1b[39m: \x1b[36m${message}\x1b[39m\n`);
  });
});

describe('the log', () => {
  it('is complete after closing, whatever clients send', async () => {
    const file = await temporaryFile();
    const log = new AccessLog(settingsFor(file), () => {});
    const backend = await startBackend();
    const { port } = await startRecorded({ '/v1': backend.url }, {}, log);
    const hostile = ['User-Agent: "\xff', 'X-Request-Id: "\xff'];
    await ask(port, get('/v1/%22x?token=secret&x=%22y', ...hostile));
    await ask(port, get('/v1/%1b%5b31m', ...hostile));
    await ask(port, get('/elsewhere'));
    await log.close();
    const lines = await linesIn(file);
    expect(lines.map(({ status, level }) => [status, level])).toEqual([
      [200, 'info'],
      [400, 'warn'],
      [404, 'warn'],
    ]);
    expect(lines[0]).toMatchObject({ query: 'token=***&x=%22y', target: backend.url, address: '127.0.0.1' });
    expect(await readFile(file, 'utf8')).not.toMatch(/secret|[^\n -~]/);
  });

  it('applies `sample` only to successful exchanges', async () => {
    const file = await temporaryFile();
    const log = new AccessLog(settingsFor(file, { sample: 0 }), () => {});
    for (const one of [{}, { status: 404 }, { fault: 'client' as const }, { problem: 'LOOP' as const }, {}]) {
      log.record({ ...successfulExchange, ...one });
    }
    await log.close();
    expect(await linesIn(file)).toHaveLength(3);
  });

  it('continues in a new file after the old one was renamed', async () => {
    const file = await temporaryFile();
    const log = new AccessLog(settingsFor(file), () => {});
    log.record(successfulExchange);
    await rename(file, `${file}.1`);
    await log.reopen();
    log.record({ ...successfulExchange, id: 'id-2' });
    await log.close();
    expect([await linesIn(`${file}.1`), await linesIn(file)]).toMatchObject([[{ id: 'id-1' }], [{ id: 'id-2' }]]);
  });

  it('applies new settings', async () => {
    const file = await temporaryFile();
    const log = new AccessLog(settingsFor(file), () => {});
    log.record(successfulExchange);
    await log.apply(settingsFor(file, { access: 'off' }));
    log.record(successfulExchange);
    await log.apply(settingsFor(file, { query: false }));
    log.record({ ...successfulExchange, query: 'a' });
    await log.close();
    log.record(successfulExchange);
    expect((await linesIn(file)).map(({ query }) => query)).toEqual([undefined, undefined]);
  });

  // In /proc, mkdir fails with ENOENT although the parent exists; a recursive mkdir would retry for ever.
  it.each(['/dev/null/access.log', '/proc/nope/access.log'])(
    'reports why %s cannot be opened, without throwing',
    async (file) => {
      const said: string[] = [];
      const log = new AccessLog(settingsFor(file), (line) => said.push(line));
      log.record(successfulExchange);
      await log.close();
      expect(said).toEqual([expect.stringMatching(/^the access log cannot be opened and will be retried: E/)]);
      expect(log.dropped).toBe(1);
    },
  );

  it('survives a full disk and reports it once', async () => {
    const said: string[] = [];
    const log = new AccessLog(settingsFor('/dev/full'), (line) => said.push(line));
    for (let count = 0; count < 200; count += 1) log.record(successfulExchange);
    await log.close();
    expect(said).toEqual([expect.stringMatching(/^the access log cannot be written: ENOSPC/)]);
    expect(log.dropped).toBe(200);
  });

  it('retries a file that cannot be opened and reports when it can', async () => {
    const file = await temporaryFile();
    const said: string[] = [];
    // A file is in place of its folder.
    await writeFile(dirname(file), '');
    const log = new AccessLog(settingsFor(file), (line) => said.push(line), 20);
    onTestFinished(() => log.close());
    log.record(successfulExchange);
    log.record(successfulExchange);
    expect(said).toEqual([expect.stringMatching(/^the access log cannot be opened and will be retried: E/)]);
    await rm(dirname(file));
    await eventually(() =>
      expect(said.slice(1)).toEqual(['the access log is open again: 2 lines were dropped so far']),
    );
    log.record({ ...successfulExchange, id: 'id-3' });
    await log.close();
    expect(await linesIn(file)).toMatchObject([{ id: 'id-3' }]);
    expect(log.dropped).toBe(2);
  });

  it('opens a new file when its file was removed', async () => {
    const file = await temporaryFile();
    const said: string[] = [];
    const log = new AccessLog(settingsFor(file), (line) => said.push(line), 20);
    onTestFinished(() => log.close());
    // At once: the log may make the folder again at any time.
    rmSync(dirname(file), { recursive: true });
    await eventually(() => expect(said).toEqual(['the access log file was removed or replaced: it is opened again']));
    log.record(successfulExchange);
    await log.close();
    expect(await linesIn(file)).toHaveLength(1);
  });

  it('continues in a new file and counts the lines that were dropped', async () => {
    const file = await temporaryFile();
    const said: string[] = [];
    await mkdir(dirname(file));
    await symlink('/dev/full', file);
    const log = new AccessLog(settingsFor(file), (line) => said.push(line), 20);
    onTestFinished(() => log.close());
    // More lines than one write buffers.
    for (let count = 0; count < 500; count += 1) log.record(successfulExchange);
    await eventually(() => expect(said).toEqual([expect.stringMatching(/^the access log cannot be written: ENOSPC/)]));
    await rm(file);
    await eventually(() => expect(said.at(-1)).toMatch(/^the access log is open again/));
    log.record(successfulExchange);
    await eventually(() => expect(log.dropped).toBe(500));
    await log.close();
    expect(await linesIn(file)).toHaveLength(1);
    expect(log.dropped).toBe(500);
  });

  it('loses no line if the disk was full for a while', async (context) => {
    const disk = await mkdtemp(join(tmpdir(), 'small-disk-'));
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk], { stdio: 'ignore' });
    } catch {
      return context.skip('this user may not mount file systems');
    }
    onTestFinished(async () => {
      execFileSync('umount', ['-l', disk]);
      await rm(disk, { recursive: true });
    });
    const file = join(disk, 'access.log');
    const said: string[] = [];
    const log = new AccessLog(settingsFor(file), (line) => said.push(line));
    for (let count = 0; count < 1000; count += 1) log.record(successfulExchange);
    await eventually(() => expect(said).toEqual([expect.stringMatching(/^the access log cannot be written: ENOSPC/)]));
    execFileSync('mount', ['-o', 'remount,size=64m', disk]);
    log.record(successfulExchange);
    await eventually(() => expect(said.slice(1)).toEqual(['the access log can be written again']));
    await log.close();
    expect(await linesIn(file)).toHaveLength(1001);
    expect(log.dropped).toBe(0);
  });

  it('counts the lines that a closed pipe did not take', async () => {
    const file = await temporaryFile();
    const said: string[] = [];
    await mkdir(dirname(file));
    execFileSync('mkfifo', [file]);
    const reader = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const log = new AccessLog(settingsFor(file), (line) => said.push(line));
    await reader.close();
    for (let count = 0; count < 300; count += 1) log.record(successfulExchange);
    await eventually(() => expect(said).toEqual([expect.stringMatching(/^the access log cannot be written: EPIPE/)]));
    for (let count = 0; count < 300; count += 1) log.record(successfulExchange);
    await log.close();
    expect(log.dropped).toBe(600);
    expect(said).toHaveLength(1);
  });

  it('writes its last lines when the process ends by an exception', async () => {
    const file = await temporaryFile();
    const module = new URL('../../../gateway/usage/observability/accessLog.ts', import.meta.url).href;
    const code = `import { AccessLog } from ${JSON.stringify(module)};
      const log = new AccessLog(${JSON.stringify(settingsFor(file))}, () => {});
      log.record(${JSON.stringify(successfulExchange)});
      throw new Error('on purpose');`;
    const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' });
    expect(status).toBe(1);
    expect(await linesIn(file)).toMatchObject([{ id: 'id-1' }]);
  });

  it('is readable text if `format: pretty` is set', async () => {
    const file = await temporaryFile();
    const log = new AccessLog(settingsFor(file, { format: 'pretty' }), () => {});
    const failed = { status: 502, problem: 'TARGET_FAILED', fault: 'target', cause: 'closed', retries: 2 } as const;
    log.record({ ...successfulExchange, ...failed }, 'x-client-id:ios');
    await log.close();
    expect(await readFile(file, 'utf8')).toBe(
      `[08:00:00.042] ERROR: GET /v1/drinks/7 → 502 in 12.346 ms  v1 (${successfulExchange.stage})  client x-client-id:ios  http://127.0.0.1:3001  2 retries  TARGET_FAILED  by the target’s fault: closed  id ${successfulExchange.id}\n`,
    );
  });
});
