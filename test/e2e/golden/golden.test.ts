import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../config/temporary.ts';
import { startReceiver } from '../../operate/notify/receiver.ts';
import { type Collector, startCollector } from '../../operate/otlp/collector.ts';
import { eventually } from '../../support/eventually.ts';
import { refusedUrl } from '../../support/gateway.ts';
import { gatewayMain } from '../../support/gatewayMain.ts';
import { run } from '../../support/process.ts';
import { Admin } from './admin.ts';
import { receivedText, startGoldenBackend } from './backends.ts';
import { ask, Corpus } from './corpus.ts';
import { ledgerText } from './ledgerText.ts';
import {
  bodyFields,
  columnWidths,
  feedTags,
  knownTexts,
  ledgerIds,
  type Mask,
  masked,
  masks,
  rates,
  signatures,
  startOfRun,
} from './masks.ts';
import { metricsText } from './metricsText.ts';
import { discoveryRequests, requests } from './requests.ts';
import { seedLedger } from './seed.ts';

// What a gateway with every feature answers, writes, logs and sends, and what the commands print. If a change is meant to change any of
// it, write the golden files anew, and read their diff before you commit it: npx vitest run test/e2e/golden -u

const fixtures = 'test/fixtures/golden';
const token = 'golden-admin-token';

