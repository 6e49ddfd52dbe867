import { expect, it } from 'vitest';
import { expand } from '../../gateway/config/expand.ts';

const env = { NAME: 'value', EMPTY: '', DOLLAR: '$' + '{NAME}', N: '2' };
const v = (inner: string): string => `\${${inner}}`;

it.each([
  ['plain', 'plain'],
  [v('NAME'), 'value'],
  ['$NAME', 'value'],
  [`a${v('NAME')}b$NAME.c`, 'avaluebvalue.c'],
  [v('EMPTY'), ''],
  [v('EMPTY:-x'), 'x'],
  [v('EMPTY-x'), ''],
  [v('GONE:-x'), 'x'],
  [v('GONE-x'), 'x'],
  [v('GONE:-'), ''],
  [v('GONE:-http://a:1/'), 'http://a:1/'],
  [v(`GONE:-${v('NAME')}`), 'value'],
  [v(`GONE:-${v('ALSO_GONE:-z')}`), 'z'],
  ['$$', '$'],
  [`$${v('NAME')}`, v('NAME')],
  [`$$${v('NAME')}`, '$value'],
  [v('DOLLAR'), v('NAME')],
])('%s becomes %s', (input, text) => {
  expect(expand(input, env)).toEqual({ text, hasDollar: input.includes('$'), problems: [] });
});

it.each([
  [v('GONE'), 'The environment variable GONE is not set.'],
  ['$GONE', 'The environment variable GONE is not set.'],
  [v('A:?needed'), 'This $ is neither a variable nor escaped.'],
  [v(''), 'This $ is neither a variable nor escaped.'],
  [v('1A'), 'This $ is neither a variable nor escaped.'],
  [v('NA ME'), 'This $ is neither a variable nor escaped.'],
  [`http://${v('NAME').slice(0, -1)}`, 'This $ is neither a variable nor escaped.'],
  [`${v('GONE:-{')}/b`, 'This $ is neither a variable nor escaped.'],
  ['a$', 'This $ is neither a variable nor escaped.'],
  ['$5', 'This $ is neither a variable nor escaped.'],
])('%s is refused', (input, message) => {
  expect(expand(input, env).problems.map((problem) => problem.message)).toEqual([message]);
});

it('reports every variable that is not set', () => {
  expect(expand(`${v('A')}${v('B')}`, {}).problems).toHaveLength(2);
});
