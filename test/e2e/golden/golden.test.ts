import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'vitest';
import { startReceiver } from '../../operate/notify/receiver.ts';
import { type Collector, startCollector } from '../../operate/otlp/collector.ts';
import { eventually } from '../../support/eventually.ts';
import { refusedUrl } from '../../support/gateway.ts';
import type { Admin } from './admin.ts';
import { receivedText, startGoldenBackend } from './backends.ts';
import {
  filesText,
  type GoldenGateway,
  type GoldenSettings,
  ledgerHasEverything,
  sortedNotices,
  startGolden,
} from './goldenGateway.ts';
import { identityText } from './identity.ts';
import { ledgerText } from './ledgerText.ts';
import {
  bodyFields,
  brownoutInDigest,
  columnWidths,
  feedTags,
  ledgerIds,
  prettyTimes,
  randomSalt,
  rates,
  signatures,
} from './masks.ts';
import { metricsText } from './metricsText.ts';
import { discoveryRequests, requests, rootRequests } from './requests.ts';
import { seedLedger } from './seed.ts';

// What a gateway with every feature answers, writes, logs and sends, and what the commands print. If a change is meant to change any of
// it, write the golden files anew, and read their diff before you commit it: npx vitest run test/e2e/golden -u

it('a file with every feature means what it meant before', async () => {
  const [v2, v3, v4, v6, v7, v9] = await Promise.all(Array.from({ length: 6 }, startGoldenBackend));
  if (!v2 || !v3 || !v4 || !v6 || !v7 || !v9) throw new Error('a backend is missing');
  const backends = { v2, v3, v4, v6, v7, v9 };
  const hook = await startReceiver();
  const collector = await startCollector();
  // The address in the files.
  const refused = await refusedUrl('127.0.0.1');
  const urls = {
    V2: v2.url,
    V3: v3.url,
    V4: v4.url,
    V6: v6.url,
    V7: v7.url,
    V9: v9.url,
    REFUSED: refused,
    REFUSED_TOO: await refusedUrl('127.0.0.1'),
    REFUSED_TLS: refused.replace('http:', 'https:'),
    HOOK: new URL(hook.url).origin,
    OTLP: collector.url,
  };
  const seed: GoldenSettings['seed'] = async (store, tagOf) => seedLedger(store, await tagOf('key-of-shop'));
  const gateway = await startGolden('every-feature', { urls, token: 'golden-admin-token', seed });
  const { folder, admin, corpus } = gateway;
  await eventually(async () => {
    const { brownouts, freezes, versions } = (await admin.json('/api/status')) as Decisions;
    const states = [brownouts[0]?.state, freezes[0]?.state];
    const probed = versions.find(({ version }) => version === 'v7')?.targets ?? [];
    if (probed.some(({ reachable }) => reachable === null)) throw new Error('not probed yet');
    // Each is decided once. Any decision ends the wait, so that a wrong one is seen at once.
    if (states.includes('planned') || states.includes('approved') || states.includes('reading'))
      throw new Error(String(states));
  });

  const responses = await requests(corpus);
  // Both are found by timers, and appear in the status from then on.
  await gateway.printed(/new client of \/v4/);
  await gateway.printed(/no target of \/v8/);
  await ledgerHasEverything(gateway, 'GET /api/v9/internal/last', 'last-below-versions');
  const discovery = await discoveryRequests(corpus);
  await ledgerHasEverything(gateway, 'GET /api/v9/internal/last', 'last-of-all');

  await eventually(async () => {
    const { recent } = ((await admin.json('/api/status')) as { notify: { recent: { state: string }[] } }).notify;
    if (recent.length < expectedNotifications || recent.some(({ state }) => state === 'waiting'))
      throw new Error(`not sent yet: ${JSON.stringify(recent)}`);
  });

  const golden = await gateway.golden();
  golden.add('identity.txt', identityText(folder, Object.keys(urls)));
  golden.add('responses.txt', responses);
  golden.add('discovery.txt', discovery, [feedTags]);
  golden.add('backends.txt', receivedText(backends));

  golden.add('status.txt', await admin.jsonText('GET /api/status'), [rates]);
  golden.add('metrics.txt', metricsText(golden.masked(await admin.text('GET /metrics'))));
  golden.add('usage.txt', await admin.jsonTexts(usageQuestions));
  golden.add('usage.csv', await admin.text('GET /api/usage.csv?by=client&version=v4'));
  golden.add('retirement.txt', await admin.jsonTexts(retirementQuestions));
  golden.add('features.txt', await admin.jsonTexts(featureQuestions));
  const edited = readFileSync(join(folder, 'routes.yaml'), 'utf8');
  golden.add(
    'edits.txt',
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
  const texts: string[] = [];
  for (const args of commands(gateway.adminAddress)) texts.push((await gateway.command(...args)).text);
  golden.add('commands.txt', texts.join('\n'), [columnWidths]);

  const code = await gateway.stop();
  golden.add('console.txt', consoleText(gateway, code));
  golden.add('notifications.txt', notificationsText(hook.received), [bodyFields, signatures, brownoutInDigest]);
  golden.add('telemetry.txt', exportsText(collector));
  golden.add('access-log.txt', readFileSync(join(folder, 'access.log'), 'utf8'));
  golden.add('accepted.json', readFileSync(join(folder, 'data', 'accepted.json'), 'utf8'));
  golden.add('ledger.txt', ledgerText(join(folder, 'data', 'usage.db')), [ledgerIds]);
  golden.add('files.txt', filesText(folder));
  await golden.compare();
});

it('a small file at the root means what it meant before', async () => {
  const [v1, v2, v10] = await Promise.all(Array.from({ length: 3 }, startGoldenBackend));
  if (!v1 || !v2 || !v10) throw new Error('a backend is missing');
  const urls = { V1: v1.url, V2: v2.url, V10: v10.url };
  const gateway = await startGolden('root', { urls });
  const { folder, admin, corpus } = gateway;
  const responses = await rootRequests(corpus);
  await ledgerHasEverything(gateway, 'GET /v2/last', 'last-of-all');

  const golden = await gateway.golden();
  golden.add('identity.txt', identityText(folder, Object.keys(urls)));
  golden.add('responses.txt', responses, [feedTags]);
  golden.add('backends.txt', receivedText({ v1, v2, v10 }));
  golden.add('status.txt', await admin.jsonText('GET /api/status'), [rates]);
  golden.add('metrics.txt', metricsText(golden.masked(await admin.text('GET /metrics'))));
  golden.add('usage.txt', await admin.jsonTexts(['GET /api/usage', 'GET /api/usage?by=client&version=v1']));
  golden.add(
    'retirement.txt',
    await admin.jsonTexts(['GET /api/versions/v1/retirement', 'GET /api/versions/v0/retirement']),
  );
  const asking = ['--admin', gateway.adminAddress];
  const texts: string[] = [];
  for (const args of [
    ['check'],
    ['status', ...asking],
    ['plan', '--retire', '/v1', ...asking],
    ['can-retire', '/v1', ...asking],
  ])
    texts.push((await gateway.command(...args)).text);
  golden.add('commands.txt', texts.join('\n'), [columnWidths]);
  golden.add('console.txt', consoleText(gateway, await gateway.stop()), [prettyTimes]);
  golden.add('accepted.json', readFileSync(join(folder, 'data', 'accepted.json'), 'utf8'));
  golden.add('ledger.txt', ledgerText(join(folder, 'data', 'usage.db')), [ledgerIds, randomSalt]);
  golden.add('files.txt', filesText(folder));
  await golden.compare();
});

function consoleText({ stdout, stderr }: GoldenGateway, code: unknown): string {
  return `${stdout()}(exit code ${code})\n\n=== stderr, sorted\n${sortedNotices(stderr())}`;
}

interface Decisions {
  readonly brownouts: readonly { readonly state: string }[];
  readonly freezes: readonly { readonly state: string }[];
  readonly versions: readonly {
    readonly version: string;
    readonly targets: readonly { readonly reachable: boolean | null }[];
  }[];
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
    .map((one) => `${one}\n`)
    .join('');
}
