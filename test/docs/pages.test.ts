import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { referencePage } from '../../gateway/config/schema.ts';
import { requestFileSchema } from '../../gateway/contracts/shadow/sampling/requestFormat.ts';
import { problemsPage } from '../../gateway/problems/problem.ts';
import { metricsPage } from '../../gateway/usage/observability/metricTable.ts';

// `npm run docs` writes these pages.
it.each([
  ['docs/problems.md', 'the catalogue', problemsPage],
  ['docs/routes.md', 'the schema', referencePage],
  ['docs/metrics.md', 'the table of metrics', metricsPage],
  [
    'docs/replay-requests.schema.json',
    'the schema of the file',
    () => `${JSON.stringify(requestFileSchema, null, 2)}\n`,
  ],
])('%s is generated from %s', async (file, _source, page) => {
  await expect(page()).toMatchFileSnapshot(`../../${file}`);
});

const decisions = readdirSync('docs/decisions');

it('numbers the decisions from 1 without a gap, in their file names and titles', () => {
  const titles = decisions.map((name) => /^# (\d+)\. /.exec(readFileSync(`docs/decisions/${name}`, 'utf8'))?.[1]);
  const numbers = decisions.map((_name, at) => at + 1);
  expect(decisions.map((name) => Number(name.slice(0, 4)))).toEqual(numbers);
  expect(titles.map(Number)).toEqual(numbers);
});

const folders = [
  '',
  'gateway',
  ...['process', 'operate', 'proxy', 'contracts', 'versions', 'usage'].map((wing) => join('gateway', wing)),
];

// `pipeline/steps.ts` is short for `gateway/proxy/pipeline/steps.ts`.
it.each(['ARCHITECTURE.md', ...decisions.map((name) => `docs/decisions/${name}`)])(
  '%s names only source files that exist',
  (page) => {
    const named = readFileSync(page, 'utf8').matchAll(/`([\w.-]+(?:\/[\w.-]+)+\.(?:ts|js))`/g);
    const files = [...named].map(([, file]) => file as string);
    expect(files.filter((file) => !folders.some((folder) => existsSync(join(folder, file))))).toEqual([]);
  },
);

it('the glossary of ARCHITECTURE.md has at most 30 entries, each defined once', () => {
  const glossary = /^## Glossary\n(.*?)(?=^## |$(?![\s\S]))/ms.exec(readFileSync('ARCHITECTURE.md', 'utf8'))?.[1] ?? '';
  const terms = [...glossary.matchAll(/^- (\*\*.*?\*\*(?:, \*\*.*?\*\*)*):/gm)].map(([, term]) => term);
  expect(terms).toHaveLength(glossary.match(/^- /gm)?.length ?? 0);
  expect(terms.length).toBeGreaterThan(0);
  expect(terms.length).toBeLessThanOrEqual(30);
  expect(new Set(terms).size).toBe(terms.length);
});
