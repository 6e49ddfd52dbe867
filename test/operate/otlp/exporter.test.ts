import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { installCommand } from '../../../gateway/operate/otlp/exporter.ts';
import { startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { freeUrl, refusedUrl } from '../../support/gateway.ts';
import { run } from '../../support/process.ts';
import { ask, get } from '../../support/rawClient.ts';
import { singleValueOf } from '../../support/response.ts';
import { startCollector } from './collector.ts';
import { type ExportingGateway, startExporting } from './exporting.ts';

const exported = 'version_gateway_otlp_exported_spans_total';
const dropped = 'version_gateway_otlp_dropped_spans_total';
const spansPerRequest = 2;

afterEach(() => {
  vi.unstubAllEnvs();
});

async function send(gateway: ExportingGateway, requests: number): Promise<void> {
  for (let sent = 0; sent < requests; sent += 1) expect((await ask(gateway.port, get('/v1/x'))).status).toBe(200);
}

async function start(otlp: string, telemetry: object = {}) {
  const backend = await startBackend();
  const gateway = await startExporting({ '/v1': backend.url }, { otlp, sample: '100%', ...telemetry });
  return { backend, gateway };
}

describe('a collector that is down', () => {
  it('causes a loss of spans, which is counted, and one line each when it fails and when it returns', async () => {
    // Less than the pause before the exporter tries again.
    vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '200');
    const url = await freeUrl();
    const { gateway } = await start(url);
    for (const requests of [3, 6]) {
      await send(gateway, 3);
      await eventually(async () => expect(await gateway.metric(dropped)).toBe(requests * spansPerRequest));
    }
    expect(gateway.notices).toEqual([
      expect.stringMatching(
        /^telemetry: http:\/\/127\.0\.0\.1:\d+ does not accept spans: connect ECONNREFUSED 127\.0\.0\.1:\d+\.$/,
      ),
    ]);
    const collector = await startCollector(() => false, Number(new URL(url).port));
    // The thread pauses after the failure. The end of the pause is not under control of the test.
    await send(gateway, 1);
    await eventually(() => expect(collector.spans).toHaveLength(spansPerRequest));
    await eventually(() => expect(gateway.notices).toHaveLength(2));
    expect(gateway.notices[1]).toBe('telemetry: spans are exported again; 12 spans were dropped so far.');
    expect([await gateway.metric(exported), await gateway.metric(dropped)]).toEqual([2, 12]);
  });

  it('does not delay the end of the gateway for long', async () => {
    const { gateway } = await start(await refusedUrl());
    await send(gateway, 3);
    const begun = performance.now();
    await gateway.close();
    // Less than the 10 s for which an export is tried again.
    expect(performance.now() - begun).toBeLessThan(9_000);
    expect(gateway.notices).toEqual(['telemetry: 6 spans were not exported in time.']);
  });
});

it('closes while its thread fails because a package is missing', async () => {
  const program = `
    import { snapshotFrom } from './gateway/config/load.ts';
    import { OtlpExporter } from './gateway/operate/otlp/exporter.ts';
    const exporter = new OtlpExporter(console.log);
    await exporter.configure(snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:1' }, telemetry: { otlp: 'http://127.0.0.1:1' } }));
    await exporter.close();
    console.log('closed');
  `;
  const missing = ['--import', './test/operate/otlp/missingPackages.ts'];
  const { child, output } = run(process.execPath, [...missing, '-e', program]);
  expect(await once(child, 'close')).toEqual([0, null]);
  expect(output()).toMatch(/^closed$/m);
});

it('a thread that ends is replaced, and the spans that it had are counted as dropped', async () => {
  const workers: Worker[] = [];
  const onWorker = (message: unknown): unknown => workers.push((message as { worker: Worker }).worker);
  subscribe('worker_threads', onWorker);
  onTestFinished(() => void unsubscribe('worker_threads', onWorker));
  let answers = false;
  const collector = await startCollector(() => !answers);
  const { gateway } = await start(collector.url);
  await send(gateway, 1);
  await eventually(() => expect(collector.exports).toHaveLength(1));
  await workers.at(-1)?.terminate();
  await eventually(async () => expect(await gateway.metric(dropped)).toBe(spansPerRequest));
  expect(gateway.notices).toEqual([
    expect.stringMatching(/^telemetry: the thread that exports spans ended: exit code \d\. {2}A new one is started\.$/),
  ]);
  answers = true;
  await send(gateway, 1);
  await eventually(async () => expect(await gateway.metric(exported)).toBe(spansPerRequest));
  expect(workers).toHaveLength(2);
});

describe('a collector that is overloaded', () => {
  it.each([429, 503])('and answers %i gets the spans again after its Retry-After', async (status) => {
    let refusals = 1;
    const collector = await startCollector((res) => {
      if (refusals === 0) return false;
      refusals -= 1;
      res.writeHead(status, { 'Retry-After': '1' }).end();
      return true;
    });
    const { gateway } = await start(collector.url);
    await send(gateway, 2);
    await eventually(() => expect(collector.spans).toHaveLength(2 * spansPerRequest));
    const [first, second] = collector.exports.map(({ at }) => at);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThan(990);
    expect([await gateway.metric(dropped), gateway.notices]).toEqual([0, []]);
  });

  it('and does not answer leaves only a limited number of spans waiting', async () => {
    vi.stubEnv('OTEL_BSP_MAX_QUEUE_SIZE', '10');
    const collector = await startCollector(() => true);
    const { gateway } = await start(collector.url);
    await send(gateway, 12);
    await eventually(async () => expect(await gateway.metric(dropped)).toBe(12 * spansPerRequest - 10));
    await eventually(() => expect(collector.exports).toHaveLength(1));
    const begun = performance.now();
    await gateway.close();
    expect(performance.now() - begun).toBeLessThan(9_000);
    expect(gateway.notices).toEqual(['telemetry: 10 spans were not exported in time.']);
  });
});

