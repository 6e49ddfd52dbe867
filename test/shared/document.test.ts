import { expect, it } from 'vitest';
import { type Document, documentAsMarkdown, documentAsText } from '../../gateway/shared/document.ts';

const plain = (_style: string, text: string): string => text;

const report: Document = {
  title: 'Responses of /v1',
  lead: 'Two routes differ.',
  sections: [
    { text: 'Compared today.', lines: ['See `status`.'] },
    {
      heading: 'GET /drinks',
      detail: '3 pairs',
      table: { head: ['class', ''], rows: [['noise', '-']], isPlain: true },
      more: ['and 2 more'],
    },
    { heading: 'Clients', table: { head: ['client'], rows: [['ios']] } },
    { table: { head: ['left out'], rows: [] } },
    { detail: 'and 1 more route' },
  ],
};

it('is text for a terminal, with the lead in place of the title', () =>
  expect(documentAsText(report, plain)).toBe(`Two routes differ.
  Compared today.
  See \`status\`.

GET /drinks  3 pairs
  noise  -
  and 2 more

Clients
  client
  ios

and 1 more route
`));

it('is Markdown with the same parts in the same order', () =>
  expect(documentAsMarkdown(report)).toBe(`# Responses of /v1

Two routes differ.

Compared today.

- See \`status\`.

## GET /drinks

3 pairs

| class |  |
|---|---|
| noise | - |

and 2 more

## Clients

| client |
|---|
| ios |

and 1 more route
`));

it('answers the question in its title', () => {
  const document: Document = {
    title: 'Can /v1 be retired?',
    answer: { text: 'yes', style: 'green' },
    sections: [{ text: 'Nobody calls it.', style: 'green' }],
  };
  const painted = documentAsText(document, (style, text) => `<${style}>${text}</>`);
  expect(painted).toBe('Can /v1 be retired?  <green>yes</>\n\n<green>  Nobody calls it.</>\n');
  expect(documentAsMarkdown(document)).toBe('# Can /v1 be retired? yes\n\nNobody calls it.\n');
});

it.each([
  ['a|b', 'a&#124;b'],
  ['x` y', 'x&#96; y'],
  ['<img src=x>', '&#60;img src&#61;x&#62;'],
  ['[a](http://x)', '&#91;a&#93;(http&#58;//x)'],
  ['@all', '&#64;&#8203;all'],
  ['a\nb', 'a&#92;x0ab'],
])('%j cannot be syntax in a cell, a line or a heading', (text, expected) => {
  const document = { title: text, sections: [{ lines: [text], table: { head: [text], rows: [[text]] } }] };
  expect(documentAsMarkdown(document)).toBe(
    `# ${expected}\n\n- ${expected}\n\n| ${expected} |\n|---|\n| ${expected} |\n`,
  );
  expect(documentAsText({ title: text, sections: [] }, plain)).not.toMatch(/\n./);
});
