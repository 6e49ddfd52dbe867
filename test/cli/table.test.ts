import { expect, it } from 'vitest';
import { table } from '../../gateway/cli/output/table.ts';

const rows = [
  ['client', 'requests', 'routes', 'by day'],
  ['x-api-key:#4f2a9c81d2e60b77', '1,204', 'GET /cocktails, GET /drinks/{id}, POST /orders', '▁▂▃▄▅▆▇█▁▂▃▄▅▆▇█'],
  ['curl', '3', 'GET /cocktails', '················'],
];

it.each([60, 80, 100])('a table fits a terminal of %i columns, and cuts words only', (width) => {
  const lines = table(rows, width);
  expect(lines.map(({ length }) => length).filter((length) => length > width)).toEqual([]);
  expect(lines[1]).toContain('▁▂▃▄▅▆▇█▁▂▃▄▅▆▇█');
  expect(lines[1]).toContain('1,204');
  expect(lines.join('\n')).toContain('…');
});

it('a pipe gets the table uncut', () => {
  const [, line] = table(rows);
  expect(line).toContain('GET /cocktails, GET /drinks/{id}, POST /orders');
});

it('a terminal that is too narrow for any table gets the narrowest one', () => {
  expect(table(rows, 10)[1]).toMatch(/^ {2}x-api-key:#…/);
});
