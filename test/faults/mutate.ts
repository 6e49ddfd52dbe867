import type { Random } from './random.ts';

/** A text as bytes, one latin1 character each, so that a mutation may also break the encoding. */
type Mutation = (text: string, random: Random) => string;

/** What people and programs leave behind in a file, or put there to do harm. */
const hostile: readonly string[] = [
  '', '~', 'null', '[]', '{}', '-', '- a', '""', "''", 'true', 'no', '0', '-1', '-0', '.inf', '-.inf', '.nan', '1e999',
  '9007199254740993', '99999999999999999999999999', '0x7fffffff', '0o17', '1_000', '0.1', '1e-7', '2026-02-30',
  '2026-13-01', '0000-00-00', '9999-12-31T23:59:59Z', '-271821-04-20', '+275760-09-13T00:00:00Z', '2026-06-30T24:00:00Z',
  '2026-06-30T23:59:60Z', '2026-06-30 10:00', '12:30:45', '999999999d', '1e9s', '0s', '-5s', '5', 'off', '1TiB', '101%',
  '-1%', '/v0', '/v01', '/v999999999999999999999', '/V1', '/v1/', '//', 'http://', 'http://[::1', 'http://a:99999',
  'http://127.0.0.1:1/%zz', 'https://u:p@127.0.0.1:1', 'ftp://a', 'javascript:alert(1)', 'http://127.0.0.1:1?q#f',
  '$\{', '$\{NAME', '$\{NAME:-}', '$\{NAME:-$\{NAME}}', '$$', '$', '%', '@', '`', '!!binary AA==', '!!js/function x', '!x',
  '!!set {a}', '*missing', '&a *a', '&a [*a, *a]', '<<', '__proto__', 'constructor', 'toString', '"\\u0000"', '"\\uD800"',
  '"\\x07"', '|', '>-', '? ', ': ', '{', '[', '}', ']', '"', "'", '{{{{', '..', '../../etc/passwd', '/dev/zero', '/proc/self/mem',
  '\xff\xfe', '\xc0\xaf', '\xed\xa0\x80', '\xf4\x90\x80\x80', '\xe2\x80\xae', '\xef\xbb\xbf', '\0', '\x1b[2J', '\r', '\t',
  'x'.repeat(5_000), '('.repeat(200), `${'a'.repeat(40)}!`.repeat(20),
];

const insertions: readonly string[] = [
  '---', '...', '--- {}', '%YAML 1.1', '%YAML 9.9', '%TAG ! x', '# only a comment', '\t', '<<: {a: 1}', '<<: *base', '<<: [*base, *base]',
  '&base {}', '__proto__: { retired: true }', 'constructor: 1', '? {a: b}', '? [x]\n: y', '? |\n  k\n: v', '- ', ': ', '0: x', 'null: x',
  '? \n', 'routes: {}', 'guard: { force: { /v1: "no reason" } }', 'defaults: *base', '"\\x00": 1', '\xff: 1', '\ufeff'.replace('\ufeff', '\xef\xbb\xbf'),
];