it('spans that the collector rejects are not sent again', async () => {
  const collector = await startCollector((res) => {
    res.writeHead(401, 'Unauthorized').end('no token');
    return true;
  });
  const { gateway } = await start(collector.url);
  await send(gateway, 1);
  await eventually(async () => expect(await gateway.metric(dropped)).toBe(spansPerRequest));
  expect(collector.exports).toHaveLength(1);
  expect(gateway.notices).toEqual([`telemetry: ${collector.url} does not accept spans: status 401, Unauthorized.`]);
});

it('a collector without metrics still gets spans, and the operator is told once', async () => {
  vi.stubEnv('OTEL_METRIC_EXPORT_INTERVAL', '100');
  const collector = await startCollector((res, path) => {
    if (path === '/v1/traces') return false;
    res.writeHead(404, 'Not Found').end();
    return true;
  });
  const { gateway } = await start(collector.url, { metrics: true });
  await send(gateway, 1);
  await eventually(() => expect(collector.spans).toHaveLength(spansPerRequest));
  await gateway.reload({ otlp: collector.url, sample: '50%', metrics: true });
  await eventually(() => expect(gateway.notices).not.toEqual([]));
  expect(gateway.notices).toEqual([`telemetry: ${collector.url} does not accept metrics: status 404, Not Found.`]);
});

describe('a reload', () => {
  it('turns the export on, moves it, and turns it off', async () => {
    const [first, second] = [await startCollector(), await startCollector()];
    const backend = await startBackend();
    const gateway = await startExporting({ '/v1': backend.url }, undefined);
    const flags = () => singleValueOf(backend.requests.at(-1) ?? { fields: [] }, 'traceparent')?.slice(-2);
    await send(gateway, 1);
    expect([flags(), await gateway.metric(exported)]).toEqual(['01', Number.NaN]);
    await gateway.reload({ otlp: first.url, sample: '100%' });
    await send(gateway, 1);
    await eventually(() => expect(first.spans).toHaveLength(spansPerRequest));
    await gateway.reload({ otlp: `${second.url}/otlp/`, sample: '100%' });
    await send(gateway, 1);
    await eventually(() => expect(second.spans).toHaveLength(spansPerRequest));
    expect(second.exports.map(({ path }) => path)).toEqual(['/otlp/v1/traces']);
    await gateway.reload({ otlp: second.url, sample: '0%' });
    await send(gateway, 1);
    expect(flags()).toBe('00');
    await gateway.reload(undefined);
    await send(gateway, 1);
    expect(flags()).toBe('01');
    await gateway.close();
    expect([first.spans, second.spans].map(({ length }) => length)).toEqual([spansPerRequest, spansPerRequest]);
    expect(gateway.notices).toEqual([]);
  });

  it('moves the export away from a collector that is down, without the pause after a failure', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '200');
    const collector = await startCollector();
    const { gateway } = await start(await refusedUrl());
    await send(gateway, 1);
    await eventually(() => expect(gateway.notices).toHaveLength(1));
    await gateway.reload({ otlp: collector.url, sample: '100%' });
    await send(gateway, 1);
    await eventually(() => expect(collector.spans).toHaveLength(spansPerRequest));
  });
});

it('the variables of OpenTelemetry set headers, compression and the resource', async () => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'authorization=Bearer%20s3cret,x-tenant=bar');
  vi.stubEnv('OTEL_SERVICE_NAME', 'edge');
  vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment.name=test,service.name=other,team=a%20b');
  const collector = await startCollector();
  const { gateway } = await start(collector.url);
  await send(gateway, 1);
  await eventually(() => expect(collector.spans).toHaveLength(spansPerRequest));
  expect(collector.exports[0]?.headers).toMatchObject({ authorization: 'Bearer s3cret', 'x-tenant': 'bar' });
  expect(collector.spans[0]?.resource).toEqual({
    'service.name': 'edge',
    'service.version': '0.1.0',
    'service.instance.id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    'deployment.environment.name': 'test',
    team: 'a b',
  });
});

it('a variable with an unusable value is reported', async () => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', 'soon');
  const collector = await startCollector();
  const { gateway } = await start(collector.url);
  await eventually(() => expect(gateway.notices.join()).toMatch(/^telemetry: .*OTEL_EXPORTER_OTLP_TIMEOUT/));
});

it('OTEL_SDK_DISABLED leaves everything as without telemetry', async () => {
  const backend = await startBackend();
  const telemetry = { otlp: await refusedUrl(), sample: '0%' };
  const gateway = await startExporting({ '/v1': backend.url }, telemetry, {}, { OTEL_SDK_DISABLED: 'true' });
  await send(gateway, 1);
  expect(singleValueOf(backend.request, 'traceparent')).toMatch(/-01$/);
  expect(await gateway.metric(exported)).toBeNaN();
});

it('the command that installs the optional packages names the versions that are tested', () => {
  const { devDependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
    'devDependencies' | 'peerDependencies',
    Readonly<Record<string, string>>
  >;
  const optional = Object.keys(peerDependencies).filter((name) => name.startsWith('@opentelemetry/'));
  const packages = installCommand.split(' ').slice(2);
  expect(packages.toSorted()).toEqual(optional.map((name) => `${name}@${devDependencies[name]}`).toSorted());
  expect(readFileSync('docs/observability.md', 'utf8')).toContain(installCommand);
});
