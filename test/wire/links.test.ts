import LinkHeader from 'http-link-header';
import { describe, expect, it } from 'vitest';
import { answer, startBackend } from '../support/backend.ts';
import { startTestGateway } from '../support/gateway.ts';
import { ask, get } from '../support/rawClient.ts';
import { type RawResponse, valuesOf } from '../support/response.ts';

const now = '2026-08-01T00:00:00Z';
const deprecated = { deprecation: '2026-06-30', sunset: '2028-06-30' };

interface Setup {
  readonly v1?: Record<string, unknown>;
  readonly others?: Record<string, unknown>;
  readonly own?: readonly string[];
  readonly base?: string;
}

async function linksOf(target: string, { v1 = {}, others, own = [], base }: Setup = {}): Promise<RawResponse> {
  const backend = await startBackend(answer(200, '', ...own));
  const gateway = await startTestGateway(
    {
      '/v1': { upstream: backend.url, prefix: 'forward', ...deprecated, ...v1 },
      ...(others ?? { '/v2': backend.url }),
    },
    base === undefined ? { now } : { now, gateway: { base_path: base } },
  );
  return ask(gateway.port, get(target));
}

/** RFC 8288 §3: relation → target, over all lines. */
function relations(response: RawResponse): [rel: string, uri: string][] {
  return LinkHeader.parse(valuesOf(response, 'link').join(', ')).refs.map(({ rel, uri }) => [rel, uri]);
}

const successor = 'rel="successor-version"';

describe('the successor link', () => {
  it.each([
    ['/v1/things/7', '</v2/things/7>'],
    ['/v1/things/7?page=2&secret=x', '</v2/things/7>'],
    ['/v1/a%2fb', '</v2/a%2fb>'],
    ['/v1/things/', '</v2/things/>'],
    ['/v1/v1/x', '</v2/v1/x>'],
  ])('of %s is %s', async (target, uri) => {
    expect(valuesOf(await linksOf(target), 'link')).toEqual([`${uri}; ${successor}`]);
  });

  it('of the path of the version is the path of the next one', async () => {
    for (const target of ['/v1', '/v1?x']) {
      const [link] = valuesOf(await linksOf(target), 'link');
      expect([`</v2>; ${successor}`, `</v2/>; ${successor}`]).toContain(link);
    }
  });

  it('is below the base path', async () => {
    const response = await linksOf('/api/v1/x', { base: '/api' });
    expect(valuesOf(response, 'link')).toEqual([`</api/v2/x>; ${successor}`]);
  });

  // RFC 8288 §3: a `>` in the target would end it early.
  it('cannot be ended early by the path', async () => {
    const response = await linksOf('/v1/x>;rel="next",<http://evil.test/');
    const links = valuesOf(response, 'link').filter((line) => line.includes('successor-version'));
    for (const link of links) expect(link).toMatch(/^<[^<>"]*>; rel="successor-version"$/);
    expect(relations(response).map(([rel]) => rel)).not.toContain('next');
  });

  it.each([
    ['/v1/drinks/7', ['</v2/cocktails/7>']],
    ['/v1/drinks/a%20b', ['</v2/cocktails/a%20b>']],
    ['/v1/drinks', ['</v2/drinks>']],
    ['/v1/legacy-search', []],
    ['/v1/legacy-search?q=x', []],
  ])('of %s follows moved', async (target, uris) => {
    const moved = { '/drinks/{id}': '/cocktails/{id}', '/legacy-search': null };
    const response = await linksOf(target, { v1: { moved } });
    expect(valuesOf(response, 'link')).toEqual(uris.map((uri) => `${uri}; ${successor}`));
  });

  it('is the configured successor', async () => {
    const backend = await startBackend();
    const others = { '/v2': backend.url, '/v3': backend.url };
    const response = await linksOf('/v1/x', { v1: { successor: '/v3' }, others });
    expect(valuesOf(response, 'link')).toEqual([`</v3/x>; ${successor}`]);
  });

  it('skips a retired major', async () => {
    const backend = await startBackend();
    const others = { '/v2': { retired: true, ...deprecated }, '/v3': backend.url };
    expect(valuesOf(await linksOf('/v1/x', { others }), 'link')).toEqual([`</v3/x>; ${successor}`]);
  });

  it('is missing without a later major', async () => {
    expect(valuesOf(await linksOf('/v1/x', { others: {} }), 'link')).toEqual([]);
  });
});

describe('the links of the backend', () => {
  it.each([
    ['one line', ['Link: </a>; rel="next"']],
    ['two lines', ['Link: </a>; rel="next"', 'Link: </b>; rel=prev; title="x, y; z"']],
    ['two links in a line', ['Link: </a>; rel="next", </b>; rel="prev"']],
    ['commas in quotes and targets', ['Link: <https://other.test/a,b>; rel="next"; title="a, \\"b\\""']],
    ['its own successor', ['Link: </elsewhere>; rel="successor-version"']],
    ['obs-text', ['Link: </a>; rel="next"; title="caf\xe9"']],
    ['an invalid Link', ['Link: not a link at all']],
  ])('come first, unchanged: %s', async (_name, own) => {
    const response = await linksOf('/v1/x', { own });
    const lines = response.lines.filter((line) => /^link:/i.test(line));
    expect(lines).toEqual([...own, `Link: </v2/x>; ${successor}`]);
  });
});

describe('other links', () => {
  it('rel="latest-version" is the newest major in service, if it is not the successor', async () => {
    const backend = await startBackend();
    const others = { '/v2': backend.url, '/v3': backend.url, '/v4': { retired: true, ...deprecated } };
    const response = await linksOf('/v1/x?q', { others });
    expect(valuesOf(response, 'link')).toEqual([`</v2/x>; ${successor}`, '</v3/x>; rel="latest-version"']);
  });

  it('rel="latest-version" follows moved, major by major', async () => {
    const backend = await startBackend();
    const setup = (moved: string | null) => ({
      v1: { moved: { '/a/{id}': '/b/{id}' } },
      others: { '/v2': { upstream: backend.url, moved: { '/b/{id}': moved } }, '/v3': backend.url },
    });
    expect(relations(await linksOf('/v1/a/7', setup('/c/{id}')))).toEqual([
      ['successor-version', '/v2/b/7'],
      ['latest-version', '/v3/c/7'],
    ]);
    expect(relations(await linksOf('/v1/a/7', setup(null)))).toEqual([['successor-version', '/v2/b/7']]);
  });

  // RFC 9745 §3, RFC 8594 §6.
  it('info has rel="deprecation", and also rel="sunset" if there is a sunset', async () => {
    const info = 'https://example.com/v1-end';
    const both = relations(await linksOf('/v1/x', { v1: { info } }));
    expect(both).toEqual(
      expect.arrayContaining([
        ['deprecation', info],
        ['sunset', info],
        ['successor-version', '/v2/x'],
      ]),
    );
    const backend = await startBackend();
    const gateway = await startTestGateway(
      { '/v1': { upstream: backend.url, deprecation: '2026-06-30', info }, '/v2': backend.url },
      { now },
    );
    const only = relations(await ask(gateway.port, get('/v1/x'))).map(([rel]) => rel);
    expect(only).toContain('deprecation');
    expect(only).not.toContain('sunset');
  });
});
