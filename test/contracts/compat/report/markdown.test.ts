import { describe, expect, it } from 'vitest';
import {
  commentMarker,
  longestComment,
  reportAsMarkdown,
} from '../../../../gateway/contracts/compat/report/markdown.ts';
import { codeAsMarkdown, plainAsMarkdown, sentenceAsMarkdown } from '../../../../gateway/shared/markup.ts';
import {
  after,
  before,
  contractWithField,
  contractWithFields,
  hostileEntries,
  now,
  pairReportOf,
  reportOn,
} from './reports.ts';

const ours = /<!-- version-gateway compat -->|<\/?(?:details|summary|code|br)>/g;

/** A comment without its code and tags. */
function outsideCode(markdown: string): string {
  return markdown.replace(/`[^`\n]*`|<code>[^<\n]*<\/code>/g, '').replace(ours, '');
}

/** The number of cells of each table row. */
function cellCounts(markdown: string): number[] {
  return markdown.split('\n').flatMap((line) => (line.startsWith('|') ? [line.split('|').length - 2] : []));
}

describe('the comment on a pull request', () => {
  it('begins with the worst findings, and folds compatible changes', () => {
    expect(reportAsMarkdown(reportOn(before, after, { title: 'v1', calls: 5 }))).toBe(`<!-- version-gateway compat -->

### Contracts: 1 error, 1 warning, 1 compatible change

- v1: \`origin/main:api/drinks.yaml\` → \`api/drinks.yaml\`

#### 1 error

| route | change | rule | where |
|---|---|---|---|
| \`GET /drinks\` | response 200 field \`price\` was a string and is now a number<br>called 10 times in 30 days<br>and 1 more route: GET /drinks/{id} | \`response-type-changed\` | \`api/drinks.yaml:28:11\` |

#### 1 warning

| route | change | rule | where |
|---|---|---|---|
| \`GET /drinks\` | query parameter \`page\` has the default \`2\` instead of \`1\`<br>called 5 times in 30 days | \`default-changed\` | \`api/drinks.yaml:7:61\` |

<details><summary>1 compatible change</summary>

| route | change | rule | where |
|---|---|---|---|
| \`GET /drinks\` | response 200 field \`maker\` is new<br>called 10 times in 30 days<br>and 1 more route: GET /drinks/{id} | \`response-field-added\` | \`api/drinks.yaml:30:9\` |

</details>
`);
  });

  it('reports exemptions and contracts that were not compared', () => {
    const exemption = { route: 'GET /drinks', pointer: undefined, reason: 'agreed | #1', until: now + 86_400_000 };
    const exemptions = [
      { ...exemption, rule: 'default-changed' },
      { ...exemption, rule: 'route-removed' },
    ];
    const markdown = reportAsMarkdown({
      ...reportOn(before, after, { exemptions }),
      notCompared: ['v2 has no contract'],
    });
    expect(markdown).toContain('#### 1 stale exemption\n\n- The exemption from route-removed for GET /drinks matches');
    expect(markdown).toContain('#### Not compared\n\n- v2 has no contract\n');
    expect(markdown).toContain('<details><summary>1 finding exempted</summary>');
    expect(markdown).toContain('| agreed &#124; &#35;&#8203;1 | 2026-06-02 |');
  });

  it('names the version of each finding if there are several contracts', () => {
    const pairs = ['v1', 'v2'].map((title) => pairReportOf(before, after, { title }));
    const markdown = reportAsMarkdown({ pairs, staleExemptions: [], rulesOff: [], notCompared: [] });
    expect(markdown).toContain('| version | route | change | rule | where |');
    expect(markdown.match(/^\| v[12] \|/gm)).toEqual(['| v1 |', '| v2 |', '| v1 |', '| v2 |', '| v1 |', '| v2 |']);
  });

  it('states that nothing was compared', () => {
    const markdown = reportAsMarkdown({ pairs: [], staleExemptions: [], rulesOff: [], notCompared: [] });
    expect(markdown).toBe(`${commentMarker}\n\n### Contracts: Nothing was compared\n`);
  });

  it('fits into a comment, closes its elements, and states how many rows are omitted', () => {
    const fields = (name: string, type: string): [string, unknown][] =>
      Array.from({ length: 3000 }, (_one, index) => [`${name}_${index}`, { type }]);
    const old = contractWithFields(Object.fromEntries(fields('kept', 'string')));
    const changed = contractWithFields(Object.fromEntries([...fields('kept', 'number'), ...fields('new', 'string')]));
    const markdown = reportAsMarkdown(reportOn(old, changed));
    expect(markdown.length).toBeLessThanOrEqual(longestComment);
    expect(markdown.length).toBeGreaterThan(longestComment - 3000);
    expect(markdown).toMatch(/\n\n2,\d\d\d rows omitted: the comment is full\.\n/);
    expect(markdown).toMatch(
      /<details><summary>3,000 compatible changes<\/summary>\n\n3,000 rows omitted.*\n\n<\/details>\n$/,
    );
  });

  it.each(hostileEntries)('shows a hostile name as text: %s', (_name, name) => {
    const setting = { names: [name, name], title: name } as const;
    for (const [old, changed] of [
      [contractWithField(name, 'string'), contractWithField(name, 'number')],
      [contractWithField('a', 'string', `/${name}`), contractWithField('b', 'string', `/${name}`)],
    ] as const) {
      const markdown = reportAsMarkdown(reportOn(old, changed, setting));
      expect(markdown).toMatch(/^### Contracts: 1 error/m);
      const text = outsideCode(markdown).replace(/^#+ |^\|.*\|$/gm, (line) => line.replace(/[|#]/g, ''));
      expect(text.replace(/&#\d+;/g, '')).not.toMatch(/[<>`@#[\]*_~\\|]|:\/\/|www\./);
      expect(new Set(cellCounts(markdown))).toEqual(new Set([4]));
      expect(markdown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|##\[/u);
      expect(markdown.length).toBeLessThan(20_000);
    }
  });
});

describe('text in Markdown', () => {
  it.each([
    ['@octocat', '&#64;&#8203;octocat'],
    ['fixes #1 and GH-2', 'fixes &#35;&#8203;1 and GH-&#8203;2'],
    ['https://example.com www.example.com', 'https&#58;//example.com www&#46;example.com'],
    ['- a', '&#8203;- a'],
    ['1. a', '&#8203;1. a'],
    ['<b>*a*_b_~c~', '&#60;b&#62;&#42;a&#42;&#95;b&#95;&#126;c&#126;'],
  ])('%s stays text', (text, expected) => expect(plainAsMarkdown(text)).toBe(expected));

  it.each([
    ['a', '`a`'],
    ['<b>@a #1', '`<b>@a #1`'],
    ['a`b|c\\', '<code>a&#96;b&#124;c&#92;</code>'],
    ['', ''],
  ])('%s is code', (text, expected) => expect(codeAsMarkdown(text)).toBe(expected));

  it.each([
    ['field `a` was `b`', 'field `a` was `b`'],
    ['field `a', 'field &#96;a'],
    ['``', ''],
    ['field `a|b` @c', 'field <code>a&#124;b</code> &#64;&#8203;c'],
  ])('%s is a sentence', (text, expected) => expect(sentenceAsMarkdown(text)).toBe(expected));
});
