import type { Random } from '../support/random.ts';
import { hostile, insertions } from './hostile.ts';

/** The text has one latin1 character per byte, so that a mutation can also break the encoding. */
type Mutation = (text: string, random: Random) => string;

const mutations: readonly Mutation[] = [
  // bytes
  (text, random) => splice(text, random.below(text.length), 1, String.fromCharCode(random.below(256))),
  (text, random) => flipBit(text, random.below(text.length), random.below(8)),
  (text, random) => splice(text, random.below(text.length), 1 + random.below(12), ''),
  (text, random) =>
    splice(text, random.below(text.length), 0, String.fromCharCode(random.of([0, 7, 9, 10, 13, 27, 127, 133, 160]))),
  (text, random) => text.slice(0, random.below(text.length)),
  (text, random) => text.slice(random.below(text.length)),
  (text, random) => splice(text, random.below(text.length), 0, random.of(hostile)),
  // lines
  (text, random) => onLines(text, (lines) => lines.splice(random.below(lines.length), 1 + random.below(3))),
  (text, random) =>
    onLines(text, (lines) =>
      copyLines(lines, random.below(lines.length), 1 + random.below(4), random.below(lines.length)),
    ),
  (text, random) => onLines(text, (lines) => swap(lines, random.below(lines.length), random.below(lines.length))),
  (text, random) =>
    onLines(text, (lines) => lines.splice(random.below(lines.length), 0, indentOf(random) + random.of(insertions))),
  (text, random) => onLine(text, random, (line) => indentOf(random) + line.trimStart()),
  (text, random) => onLine(text, random, (line) => `\t${line}`),
  // keys and values
  (text, random) => onLine(text, random, (line) => line.replace(/: .*$/, `: ${random.of(hostile)}`)),
  (text, random) => onLine(text, random, (line) => line.replace(/: .*$/, `: ${random.of(hostile)}`)),
  (text, random) => onLine(text, random, (line) => line.replace(/[^ :]+:/, `${random.of(hostile)}:`)),
  (text, random) => onLine(text, random, (line) => line.replace(/: ?/, `: &a${random.below(3)} `)),
  (text, random) => onLine(text, random, (line) => line.replace(/: .*$/, `: *a${random.below(3)}`)),
  (text, random) => onLine(text, random, (line) => `${line}\n${line}`),
  (text, random) =>
    text.replace(/\d+/g, (digits) => (random.below(8) === 0 ? '9'.repeat(1 + random.below(30)) : digits)),
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

/** Applies one to three mutations to `text`. */
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
  const [open, close] = random.of([
    ['[', ']'],
    ['{a: ', '}'],
    ['[{a: ', '}]'],
    ['[', ''],
  ] as const);
  return open.repeat(depth) + close.repeat(depth);
}

/** Nested aliases that expand to a billion values. */
const bomb = `[&b0 x${Array.from({ length: 9 }, (_, level) => `, &b${level + 1} [${Array(10).fill(`*b${level}`)}]`).join('')}]`;
