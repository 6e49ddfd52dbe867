import { expect, it } from 'vitest';
import { parseNames, withName } from '../../gateway/config/names.ts';

const key = 'x-api-key:#4f2a91c07be05d3a';

it.each([
  [
    'adds',
    `# Partners\n"${key}": Ann's shop # by mail\n\n# Scripts\nuser-agent:curl: cron\n`,
    'x:new',
    'A: b #c',
    `# Partners\n"${key}": Ann's shop # by mail\n\n# Scripts\nuser-agent:curl: cron\n"x:new": "A: b #c"\n`,
  ],
  [
    'renames',
    `# Partners\n"${key}": Ann's shop # by mail\nb: c\n`,
    key,
    'Ann',
    `# Partners\n"${key}": "Ann" # by mail\nb: c\n`,
  ],
  ['removes', `# Partners\na: b # one\nc: d # two\n# End\n`, 'a', '', `# Partners\nc: d # two\n# End\n`],
  ['fills an empty file', '', 'a', 'b', '"a": "b"\n'],
  ['fills a file of comments', '# No names yet.\n# None.', 'a', 'b', '# No names yet.\n# None.\n"a": "b"\n'],
  ['keeps CRLF', 'a: b # c\r\n', 'd', 'e', 'a: b # c\r\n"d": "e"\r\n'],
  ['quotes a name that looks like a boolean', 'a: b\n', 'd', 'yes', 'a: b\n"d": "yes"\n'],
  ['quotes a name that looks like a number', 'a: b\n', 'd', '42', 'a: b\n"d": "42"\n'],
  ['edits JSON', '{\n    "a": "b"\n}\n', 'd', 'e', '{\n    "a": "b",\n    "d": "e"\n}\n'],
  ['edits JSON on one line', '{"a":"b"}', 'a', '', '{}'],
  ['fills an empty JSON object', '{}\n', 'd', 'e', '{\n  "d": "e"\n}\n'],
  ['adds to a flow map', '{ a: b }\n', 'd', 'e', '{ a: b, d: e }\n'],
  ['renames a block of text', 'a: |\n  b\nc: d\n', 'a', 'x', 'a: |-\n  x\nc: d\n'],
  ['adds before the end of a document', 'a: b\n...\n', 'd', 'e', 'a: b\nd: e\n...\n'],
  ['edits a flow map with comments', '{ a: b, # one\n  c: d }\n', 'c', 'e', '{ a: b, # one\n  c: "e" }\n'],
])('%s', (_name, text, client, name, edited) => {
  const result = withName(text, client, name);
  expect(parseNames(result ?? '')).toEqual(parseNames(edited));
  expect(result).toBe(edited);
});

it.each([
  ['a name that an alias refers to', 'a: &x b\nc: *x\n', 'a', ''],
  ['a list', '- a\n', 'a', 'b'],
  ['invalid YAML', 'a: [\n', 'a', 'b'],
])('edits nothing in %s', (_name, text, client, name) => expect(withName(text, client, name)).toBeUndefined());
