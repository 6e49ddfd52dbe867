import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { rootBase } from '../../../gateway/config/api.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { overviewOf } from '../../../gateway/operate/discovery/overview.ts';
import { axisOf, timeline } from '../../../gateway/operate/discovery/page.ts';
import { html } from '../../../gateway/shared/markup.ts';
import { ask, serveDiscovery, snapshotWith } from './server.ts';

const accept = 'text/html';

it('names each stage, with dates and distances', async () => {
  const { body } = await ask(await serveDiscovery(), '/', { accept, host: 'api.example' });
  expect(body).toContain('<title>API versions</title>');
  expect(body.match(/class="badge \w+">[^<]+/g)).toEqual([
    'class="badge active">Active',
    'class="badge newest">Newest',
    'class="badge announced">Deprecation announced',
    'class="badge deprecated">Deprecated',
    'class="badge sunset">Past its sunset',
    'class="badge retired">Retired',
  ]);
  expect(body).toContain(
    '<time datetime="2028-06-30T00:00:00Z">30 Jun 2028</time>\n<small><span>586 days left</span></small>',
  );
  expect(body).toContain(
    '<time datetime="2026-08-31T23:59:59Z">31 Aug 2026</time>\n<small><span>23:59:59 UTC ·</span> <span>81 days ago</span></small>',
  );
});

it('allows exactly its own style sheet and nothing else', async () => {
  const { body, headers } = await ask(await serveDiscovery(), '/', { accept });
  const style = /<style>([\s\S]*?)<\/style>/.exec(body)?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  expect(headers['content-security-policy']).toBe(
    `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  expect(body).not.toMatch(/<script|style="|\son\w+=/);
});

it('names the host of public_url', async () => {
  const served = await serveDiscovery(snapshotWith({ public_url: 'https://api.example' }));
  const { body } = await ask(served, '/', { accept, host: 'evil.example' });
  expect(body).toContain('<title>API versions · api.example</title>');
  expect(body).toContain('<code>curl https://api.example/</code>');
});

it('draws no timeline if no version has a date', async () => {
  const served = await serveDiscovery(snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:3001' } }));
  const { body } = await ask(served, '/', { accept });
  expect(body).toContain('1 version is in service.');
  expect(body).not.toMatch(/<svg|<time|<dl/);
});

it('reports that no version is in service', async () => {
  const served = await serveDiscovery(snapshotFrom({ routes: { '/v1': { retired: true } } }));
  expect((await ask(served, '/', { accept })).body).toContain('No version is in service.');
});

it('escapes the values of routes.yaml', async () => {
  const served = await serveDiscovery(snapshotWith({ base_path: "/a&'b" }));
  const { body } = await ask(served, "/a&'b", { accept, host: 'h' });
  expect(body).toContain('<code class="url">/a&#38;&#39;b/v1</code>');
  expect(body).not.toContain("/a&'b");
});

it('escapes every part of a template, and no markup twice', () => {
  const inner = html`<b title="${'"&'}">${'<i>'}</b>`;
  expect(html`<p>${[inner, undefined, 1, '>']}</p>`.toString()).toBe(
    '<p><b title="&#34;&#38;">&#60;i&#62;</b>1&#62;</p>',
  );
});

const now = Date.parse('2026-01-01T00:00:00Z');
const upstream = 'http://127.0.0.1:3001';

// Dates lie between 2024 (at 15 %) and 2028 (at 85 %): a year is 17.5 %, and today is at 50 %.
const span = { upstream, deprecation: '2024-01-01', sunset: '2028-01-01' };

describe('the timeline of a version', () => {
  it.each([
    ['no dates: in service to the end', { upstream }, ['in-service 0–100']],
    ['a deprecation: two parts', { upstream, deprecation: '2026-01-01' }, ['in-service 0–50', 'leaving 50–100']],
    ['in service after its sunset', span, ['in-service 0–15', 'leaving 15–85', 'overdue 85–100']],
    ['gone at its sunset', { ...span, after_sunset: 'gone' }, ['in-service 0–15', 'leaving 15–85']],
    ['retired: not later than today', { ...span, retired: true }, ['in-service 0–15', 'leaving 15–50']],
    ['retired without dates', { retired: true }, ['in-service 0–50']],
  ])('%s', (_name, route, expected) => {
    const snapshot = snapshotFrom({ routes: { '/v1': route, '/v2': { ...span, upstream }, '/v3': upstream } });
    const overview = overviewOf(snapshot, rootBase, now);
    const [version, axis] = [overview.versions[0], axisOf(overview)];
    if (!version || !axis) throw new Error('there is no version or no date');
    const bars = timeline(version, axis, now)
      .toString()
      .matchAll(/class="([\w-]+)" x="([\d.]+)%" y="[\d.]+" width="([\d.]+)%"/g);
    const parts = [...bars].map(
      ([, kind, x, width]) => `${kind} ${Math.round(Number(x))}–${Math.round(Number(x) + Number(width))}`,
    );
    expect(parts).toEqual(['track 0–100', ...expected]);
  });
});
