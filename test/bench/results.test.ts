import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { renderChart } from '../../bench/report/chart.ts';
import { type Results, readPage, renderPage } from '../../bench/report/results.ts';

const page = readFileSync('bench/RESULTS.md', 'utf8');

it('bench/RESULTS.md and the chart show the samples at the end of the page', () => {
  const results = readPage(page);
  expect(renderPage(results)).toBe(page);
  expect(renderChart(results)).toBe(readFileSync('docs/images/benchmark.svg', 'utf8'));
});

const gateway = { name: 'version-gateway', samples: [13, 12, 14] };
const haproxy = { name: 'HAProxy', samples: [10, 10.5, 9] };

function resultsWith(rows: readonly { name: string; samples: number[] }[], atMost: number): Results {
  const goals = [{ atMost, times: 'HAProxy' }];
  const table = { figure: 'CPU time, µs', digits: 1, rows, goals };
  return {
    conditions: ['a machine -- without a name'],
    sections: [{ name: 'small-json', title: 'What?', text: 'A text.', tables: [table], notes: [] }],
  };
}

it('compares medians with the reference, and says whether the goal is met', () => {
  expect(renderPage(resultsWith([haproxy, gateway], 1.3))).toContain(
    '| **version-gateway** | 13.0 | 12.0–14.0 | 1.30 | ≤ 1.30 × HAProxy: met |',
  );
  expect(renderPage(resultsWith([haproxy, gateway], 1.29))).toContain('≤ 1.29 × HAProxy: **not met**');
});

it('says that a goal is not known without the reference', () => {
  expect(renderPage(resultsWith([gateway], 1.3))).toContain('| 13.0 | 12.0–14.0 |  | ≤ 1.30 × HAProxy: not known |');
  expect(renderPage(resultsWith([haproxy], 1.3))).toContain(
    '| What? | CPU time, µs |  | ≤ 1.30 × HAProxy | not known |',
  );
});

it('reads the results back, even if a text would end the comment', () => {
  const results = resultsWith([haproxy, gateway], 1.3);
  expect(readPage(renderPage(results))).toEqual(results);
  const [, data = ''] = renderPage(results).split('<!--');
  expect(data.match(/--/g)).toHaveLength(1);
});

it('draws the shortest bar first', () => {
  const names = [...renderChart(resultsWith([gateway, haproxy], 1.3)).matchAll(/<text x="0" y="\d+">(.*?)</g)];
  expect(names.map(([, name]) => name)).toEqual(['HAProxy', 'version-gateway']);
});
