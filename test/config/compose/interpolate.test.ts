// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are for Compose.
import { expect, it } from 'vitest';
import { interpolate, valuePlaceholder } from '../../../gateway/config/compose/interpolate.ts';

const variables = { SET: 'set', EMPTY: '', DOLLAR: '$SET' };

it.each([
  ['no variable', 'no variable'],
  ['$SET', 'set'],
  ['a-${SET}-b', 'a-set-b'],
  ['$$SET $${SET}', '$SET ${SET}'],
  ['$', '$'],
  ['5 $ a', '5 $ a'],
  ['${SET:-other}', 'set'],
  ['${EMPTY:-other}', 'other'],
  ['${EMPTY-other}', ''],
  ['${GONE-other}', 'other'],
  ['${GONE:-}', ''],
  ['${GONE:-http://${GONE:-v1}:${EMPTY:-80}}/x', 'http://v1:80/x'],
  ['${SET:+yes}${EMPTY:+no}${EMPTY+yes}${GONE+no}', 'yesyes'],
  ['${SET:?needed}', 'set'],
  ['${EMPTY?needed}', ''],
  ['${DOLLAR}', '$SET'],
])('%s is %s', (input, text) => {
  expect(interpolate(input, variables)).toEqual({ text, unset: [], requiredButUnset: [], problems: [] });
});

it('reports variables that are not set', () => {
  expect(interpolate('$GONE-${OTHER}-${constructor}', variables)).toEqual({
    text: '--',
    unset: ['GONE', 'OTHER', 'constructor'],
    requiredButUnset: [],
    problems: [],
  });
});

it.each([
  ['${GONE:?}', 'GONE', ''],
  ['${EMPTY:?say it}', 'EMPTY', 'say it'],
  ['${GONE?make one: (x; y) > .env}', 'GONE', 'make one: (x; y) > .env'],
])('replaces %s by a placeholder', (input, name, reason) => {
  expect(interpolate(`a${input}b`, variables)).toEqual({
    text: `a${valuePlaceholder}b`,
    unset: [],
    requiredButUnset: [{ name, reason }],
    problems: [],
  });
});

it.each(['${', '${SET', '${}', '${SET/a/b}', '${ SET }', '${1}'])('refuses %s', (input) =>
  expect(interpolate(input, variables).problems).toHaveLength(1),
);

it('ends for endlessly nested defaults', () => {
  const before = process.threadCpuUsage();
  expect(interpolate('${A:-'.repeat(20_000), {}).problems).not.toEqual([]);
  expect(interpolate(`${'${A:-'.repeat(20_000)}${'}'.repeat(20_000)}`, {}).problems).not.toEqual([]);
  expect(process.threadCpuUsage(before).user / 1000, 'ms of CPU').toBeLessThan(5_000);
});
