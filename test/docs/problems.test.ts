import { expect, it } from 'vitest';
import { problemsPage } from '../../gateway/problems/markdown.ts';

// `npm run docs` writes it.
it('docs/problems.md says what the catalogue says', async () => {
  await expect(problemsPage()).toMatchFileSnapshot('../../docs/problems.md');
});