const mutations: readonly Mutation[] = [
  // bytes
  (text, random) => splice(text, random.below(text.length), 1, String.fromCharCode(random.below(256))),
  (text, random) => flipBit(text, random.below(text.length), random.below(8)),
  (text, random) => splice(text, random.below(text.length), 1 + random.below(12), ''),
  (text, random) => splice(text, random.below(text.length), 0, String.fromCharCode(random.of([0, 7, 9, 10, 13, 27, 127, 133, 160]))),
  (text, random) => text.slice(0, random.below(text.length)),
  (text, random) => text.slice(random.below(text.length)),
  (text, random) => splice(text, random.below(text.length), 0, random.of(hostile)),
  // lines
  (text, random) => onLines(text, (lines) => lines.splice(random.below(lines.length), 1 + random.below(3))),
  (text, random) => onLines(text, (lines) => copyLines(lines, random.below(lines.length), 1 + random.below(4), random.below(lines.length))),
  (text, random) => onLines(text, (lines) => swap(lines, random.below(lines.length), random.below(lines.length))),
  (text, random) => onLines(text, (lines) => lines.splice(random.below(lines.length), 0, indentOf(random) + random.of(insertions))),
  (text, random) => onLine(text, random, (line) => indentOf(random) + line.trimStart()),
  (text, random) => onLine(text, random, (line) => `\t${line}`),
  // keys and values
  (text, random) => onLine(text, random, (line) => line.replace(/: .*$/, `: ${random.of(hostile)}`)),
  (text, random) => onLine(text, random, (line) => line.replace(/: .*$/, `: ${random.of(hostile)}`)),
  (text, random) => onLine(text, random, (line) => line.replace(/[^ :]+:/, `${random.of(hostile)}:`)),
  (text, random) => onLine(text, random, (line) => line.replace(/: ?/, `: &a${random.below(3)} `)),
  (text, random) => onLine(text, random, (line) => line.replace(/: .*$/, `: *a${random.below(3)}`)),
  (text, random) => onLine(text, random, (line) => `${line}\n${line}`),
  (text, random) => text.replace(/\d+/g, (digits) => (random.below(8) === 0 ? '9'.repeat(1 + random.below(30)) : digits)),
  (text, random) => text.replace(/\d{4}-\d\d-\d\d/g, (date) => (random.below(3) === 0 ? someDate(random) : date)),
  // depth
  (text, random) => onLine(text, random, (line) => line.replace(/: .*$/, `: ${deep(random)}`)),
  (text, random) => onLine(text, random, (line) => line.replace(/: .*$/, `: ${bomb}`)),
  // whole file
  (text) => text.replaceAll('\n', '\r\n'),
  (text) => text.replaceAll('\n', '\r'),
  (text) => `\xef\xbb\xbf${text}`,
  (text) => Buffer.from(text, 'utf16le').toString('latin1'),
  (text, random) => text + text.slice(random.below(text.length)),
];

/** One to three mutations of `text`, one upon the other. */
export function mutate(text: string, random: Random): string {
  let mutant = text;
  for (let left = random.of([1, 1, 1, 2, 3]); left > 0; left -= 1) mutant = random.of(mutations)(mutant || ' ', random);
  return mutant;
}

function splice(text: string, at: number, length: number, insert: string): string {
  return text.slice(0, at) + insert + text.slice(at + length);
}

function flipBit(text: string, at: number, bit: number): string {
  return splice(text, at, 1, String.fromCharCode(text.charCodeAt(at) ^ (1 << bit)));
}

function onLines(text: string, change: (lines: string[]) => unknown): string {
  const lines = text.split('\n');
  change(lines);
  return lines.join('\n');
}

function onLine(text: string, random: Random, change: (line: string) => string): string {
  return onLines(text, (lines) => {
    const at = random.below(lines.length);
    lines[at] = change(lines[at] ?? '');
  });
}

function copyLines(lines: string[], from: number, count: number, to: number): void {
  lines.splice(to, 0, ...lines.slice(from, from + count));
}

function swap(lines: string[], one: number, other: number): void {
  const [first = '', second = ''] = [lines[one], lines[other]];
  lines[one] = second;
  lines[other] = first;
}

function indentOf(random: Random): string {
  return ' '.repeat(random.below(9));
}

function someDate(random: Random): string {
  const two = (limit: number) => String(random.below(limit)).padStart(2, '0');
  return `${random.of(['0000', '1969', '2024', '2026', '2028', '2999', '9999'])}-${two(14)}-${two(33)}`;
}

function deep(random: Random): string {
  const depth = random.of([10, 100, 2_000]);
  const [open, close] = random.of([['[', ']'], ['{a: ', '}'], ['[{a: ', '}]'], ['[', '']] as const);
  return open.repeat(depth) + close.repeat(depth);
}

/** Ten aliases to ten aliases to …: a billion values in a hundred characters. */
const bomb = `[&b0 x${Array.from({ length: 9 }, (_, level) => `, &b${level + 1} [${Array(10).fill(`*b${level}`)}]`).join('')}]`;
