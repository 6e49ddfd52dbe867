import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { rootApi } from '../../gateway/config/api.ts';
import { parseConfig } from '../../gateway/config/load.ts';
import { rulesAsMarkdown } from '../../gateway/contracts/compat/report/markdown.ts';
import { asText } from '../../gateway/contracts/compat/report/text.ts';
import { after, before, reportOn } from '../contracts/compat/report/reports.ts';

const page = readFileSync('docs/compat.md', 'utf8');
const block = (kind: string): string => new RegExp(`^\`\`\`${kind}\n(.*?)^\`\`\`$`, 'ms').exec(page)?.[1] ?? '';

// `npm run docs` writes the file.
it('docs/compat.md has all rules', async () => {
  const made = page.replace(
    /(<!-- rules: .* -->\n).*(?=<!-- \/rules -->)/s,
    (_all, start) => start + rulesAsMarkdown(),
  );
  expect(made).toContain('| `route-removed` | error | core |');
  await expect(made).toMatchFileSnapshot('../../docs/compat.md');
});

it('docs/compat.md shows the output of `compat`', () => {
  const printed = asText(reportOn(before, after), { paint: (_style, text) => text, showAll: false });
  expect(block('console').replace(/^\$ .*\n/, '')).toBe(printed);
});

it('docs/compat.md shows valid exemptions', () => {
  const rest = 'routes:\n  /v1: { upstream: http://127.0.0.1:1 }\n';
  const { snapshot, faults } = parseConfig(`${block('yaml')}${rest}`, 'routes.yaml', {
    clock: { now: () => Date.parse('2026-06-01') },
  });
  expect(faults).toEqual([]);
  expect(snapshot && rootApi(snapshot).compat.exempt).toHaveLength(1);
});
