import { median } from '../support/figures.ts';
import { medianOf, type Results } from './results.ts';

/** The scenario whose first table is drawn. */
const chartScenario = 'small-json';
// Narrow, so that a phone hardly scales the text down.
const [width, top, rowHeight, barHeight, labelHeight, rightMargin] = [420, 62, 42, 12, 18, 124];

/** A bar for each proxy, shortest first: the CPU time of a small request. */
export function renderChart({ sections }: Results): string {
  const [table] = sections.find(({ name }) => name === chartScenario)?.tables ?? [];
  if (!table) throw new Error(`the chart needs the scenario ${chartScenario}`);
  // The relay is no usable proxy. It only shows the least that a proxy can cost.
  const bars = table.rows
    .filter(({ name }) => name !== 'relay on node:net')
    .map(({ name, samples }) => ({ name, value: median(samples) }))
    .sort((one, other) => one.value - other.value);
  const largest = bars.at(-1)?.value ?? Number.NaN;
  const reference = medianOf(table, 'HAProxy');
  const lines = bars.map(({ name, value }, index) => {
    const y = top + index * rowHeight;
    const length = ((value / largest) * (width - rightMargin)).toFixed(1);
    const ratio = reference ? `  ${(value / reference).toFixed(2)}×` : '';
    const ownClass = name.startsWith('version-gateway') ? ' class="own"' : '';
    return `  <g${ownClass}>
    <text x="0" y="${y}">${escaped(name)}</text>
    <rect x="0" y="${y + labelHeight - 12}" width="${length}" height="${barHeight}" rx="2"/>
    <text class="value" x="${(Number(length) + 8).toFixed(1)}" y="${y + labelHeight - 1}">${value.toFixed(1)} µs${ratio}</text>
  </g>`;
  });
  const height = top + bars.length * rowHeight - 8;
  const summary = bars.map(({ name, value }) => `${name} ${value.toFixed(1)} µs`).join(', ');
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="t d">
  <title id="t">CPU time per request</title>
  <desc id="d">${escaped(summary)}</desc>
  <style>
    text { font: 14px system-ui, sans-serif; fill: #1f2328; white-space: pre }
    .title { font-weight: 600; font-size: 16px }
    .value, .note { fill: #59636e; font-size: 13px }
    rect { fill: #8c959f }
    .own text { font-weight: 600 }
    .own rect { fill: #0969da }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc }
      .value, .note { fill: #9198a1 }
      rect { fill: #656c76 }
      .own rect { fill: #4493f8 }
    }
  </style>
  <text class="title" x="0" y="16">CPU time per request</text>
  <text class="note" x="0" y="36">256-byte GET, one core; less is better; × HAProxy</text>
${lines.join('\n')}
</svg>
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
