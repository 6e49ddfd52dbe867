import { expect, it } from 'vitest';
import { referencePage } from '../../gateway/config/reference.ts';
import { problemsPage } from '../../gateway/problems/markdown.ts';

// `npm run docs` writes them.
it.each([
  ['docs/problems.md', 'the catalogue', problemsPage],
  ['docs/routes.md', 'the schema', referencePage],
])('%s says what %s says', async (file, _source, page) => {
  await expect(page()).toMatchFileSnapshot(`../../${file}`);
});
