import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { rulesAsMarkdown } from '../../gateway/compat/report/markdown.ts';
import { asText } from '../../gateway/compat/report/text.ts';
import { parseConfig } from '../../gateway/config/load.ts';
import { after, before, reportOn } from '../compat/report/reports.ts';

const page = readFileSync('docs/compat.md', 'utf8');
const block = (kind: string): string => new RegExp(`^\`\`\`${kind}\n(.*?)^\`\`\`$`, 'ms').exec(page)?.[1] ?? '';

// `npm run docs` writes them.
it('docs/compat.md has the rules', async () => {
  const made = page.replace(
    /(<!-- rules: .* -->\n).*(?=<!-- \/rules -->)/s,
    (_all, start) => start + rulesAsMarkdown(),
  );
  expect(made).toContain('| `route-removed` | error | core |');
  await expect(made).toMatchFileSnapshot('../../docs/compat.md');
});

it('shows what `compat` really prints', () => {
  const printed = asText(reportOn(before, after), { paint: (_style, text) => text, showAll: false });
  expect(block('console').replace(/^\$ .*\n/, '')).toBe(printed);
});

it('shows exemptions that routes.yaml takes', () => {
  const rest = 'routes:\n  /v1: { upstream: http://127.0.0.1:1 }\n';
  const { snapshot, faults } = parseConfig(`${block('yaml')}${rest}`, 'routes.yaml', {
    clock: { now: () => Date.parse('2026-06-01') },
  });
  expect(faults).toEqual([]);
  expect(snapshot?.compat.exempt).toHaveLength(1);
});