it('a file with every feature means what it meant before', async () => {
  const folder = temporaryFolder();
  copyWithFixedTimes(folder);
  const [v2, v3, v4, v6, v7, v9] = await Promise.all(Array.from({ length: 6 }, startGoldenBackend));
  if (!v2 || !v3 || !v4 || !v6 || !v7 || !v9) throw new Error('a backend is missing');
  const backends = { v2, v3, v4, v6, v7, v9 };
  const hook = await startReceiver();
  const collector = await startCollector();
  const refused = await refusedUrl();
  const urls = {
    V2: v2.url,
    V3: v3.url,
    V4: v4.url,
    V6: v6.url,
    V7: v7.url,
    V9: v9.url,
    REFUSED: refused,
    REFUSED_TLS: refused.replace('http:', 'https:'),
    HOOK: new URL(hook.url).origin,
    OTLP: collector.url,
  };
  const env = { ...urls, ...atStartOfRun() };
  const shopTag = await command(folder, env, ['tag', 'x-api-key'], 'key-of-shop');
  seedLedger(join(folder, 'data', 'usage.db'), shopTag.stdout.trim());

  const gateway = run(process.execPath, [gatewayMain, 'start', '--config', join(folder, 'routes.yaml')], env);
  const [stdout, stderr] = [collected(gateway.child.stdout), collected(gateway.child.stderr)];
  const [, port = ''] = await gateway.printed(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  const [, adminPort = ''] = await gateway.printed(/http:\/\/127\.0\.0\.1:(\d+)\/readyz/);
  const admin = new Admin(Number(adminPort), token);
  await eventually(async () => {
    const { brownouts, freezes } = (await admin.json('/api/status')) as Decisions;
    const states = [brownouts[0]?.state, freezes[0]?.state];
    // Each is decided once. Any decision ends the wait, so that a wrong one is seen at once.
    if (states.includes('planned') || states.includes('approved') || states.includes('reading'))
      throw new Error(String(states));
  });

  const corpus = new Corpus(Number(port));
  const responses = await requests(corpus);
  // Both are found by timers, and appear in the status from then on.
  await gateway.printed(/new client of \/v4/);
  await gateway.printed(/no target of \/v8/);
  await ledgerHasEverything(corpus, admin, 'last-below-versions');
  const discovery = await discoveryRequests(corpus);
  await ledgerHasEverything(corpus, admin, 'last-of-all');

  await eventually(async () => {
    const { recent } = ((await admin.json('/api/status')) as { notify: { recent: { state: string }[] } }).notify;
    if (recent.length < expectedNotifications || recent.some(({ state }) => state === 'waiting'))
      throw new Error(`not sent yet: ${JSON.stringify(recent)}`);
  });

  const { config } = (await admin.json('/api/status')) as { config: { fingerprint: string } };
  const known = knownTexts([
    [config.fingerprint, '<fingerprint>'],
    [config.fingerprint.slice(0, 12), '<fingerprint>'],
    [encodeURIComponent(`${folder}/routes.yaml`), '<folder>%2Froutes.yaml'],
    [encodeURIComponent(`http://127.0.0.1:${adminPort}`), 'http%3A%2F%2F127.0.0.1%3A<admin>'],
    [folder, '<folder>'],
    [`"pid": ${gateway.child.pid}`, '"pid": <pid>'],
    [`127.0.0.1:${port}`, '127.0.0.1:<port>'],
    [`X-Forwarded-Port: ${port}`, 'X-Forwarded-Port: <port>'],
    [`127.0.0.1:${adminPort}`, '127.0.0.1:<admin>'],
    ...Object.entries(urls).flatMap(([name, url]) => portTexts(name, new URL(url).port)),
  ]);
  const golden = new Golden('every-feature', [...known, ...masks]);
  golden.add('responses.txt', responses);
  golden.add('discovery.txt', discovery, [feedTags]);
  golden.add('backends.txt', receivedText(backends));

  golden.add('status.json', await admin.jsonText('GET /api/status'), [rates]);
  golden.add('metrics.txt', metricsText(await admin.text('GET /metrics')));
  golden.add('usage.json', await admin.jsonTexts(usageQuestions));
  golden.add('usage.csv', await admin.text('GET /api/usage.csv?by=client&version=v4'));
  golden.add('retirement.json', await admin.jsonTexts(retirementQuestions));
  golden.add('features.json', await admin.jsonTexts(featureQuestions));
  const edited = readFileSync(join(folder, 'routes.yaml'), 'utf8');
  golden.add(
    'edits.json',
    [
      await admin.jsonText('POST /api/plan', { retire: 'v4' }),
      await admin.jsonText('POST /api/plan', { retire: 'v7', since: '14d' }),
      await admin.jsonText('POST /api/reload', {}),
      ...(await previews(admin, edited)),
      await admin.jsonText('POST /api/notify/test', {}),
    ].join('\n'),
  );
  golden.add('admin.txt', await adminHeads(admin), [bodyFields]);

  writeFileSync(
    join(folder, 'edited.yaml'),
    edited.replace(/ {2}# A contract that is not published[\s\S]*?\n\n/, '\n'),
  );
  const adminEnv = { ...env, ADMIN_TOKEN: token };
  const texts: string[] = [];
  for (const args of commands(`127.0.0.1:${adminPort}`)) texts.push((await command(folder, adminEnv, args)).text);
  golden.add('commands.txt', texts.join('\n'), [columnWidths]);

  const ended = once(gateway.child, 'exit');
  gateway.child.kill('SIGTERM');
  const [code] = await ended;
  golden.add('console.txt', `${stdout()}(exit code ${code})\n\n=== stderr, sorted\n${sortedNotices(stderr())}`);
  golden.add('notifications.txt', notificationsText(hook.received), [bodyFields, signatures]);
  golden.add('telemetry.txt', exportsText(collector));
  golden.add('access-log.txt', readFileSync(join(folder, 'access.log'), 'utf8'));
  golden.add('accepted.json', readFileSync(join(folder, 'data', 'accepted.json'), 'utf8'));
  golden.add('ledger.txt', ledgerText(join(folder, 'data', 'usage.db')), [ledgerIds]);
  golden.add('files.txt', filesText(folder));
  await golden.compare();
});

interface Decisions {
  readonly brownouts: readonly { readonly state: string }[];
  readonly freezes: readonly { readonly state: string }[];
}

/** By both receivers, without those of a test. */
const expectedNotifications = 13;

const usageQuestions = [
  'GET /api/usage',
  'GET /api/usage?by=client&version=v4',
  'GET /api/usage?by=route&version=v4',
  'GET /api/usage?by=route&version=v5&since=7d',
  'GET /api/usage?by=day&version=v4&since=7d',
  'GET /api/usage?by=migration&version=v4',
  'GET /api/usage?by=client&version=v12',
  'GET /api/usage?by=client&version=v4&route=GET%20%2Fdrinks%2F%7Bid%7D',
  'GET /api/usage?by=client&version=v4&limit=2&offset=1&sort=-requests&filter=a',
  'GET /api/usage?by=nothing',
];

const retirementQuestions = [
  ...['v1', 'v2', 'v3', 'v4', 'v5', 'v6', 'v7', 'v8', 'v9', 'v12'].map(
    (name) => `GET /api/versions/${name}/retirement`,
  ),
  'GET /api/versions/v4/retirement?quiet=1h',
  'GET /api/versions/v4/retirement?route=GET%20%2Flegacy-search',
];

const featureQuestions = [
  'GET /api/brownouts',
  'GET /api/brownouts/v5',
  'GET /api/brownouts/v4',
  'GET /api/shadow',
  'GET /api/shadow/v4',
  'GET /api/shadow/v4/requests?values=true',
  'GET /api/drift',
  'GET /api/drift/v6',
  'GET /api/digest',
  'GET /api/digest?since=14d',
  'GET /api/fleet',
];

/** The results that reloads of edited files would have. */
async function previews(admin: Admin, file: string): Promise<string[]> {
  const edits = [
    file.replace('sunset: 2031-05-30T23:59:59Z', 'sunset: 2031-03-20'),
    file.replace('prefix: forward', 'prefix: strip').replace('balance: random', 'balance: round_robin'),
    file.replace('successor: /v6', 'successor: /v66').replace('in_flight: 100', 'in_flight: many'),
    file.replace('  base_path: /api\n', ''),
  ];
  const texts: string[] = [];
  for (const edit of edits) {
    const text = await admin.text('POST /api/reload/preview', { routes_yaml: edit });
    texts.push(
      `=== POST /api/reload/preview\n${changedLines(file, edit)}\n${JSON.stringify(JSON.parse(text), null, 2)}\n`,
    );
  }
  return texts;
}

function changedLines(before: string, after: string): string {
  const [old, present] = [before.split('\n'), after.split('\n')];
  const removed = old.filter((line) => !present.includes(line)).map((line) => `- ${line}`);
  return [...removed, ...present.filter((line) => !old.includes(line)).map((line) => `+ ${line}`)].join('\n');
}

function commands(admin: string): string[][] {
  const asking = ['--admin', admin];
  return [
    ['check'],
    ['check', '--format', 'json'],
    ['check', 'edited.yaml', '--against-running', ...asking],
    ['plan', 'edited.yaml', ...asking],
    ['plan', '--retire', '/v4', '--format', 'json', ...asking],
    ['plan', '--retire', '/v4', '--format', 'markdown', ...asking],
    ['status', ...asking],
    ['usage', ...asking],
    ['usage', '/v4', ...asking],
    ['usage', '/v4', '--by', 'migration', ...asking],
    ['usage', '/v4', '--by', 'route', '--format', 'csv', ...asking],
    ['usage', 'GET /v4/drinks/{id}', ...asking],
    ['can-retire', '/v4', ...asking],
    ['can-retire', '/v1', ...asking],
    ['can-retire', 'GET /v4/legacy-search', '--format', 'markdown', ...asking],
    ['digest', ...asking],
    ['brownout', 'status', ...asking],
    ['brownout', 'report', '/v5', ...asking],
    ['shadow', 'status', ...asking],
    ['shadow', 'report', '/v4', ...asking],
    ['drift', 'report', '/v6', ...asking],
    ['ready', ...asking],
    ['migrate', '/v4', '/v6'],
    ['moved', '/v4', '/v6'],
    ['adapter', '/v4', '/v6'],
  ];
}

async function adminHeads(admin: Admin): Promise<string> {
  const heads = [
    await admin.head('GET /healthz', { token: false, body: true }),
    await admin.head('GET /readyz', { token: false, body: true }),
    await admin.head('POST /readyz', { token: false, body: true }),
    await admin.head('GET /login', { token: false }),
    await admin.head('GET /', { token: false }),
    await admin.head('GET /'),
    await admin.head('GET /api/status', { token: false, body: true }),
    await admin.head('GET /api/status'),
    await admin.head('GET /metrics', { token: false, body: true }),
    await admin.head('GET /metrics'),
    await admin.head('GET /api/usage.csv'),
    await admin.head('GET /api/openapi.json'),
    await admin.head('GET /nothing', { body: true }),
    await admin.head('POST /api/reload', { body: true }),
  ];
  return heads.join('\n');
}

/** A clock of a process that shows the start of the run now, also in its threads. */
function atStartOfRun(): Record<string, string> {
  const offset = String(startOfRun - Date.now());
  return { CLOCK_OFFSET_MS: offset, NODE_OPTIONS: `--import=${resolve('test/support/clockOffset.mjs')}` };
}

/** The texts in which a port appears. */
function portTexts(name: string, port: string): [text: string, label: string][] {
  return [
    [`127.0.0.1:${port}`, `127.0.0.1:<${name}>`],
    [`"server.port": ${port}`, `"server.port": <${name}>`],
  ];
}

/** Everything that a stream brings, so far. */
function collected(stream: Readable | null): () => string {
  let sum = '';
  stream?.on('data', (chunk) => (sum += chunk));
  return () => sum;
}

/** Notices come from several timers. A line that is indented belongs to the notice before it. */
function sortedNotices(stderr: string): string {
  return stderr
    .trimEnd()
    .split(/\n(?! )/)
    .sort()
    .map((notice) => `${notice}\n`)
    .join('');
}

/** Runs a command in the folder. `text`: everything that it shows to a person. */
async function command(folder: string, env: Record<string, string>, args: readonly string[], input = '') {
  const child = spawn(process.execPath, [gatewayMain, ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: 'pipe',
  });
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { stdout, text: `$ version-gateway ${args.join(' ')}\n${stdout}${stderr}(exit code ${code})\n` };
}

/** Waits until the ledger has a request that is sent after all others. */
async function ledgerHasEverything(corpus: Corpus, admin: Admin, client: string): Promise<void> {
  await corpus.exchange([ask('last', 'GET /api/v9/internal/last', `X-Client-Id: ${client}`)]);
  await eventually(async () => {
    const usage = JSON.stringify(await admin.json('/api/usage?by=client&version=v9'));
    if (!usage.includes(client)) throw new Error(`the ledger does not have ${client} yet`);
  });
}

/** Copies the fixtures. The times of files are part of what the gateway sends. */
function copyWithFixedTimes(folder: string): void {
  cpSync(fixtures, folder, { recursive: true, filter: (source) => !source.includes('expected') });
  mkdirSync(join(folder, 'data'));
  const changed = new Date('2031-01-05T08:00:00Z');
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (statSync(join(folder, name)).isFile()) utimesSync(join(folder, name), changed, changed);
  }
}

function notificationsText(received: readonly { path: string; headers: object; body: string }[]): string {
  // Several are sent at the same time. The id of a test is random, so the order is that of the paths and bodies.
  const texts = received.map(({ path, headers, body }) => {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
    const { type } = JSON.parse(body) as { type?: string };
    const head =
      type === 'test' || body.includes('"Test of')
        ? lines.join('\n').replace(/msg_\w+/, 'msg_<random>')
        : lines.join('\n');
    return { path, body, text: `=== ${path}\n${head}\n\n${JSON.stringify(JSON.parse(body), null, 2)}\n` };
  });
  const inOrder = texts.sort((a, b) => (a.path + a.body < b.path + b.body ? -1 : 1));
  return inOrder.map(({ text: shown }) => shown).join('\n');
}

/** The spans and points of the metric, without their times and random ids. Several may be exported at once, so they are put in order. */
function exportsText({ spans, points }: Collector): string {
  const shown = [
    ...spans.map(({ name, kind, status, attributes, resource }) => ({ name, kind, status, attributes, resource })),
    ...points.map(({ name, unit, temporality, attributes, count }) => ({ name, unit, temporality, attributes, count })),
  ];
  return shown
    .map((one) => JSON.stringify(one, null, 2).replace(/(?<="service.instance.id": ")[^"]+/, '<random>'))
    .sort()
    .join('\n');
}

function filesText(folder: string): string {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  const lines = names.map((name) => {
    const stats = statSync(join(folder, name));
    return `${(stats.mode & 0o777).toString(8)} ${name}${stats.isDirectory() ? '/' : ''}`;
  });
  return `${lines.join('\n')}\n`;
}

/** The golden files of one run. */
class Golden {
  readonly #folder: string;
  readonly #masks: readonly Mask[];
  readonly #texts = new Map<string, string>();

  constructor(folder: string, all: readonly Mask[]) {
    this.#folder = folder;
    this.#masks = all;
  }

  /** `more`: masks that hold in this file only. */
  add(name: string, whole: string, more: readonly Mask[] = []): void {
    this.#texts.set(name, masked(whole, [...this.#masks, ...more]));
  }

  /** Compares all files, so that one run shows every difference. */
  async compare(): Promise<void> {
    const failures: unknown[] = [];
    for (const [name, whole] of this.#texts) {
      const file = join('..', '..', 'fixtures', 'golden', 'expected', this.#folder, name);
      await expect(whole, name)
        .toMatchFileSnapshot(file)
        .catch((error: unknown) => failures.push(error));
    }
    const [first] = failures;
    if (failures.length === 1) throw first;
    if (failures.length > 1) throw new AggregateError(failures, `${failures.length} golden files differ`);
  }
}
