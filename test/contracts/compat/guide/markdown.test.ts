import { expect, it } from 'vitest';
import { codeBlock, guideAsMarkdown } from '../../../../gateway/contracts/compat/guide/markdown.ts';
import { guidePage } from '../../../../gateway/operate/discovery/guidePage.ts';
import { done, end, giving, guideBetween, object } from './contracts.ts';

const old = {
  paths: {
    '/drinks': { get: { summary: 'The menu', ...giving(object({ title: { type: 'string' } }), { title: 'Negroni' }) } },
    '/drinks/{id}': { get: done },
    '/search': { get: done },
  },
};
const now = {
  paths: {
    '/drinks': {
      get: {
        ...giving(object({ name: { type: 'string' }, glass: { type: 'string' } }), {
          name: 'Negroni',
          glass: 'tumbler',
        }),
      },
    },
    '/cocktails/{id}': { get: done },
  },
};

it('contains instructions, a table of the routes and the changes of each', () => {
  const guide = guideBetween(old, now, { '/drinks/{id}': '/cocktails/{id}', '/search': null });
  expect(guideAsMarkdown(guide)).toBe(`# drinks: moving from v1 to v2

## What to do

1. Call \`/v2\` instead of \`/v1\`.
2. Move before 30 June 2029, 23:59 UTC: after that, requests to v1 may fail. v1 is deprecated from 30 June 2026.
3. Check the routes that you call. Of the 3 routes of v1, 1 has breaking changes, 1 has another path and 1 was removed.
4. Ignore unknown fields in the responses of v2. Additions are listed at the end.

## Routes

| in v1 | in v2 | |
|---|---|---|
| [\`GET /search\`](#get-search) | – | removed |
| [\`GET /drinks\`](#get-drinks) | the same | 1 change, breaking |
| [\`GET /drinks/{id}\`](#get-drinks-id) | \`GET /cocktails/{id}\` | moved |

## Changes by route

<a id="get-search"></a>
### \`GET /search\`

This route was removed without a replacement.

<a id="get-drinks"></a>
### \`GET /drinks\`

*The menu*

**Response 200**

- **Breaking:** field \`title\` was removed; it looks renamed to \`name\`

Before:

\`\`\`json
{
  "title": "Negroni"
}
\`\`\`

After:

\`\`\`json
{
  "name": "Negroni",
  "glass": "tumbler"
}
\`\`\`

<a id="get-drinks-id"></a>
### \`GET /drinks/{id}\` is now \`GET /cocktails/{id}\` (not breaking)

Before:

\`\`\`http
GET /v1/drinks/{id}
\`\`\`

After:

\`\`\`http
GET /v2/cocktails/{id}
\`\`\`

## Additions

No action is needed for these.

- \`GET /drinks\`, response 200: field \`glass\` is new
`);
});

it.each([
  [{ isGoneAfterSunset: true }, 'after that, requests to v1 are answered with 410 Gone'],
  [{ isRetired: true }, 'Move now: v1 is retired, and requests to it are answered with 410 Gone.'],
  [{ sunset: undefined }, 'v1 is deprecated from 30 June 2026. It has no sunset date yet.'],
  [
    { brownouts: [{ at: Date.UTC(2027, 2, 2, 14), end: Date.UTC(2027, 2, 2, 15) }] },
    'Expect that requests to v1 are refused in brownouts: 2027-03-02T14:00:00Z to 2027-03-02T15:00:00Z.',
  ],
])('describes the dates of routes.yaml: %o', (difference, expected) => {
  expect(guideAsMarkdown({ ...guideBetween(old, now), versionEnd: { ...end, ...difference } })).toContain(expected);
});

it('states that nothing else is required without breaking changes', () => {
  expect(guideAsMarkdown(guideBetween(old, old))).toContain('none of the 3 routes of v1 has breaking changes.');
});

it('names no place in the route for parameters that several routes share', () => {
  const limit = { $ref: '#/components/parameters/limit' };
  const paths = { '/a': { get: { parameters: [limit], ...done } }, '/b': { get: { parameters: [limit], ...done } } };
  const components = (maximum: number) => ({
    parameters: { limit: { name: 'limit', in: 'query', schema: { maximum } } },
  });
  const guide = guideBetween({ paths, components: components(9) }, { paths, components: components(5) });
  const markdown = guideAsMarkdown(guide);
  expect(markdown).toContain('\nIn 2 routes: `GET /a`, `GET /b`.\n');
  expect(markdown).toContain('\nChanges shared with other routes: [Parameters](#shared-parameters).\n');
  const page = guidePage(guide);
  expect(page).toContain('<code>GET /a</code></a>, <a href="#get-b"><code>GET /b</code></a>.</p>');
  expect(page).toContain('<a href="#shared-parameters">Parameters</a>.</p>');
});

it('uses a fence that is longer than those in the text', () =>
  expect(codeBlock('a\n```\nb', 'json')).toBe('````json\na\n```\nb\n````'));

it('escapes every text of a contract', () => {
  const evil = '`x` | <img src=x onerror=alert(1)>\n\n# [a](javascript:b) ```';
  const hostile = {
    title: evil,
    paths: {
      [`/${evil}`]: { get: { summary: evil, ...giving(object({ [evil]: { type: 'string' } }), { [evil]: evil }) } },
    },
    components: {},
  };
  const calm = {
    title: 'a',
    paths: { '/a': { get: { summary: 'a', ...giving(object({ a: { type: 'string' } }), { a: 'a' }) } } },
    components: {},
  };
  const empty = (path: string) => ({ paths: { [path]: { get: giving(object({})) } } });
  const [bad, good] = [guideBetween(hostile, empty(`/${evil}`)), guideBetween(calm, empty('/a'))].map(guideAsMarkdown);
  const shape = (text = '') =>
    text.split('\n').map((line) => /^(#+ |\| |\||- |\d\. |```+|<a id=|\*\*|$)?/.exec(line)?.[0].replace(/`+/, '```'));
  expect(shape(bad)).toEqual(shape(good));
  // Outside of code, no tag or link of the contract may appear.
  const prose = (bad ?? '').replace(/(`{3,})json\n[\s\S]*?\n\1$/gm, '').replace(/(`+)[^\n]*?[^`]\1(?!`)/g, '');
  expect(prose).not.toMatch(/<(?!a id="|\/a>|\/?code>)|\]\((?!#)/);
});

it('keeps a vertical bar in a path within its table cell', () => {
  const paths = { '/a|b': { get: done } };
  expect(guideAsMarkdown(guideBetween({ paths }, { paths }))).toContain(
    '\n| <code>GET /a&#124;b</code> | the same | unchanged |\n',
  );
});
