import { expect, it } from 'vitest';
import { guideAsMarkdown } from '../../../gateway/compat/guide/markdown.ts';
import { codeInMarkdown, escaped, fenced } from '../../../gateway/compat/guide/markdownText.ts';
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

it('says what to do, then shows each route', () => {
  const guide = guideBetween(old, now, { '/drinks/{id}': '/cocktails/{id}', '/search': null });
  expect(guideAsMarkdown(guide)).toBe(`# drinks: moving from v1 to v2

## What to do

1. Call \`/v2\` in place of \`/v1\`.
2. Do it before 30 June 2029, 23:59 UTC: from then on requests to v1 are no longer promised to be answered. It is deprecated from 30 June 2026 on.
3. Look through the routes that you call. Of the 3 routes of v1 there is 1 with breaking changes, 1 under another path and 1 that is gone.
4. Ignore what you do not know in the responses of v2: what is only new is listed at the end.

## Routes

| in v1 | in v2 | |
|---|---|---|
| [\`GET /search\`](#get-search) | – | gone |
| [\`GET /drinks\`](#get-drinks) | the same | 1 change, breaking |
| [\`GET /drinks/{id}\`](#get-drinks-id) | \`GET /cocktails/{id}\` | moved |

## Route by route

<a id="get-search"></a>
### \`GET /search\`

It is gone, and nothing takes its place.

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
### \`GET /drinks/{id}\` is now \`GET /cocktails/{id}\` (nothing breaks)

Before:

\`\`\`http
GET /v1/drinks/{id}
\`\`\`

After:

\`\`\`http
GET /v2/cocktails/{id}
\`\`\`

## Additions

Nothing to do: these may be used, and need not be.

- \`GET /drinks\`, response 200: field \`glass\` is new
`);
});

it.each([
  [{ isGoneAfterwards: true }, 'from then on requests to v1 are answered with 410 Gone'],
  [{ isRetired: true }, 'Do it now: v1 is retired, and every request to it is answered with 410 Gone.'],
  [{ sunset: undefined }, 'v1 is deprecated from 30 June 2026 on. Its end has no date yet.'],
])('says of the end what routes.yaml says: %o', (difference, expected) => {
  expect(guideAsMarkdown({ ...guideBetween(old, now), end: { ...end, ...difference } })).toContain(expected);
});

it('says that nothing has to be done where nothing breaks', () => {
  expect(guideAsMarkdown(guideBetween(old, old))).toContain('none of the 3 routes of v1 breaks.');
});

it.each([
  ['<script>alert(1)</script>', '\\<script\\>alert(1)\\</script\\>'],
  ['[click](https://evil.example)', '\\[click\\](https\\://evil.example)'],
  ['**bold** _it_ ~~gone~~ $x$', '\\*\\*bold\\*\\* \\_it\\_ \\~\\~gone\\~\\~ \\$x\\$'],
  ['a | b', 'a \\| b'],
  ['www.evil.example ada@evil.example :bomb:', 'www\\.evil.example ada\\@evil.example \\:bomb:'],
  ['one\n\n# two', 'one \\# two'],
  ['&lt; \\', '\\&lt; \\\\'],
  ['\u202eevil\u0007', '\\\\u\\{202e\\}evil\\\\x07'],
])('lets a text mean itself: %j', (text, expected) => expect(escaped(text)).toBe(expected));

it.each([
  ['plain', '`plain`'],
  ['with ` one', '``with ` one``'],
  ['``` three', '```` ``` three ````'],
  ['two\nlines', '`two lines`'],
])('ends code where it ends: %j', (text, expected) => expect(codeInMarkdown(text)).toBe(expected));

it('fences what has fences in it', () => expect(fenced('a\n```\nb', 'json')).toBe('````json\na\n```\nb\n````'));

it('lets nothing of a contract become structure', () => {
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
  // Outside of code nothing is left that begins a tag or a link.
  const prose = (bad ?? '').replace(/(`{3,})json\n[\s\S]*?\n\1$/gm, '').replace(/(`+)[^\n]*?[^`]\1(?!`)/g, '');
  expect(prose).not.toMatch(/(?<!\\)<(?!a id="|\/a>)|(?<!\\)\]\((?!#)/);
});

it('keeps a bar in a path within its cell', () => {
  const paths = { '/a|b': { get: done } };
  expect(guideAsMarkdown(guideBetween({ paths }, { paths }))).toContain('\n| `GET /a\\|b` | the same | unchanged |\n');
});
