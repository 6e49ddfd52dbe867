import { expect, it } from 'vitest';
import { referencePage } from '../../gateway/config/jsonSchema.ts';
import { metricsPage } from '../../gateway/observability/metricTable.ts';
import { problemsPage } from '../../gateway/problems/problem.ts';

// `npm run docs` writes them.
it.each([
  ['docs/problems.md', 'the catalogue', problemsPage],
  ['docs/routes.md', 'the schema', referencePage],
  ['docs/metrics.md', 'the table of the metrics', metricsPage],
])('%s says what %s says', async (file, _source, page) => {
  await expect(page()).toMatchFileSnapshot(`../../${file}`);
});
