import { expect, it } from 'vitest';
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
