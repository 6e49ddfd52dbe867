import { expect, it } from 'vitest';
import { codeFrame } from '../../../../gateway/process/cli/output/checkReport.ts';

it.each([
  ['the line and a caret', 'a: 1\nbb: 2\n', 2, 5, ['  2 | bb: 2', '    |     ^']],
  ['tabs as one column', '\ta: 1', 1, 2, ['  1 |  a: 1', '    |  ^']],
  ['nothing for a line that is blank', 'a\n\nb', 2, 1, []],
  ['nothing for a line that is not there', 'a', 7, 1, []],
  ['lines that end in CRLF', 'a\r\nb: 1\r\n', 2, 4, ['  2 | b: 1', '    |    ^']],
  ['no secret, and a caret before it', 'admin_token: abc', 1, 1, ['  1 | admin_token: ***', '    | ^']],
  [
    'no caret where it would point at nothing',
    '{ u: "http://a:b@c", x: 1 }',
    1,
    22,
    ['  1 | { u: "http://***@c", x: 1 }'],
  ],
  ['no secret of several lines', 'admin_token: |\n  abc', 2, 3, ['  2 | ***']],
  ['no webhook without a scheme', 'notify:\n- url: a.example/abc', 2, 8, ['  2 | - url: ***', '    |        ^']],
  ['no webhook with a blank', 'notify:\n  - url: "https://a.example/b abc"', 2, 3, ['  2 |   - url: ***', '    |   ^']],
  [
    'no webhook on a line with another fault',
    'notify: [{ url: a/abc, digest: x }]',
    1,
    32,
    ['  1 | notify: [{ url: ***'],
  ],
  [
    'no webhook in JSON',
    '{\n  "notify": [\n    { "url": "a/abc" }\n  ] }',
    3,
    5,
    ['  3 |     { "url": ***', '    |     ^'],
  ],
  ['no webhook on a line of its own', 'notify:\n  - url: >-\n      a/abc', 3, 7, ['  3 | ***']],
  ['no webhook of a misspelt key', 'notify:\n  - ulr: https://a/abc', 2, 5, ['  2 |   - ulr: ***', '    |     ^']],
  ['no webhook of a misspelt key below it', 'notify:\n  - uri: >-\n      a/abc', 3, 7, ['  3 | ***']],
  [
    'no webhook after a plain key',
    'notify: [{ digest: x, hook: a/abc }]',
    1,
    12,
    ['  1 | notify: [{ digest: x, hook: ***', '    |            ^'],
  ],
  [
    'other keys of a webhook',
    'notify:\n  - url: a\n    digest: x',
    3,
    13,
    ['  3 |     digest: x', '    |             ^'],
  ],
  ['a URL after the webhooks', 'notify:\n  - url: a\nb:\n  url: c', 4, 8, ['  4 |   url: c', '    |        ^']],
  ['control characters by their names', 'a: \x1b[2J', 1, 1, ['  1 | a: \\x1b[2J', '    | ^']],
])('shows %s', (_what, text, line, column, expected) => {
  expect(codeFrame(text, line, column)).toEqual(expected);
});

it('truncates long lines', () => {
  const [line, caret] = codeFrame(`a: ${'x'.repeat(500)}`, 1, 400);
  expect(line?.length).toBeLessThan(170);
  expect(caret).toBe(undefined);
});
