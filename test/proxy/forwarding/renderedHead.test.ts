import { expect, it } from 'vitest';
import { parseResponseHead } from '../../../gateway/http1/responseHead.ts';
import { renderHead } from '../../../gateway/proxy/forwarding/renderedHead.ts';
import {
  type LifecycleFields,
  type ResponsePlan,
  responseFields,
} from '../../../gateway/proxy/forwarding/responseFields.ts';
import { randomHeads } from '../../http1/responseHeads.ts';
import { Random } from '../../support/random.ts';

const sunset = 'Fri, 30 Jun 2028 23:59:59 GMT';
const deprecatedAt = Date.parse('2026-06-30T00:00:00Z');
const urlRewriting = {
  removedPrefix: '/v1',
  basePath: '',
  versionBase: '',
  isVersion: (segment: string) => segment === 'v1',
};
const links = [
  [],
  ['</v2/x>; rel="successor-version"'],
  ['</v2/y>; rel="successor-version"', '</v3/y>; rel="latest-version"'],
];

function randomLifecycle(random: Random): LifecycleFields | undefined {
  if (random.below(3) === 0) return undefined;
  return {
    deprecation: random.of(['@1782777600', '@1782777601', 'none']).replace('none', '') || undefined,
    sunset: random.below(2) === 0 ? sunset : undefined,
    deprecatedAt: random.below(2) === 0 ? deprecatedAt : undefined,
    links: random.of(links),
  };
}

const variations = [undefined, { vary: ['x-api-key'], isPrivate: false }, { vary: [], isPrivate: true }];

function randomPlan(random: Random): ResponsePlan {
  return {
    urlRewriting: random.below(2) === 0 ? urlRewriting : undefined,
    authorities: { target: 'backend:3001', client: random.of(['a.test', 'b.test']), public: '' },
    lifecycle: randomLifecycle(random),
    cacheVariation: variations[random.below(variations.length)],
    pseudonym: random.of(['one', 'two']),
    trailers: random.below(2) === 0,
    hsts: random.below(2) === 0,
  };
}

it('renders the same fields as responseFields, for random heads and plans', () => {
  const random = new Random(1);
  const chunked = 'HTTP/1.1 200 OK\r\nTrailer: X-T\r\nTransfer-Encoding: chunked\r\n\r\n';
  const heads = [chunked, ...randomHeads(random, 100, { specials: false })].map(parseResponseHead);
  let rendered = 0;
  for (let count = 0; count < 20_000; count += 1) {
    const head = random.of(heads);
    const plan = randomPlan(random);
    const result = renderHead(head, plan);
    if (!result) continue;
    rendered += 1;
    const fields = responseFields(head, plan);
    const lines = fields.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${fields[at + 1]}\r\n`] : []));
    const linkLines = (plan.lifecycle?.links ?? []).map((link) => `Link: ${link}\r\n`);
    expect(result.beforeLinks + linkLines.join('') + result.afterLinks).toBe(
      `HTTP/1.1 ${head.status} ${head.reason}\r\n${lines.join('')}`,
    );
    expect(result.hasDate).toBe(lines.some((line) => /^date:/i.test(line)));
    expect(result.hasLength).toBe(lines.some((line) => /^content-length:/i.test(line)));
  }
  expect(rendered).toBeGreaterThan(10_000);
});

it('renders a head once for requests that differ only in their links', () => {
  const head = parseResponseHead('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n');
  const plan = randomPlan(new Random(1));
  const lifecycle = { deprecation: '@1782777600', sunset, deprecatedAt, links: [] };
  const first = renderHead(head, { ...plan, lifecycle });
  expect(first).toBeDefined();
  expect(renderHead(head, { ...plan, lifecycle: { ...lifecycle, links: ['</v2/x>; rel=next'] } })).toBe(first);
  expect(renderHead(head, { ...plan, lifecycle: { ...lifecycle, sunset: undefined } })).not.toBe(first);
});
