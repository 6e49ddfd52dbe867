const pieces = [
  'a',
  'é',
  '日本',
  '😀',
  '"',
  '\\',
  '\n',
  '/',
  '~',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  ' ',
  '\u2028',
  '*',
  '0',
];
const blanks = ['', '', ' ', '\n', '\r\n  ', '\t', ' \n \n'];

/** A random JSON map, with random blanks, line ends and escapes. */
export function randomJson(random: () => number): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const blank = (): string => pick(blanks);
  const text = (): string => {
    const quoted = JSON.stringify(Array.from({ length: Math.floor(random() * 5) }, () => pick(pieces)).join(''));
    return random() < 0.3
      ? quoted.replace(/[aé]/g, (hit) => `\\u${hit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      : quoted;
  };
  const value = (depth: number): string => {
    const kind = random() * (depth > 4 ? 5 : 9);
    if (kind < 2) return text();
    if (kind < 5) return pick(['0', '-1.5e3', 'true', 'false', 'null', '12345']);
    const length = Math.floor(random() * 5);
    if (kind < 7)
      return wrapped(
        '[]',
        Array.from({ length }, () => value(depth + 1)),
      );
    const keys = new Map(Array.from({ length }, () => text()).map((key) => [JSON.parse(key), key]));
    return wrapped(
      '{}',
      [...keys.values()].map((key) => `${key}${blank()}:${blank()}${value(depth + 1)}`),
    );
  };
  const wrapped = (brackets: string, items: readonly string[]): string =>
    `${brackets[0]}${blank()}${items.map((item) => `${item}${blank()}`).join(`,${blank()}`)}${brackets[1]}`;
  return `${blank()}${wrapped(
    '{}',
    Array.from({ length: 3 }, (_, i) => `"k${i}"${blank()}:${blank()}${value(1)}`),
  )}${blank()}`;
}
