import { describe, expect, it } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { ask, serveDiscovery, snapshotWith } from './server.ts';

const type = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"';

it.each(['GET', 'HEAD'])('%s sends the type of RFC 9727 and a link to itself', async (method) => {
  const { status, headers } = await ask(await serveDiscovery(), '/.well-known/api-catalog', {}, method);
  expect([status, headers['content-type']]).toEqual([200, type]);
  expect(headers['link']).toBe('</.well-known/api-catalog>; rel="api-catalog"');
});

it('has a context for every version that is not retired', async () => {
  const served = await serveDiscovery(snapshotWith({ base_path: '/api', public_url: 'https://h.example' }));
  const { body } = await ask(served, '/.well-known/api-catalog');
  const doc = [{ href: 'https://h.example/api', type: 'text/html' }];
  expect(JSON.parse(body)).toEqual({
    linkset: [
      {
        anchor: 'https://h.example/api/v1',
        'service-desc': [{ href: 'https://h.example/api/contracts/v1.yaml', type: 'application/yaml' }],
        'service-doc': doc,
        'successor-version': [{ href: 'https://h.example/api/v2' }],
        deprecation: [{ href: 'https://example.com/v1-end' }],
        sunset: [{ href: 'https://example.com/v1-end' }],
      },
      {
        anchor: 'https://h.example/api/v2',
        'service-desc': [{ href: 'https://h.example/api/contracts/v2.json', type: 'application/json' }],
        'service-doc': doc,
        'successor-version': [{ href: 'https://h.example/api/v3' }],
      },
      {
        anchor: 'https://h.example/api/v3',
        'service-doc': doc,
        'successor-version': [{ href: 'https://h.example/api/v4' }],
      },
      { anchor: 'https://h.example/api/v4', 'service-doc': doc },
    ],
  });
});

describe('a version that an adapter serves', () => {
  const snapshot = (contract: unknown = 'services/v1/contract/openapi.yaml', mode = 'serve') => {
    const routes = {
      'GET /drinks/{id}': { to: 'GET /cocktails/{id}' },
      'GET /health': { to: 'GET /health' },
      'GET /legacy-search': { gone: 'v2 has <no> search' },
    };
    const upstream = 'http://127.0.0.1:3001';
    return snapshotFrom({
      routes: {
        '/v1': { upstream, contract, adapter: { from: '/v2', mode, routes } },
        '/v2': { upstream, contract: 'services/v2/contract/openapi.yaml' },
      },
    });
  };
  const v1Of = async (given: Snapshot) => JSON.parse((await ask(await serveDiscovery(given), '/')).body).versions[0];

  it('lists the routes that clients have lost, and why', async () => {
    expect(await v1Of(snapshot())).toMatchObject({
      served_from: { name: 'v2', url: '/v2' },
      unavailable: [
        { route: 'GET /cocktails' },
        { route: 'POST /cocktails' },
        { route: 'GET /ingredients' },
        { route: 'GET /legacy-search', reason: 'v2 has <no> search' },
      ],
    });
    const { body } = await ask(await serveDiscovery(snapshot()), '/', { accept: 'text/html' });
    expect(body).toContain('v1 is served from v2 through an adapter.');
    expect(body).toContain('<li><code>GET /legacy-search</code><small>v2 has &#60;no&#62; search</small></li>');
  });

  it('names no route of a contract that is not published, and nothing before the adapter serves', async () => {
    const hidden = await v1Of(snapshot({ file: 'services/v1/contract/openapi.yaml', publish: false }));
    expect([hidden.served_from.name, hidden.unavailable]).toEqual(['v2', undefined]);
    const compared = await v1Of(snapshot(undefined, 'shadow'));
    expect([compared.served_from, compared.unavailable]).toEqual([undefined, undefined]);
  });
});

it('refers only to documents that are served', async () => {
  const served = await serveDiscovery();
  const { linkset } = JSON.parse((await ask(served, '/.well-known/api-catalog')).body);
  const targets = linkset.flatMap((context: Record<string, { href: string; type: string }[]>) => [
    ...(context['service-desc'] ?? []),
    ...(context['service-doc'] ?? []),
  ]);
  expect(targets).toHaveLength(6);
  for (const { href, type: expected } of targets) {
    const response = await fetch(new URL(href, `${served.url}/.well-known/api-catalog`), {
      headers: { accept: expected },
    });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, expect.stringContaining(expected)]);
  }
});
