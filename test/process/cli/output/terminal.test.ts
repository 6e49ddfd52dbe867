import { describe, expect, it } from 'vitest';
import { sparkline } from '../../../../gateway/process/cli/output/terminal.ts';
import { tableAsText } from '../../../../gateway/shared/document.ts';
import { day } from '../../../support/ledgerWith.ts';

const rows = [
  ['client', 'requests', 'routes', 'by day'],
  ['x-api-key:#4f2a9c81d2e60b77', '1,204', 'GET /cocktails, GET /drinks/{id}, POST /orders', '▁▂▃▄▅▆▇█▁▂▃▄▅▆▇█'],
  ['curl', '3', 'GET /cocktails', '················'],
];

it.each([60, 80, 100])('a table fits a terminal of %i columns, and truncates only text', (width) => {
  const lines = tableAsText(rows, width);
  expect(lines.map(({ length }) => length).filter((length) => length > width)).toEqual([]);
  expect(lines[1]).toContain('▁▂▃▄▅▆▇█▁▂▃▄▅▆▇█');
  expect(lines[1]).toContain('1,204');
  expect(lines.join('\n')).toContain('…');
});

it('a table in a pipe is not truncated', () => {
  const [, line] = tableAsText(rows);
  expect(line).toContain('GET /cocktails, GET /drinks/{id}, POST /orders');
});

it('a terminal that is too narrow for any table gets the narrowest table', () => {
  expect(tableAsText(rows, 10)[1]).toMatch(/^ {2}x-api-key:#…/);
});

const now = Date.parse('2026-11-21T12:34:56Z');

describe('a sparkline', () => {
  const at = (days: number) => new Date(now - days * day).toISOString();

  it.each<[number, [number, number][], string]>([
    [0, [], '·'],
    [
      2,
      [
        [2, 1],
        [1, 50],
        [0, 100],
      ],
      '▁▄█',
    ],
    [
      2,
      [
        [9, 7],
        [1, 3],
      ],
      '·█·',
    ],
    [
      61,
      [
        [61, 1],
        [60, 1],
        [0, 4],
      ],
      `▄${'·'.repeat(29)}█`,
    ],
  ])('over %d days of %j', (length, counts, expected) => {
    const days = counts.map(([ago, requests]) => ({ at: at(ago), requests }));
    expect(sparkline(days, now - length * day, now)).toBe(expected);
  });

  it.each([
    [9, '·█··'],
    [3, '·█··'],
    [2, ' █··'],
    [1, ' █··'],
    [0, ' █ ·'],
  ])('is blank before the ledger starts, %d days ago', (covered, expected) => {
    const days = [{ at: at(2), requests: 1 }];
    expect(sparkline(days, now - 3 * day, now, now - covered * day)).toBe(expected);
  });
});
