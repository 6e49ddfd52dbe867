/** The first syntax error of a JSON text. */
export interface JsonError {
  readonly offset: number;
  readonly message: string;
}

/** What the grammar allows next. */
type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | 'colon' | 'more' | 'end';

// Sticky patterns: each matches at its `lastIndex` only.
const blanks = /[ \t\r\n]*/y;
const scalar = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;
const unescapedText = /[^"\\\u0000-\u001f]*/y;
const escapeSequence = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y;

const missingMessages: Record<Expected, string> = {
  value: 'a value is missing here',
  'value or ]': 'a value or a closing bracket is missing here',
  key: 'a key in double quotes is missing here',
  'key or }': 'a key in double quotes or a closing brace is missing here',
  colon: 'a colon is missing here',
  more: 'a comma or a closing bracket is missing here',
  end: 'there is more text after the last bracket',
};

/** Undefined for valid JSON. `JSON.parse` is faster, but does not always report the offset of an error. */
export function findJsonError(text: string): JsonError | undefined {
  const openBrackets: string[] = [];
  let expected: Expected = 'value';
  for (let at = endOfMatch(blanks, text, 0); ; at = endOfMatch(blanks, text, at)) {
    if (at >= text.length) {
      return expected === 'end'
        ? undefined
        : { offset: text.length, message: 'a closing bracket is missing at the end' };
    }
    const character = text[at] ?? '';
    const next = expectedAfter(character, expected, openBrackets);
    if (next !== undefined) {
      expected = next;
      at += 1;
    } else if (character === '"' && expected !== 'colon' && expected !== 'more' && expected !== 'end') {
      const end = checkString(text, at);
      if (typeof end !== 'number') return end;
      at = end;
      expected = expected.startsWith('key') ? 'colon' : expectedAfterValue(openBrackets);
    } else {
      const end = expected.startsWith('value') ? endOfMatch(scalar, text, at) : at;
      if (end === at) return { offset: at, message: missingMessages[expected] };
      at = end;
      expected = expectedAfterValue(openBrackets);
    }
  }
}

/** Handles a bracket, comma or colon. Undefined if `character` is none of them, or is not allowed here. */
function expectedAfter(character: string, expected: Expected, openBrackets: string[]): Expected | undefined {
  const isInList = openBrackets.at(-1) === '[';
  if ((character === '{' || character === '[') && expected.startsWith('value')) {
    openBrackets.push(character);
    return character === '{' ? 'key or }' : 'value or ]';
  }
  if (character === ',' && expected === 'more') return isInList ? 'value' : 'key';
  if (character === ':' && expected === 'colon') return 'value';
  const isClosing = isInList ? character === ']' : character === '}';
  if (!isClosing || (expected !== 'more' && expected !== (isInList ? 'value or ]' : 'key or }'))) return undefined;
  openBrackets.pop();
  return expectedAfterValue(openBrackets);
}

function expectedAfterValue(openBrackets: readonly string[]): Expected {
  return openBrackets.length === 0 ? 'end' : 'more';
}

/** The offset after the closing quote, or the error in the string. */
function checkString(text: string, start: number): number | JsonError {
  for (let at = endOfMatch(unescapedText, text, start + 1); ; at = endOfMatch(unescapedText, text, at)) {
    if (text[at] === '"') return at + 1;
    const character = text[at];
    if (character === undefined || character === '\n' || character === '\r') {
      return { offset: at, message: 'the closing quote of a string is missing' };
    }
    const end = endOfMatch(escapeSequence, text, at);
    if (end === at) {
      const message = character === '\\' ? 'this escape sequence is invalid' : 'a control character is not escaped';
      return { offset: at, message };
    }
    at = end;
  }
}

/** The end of what the sticky `pattern` matches at `at`; `at` if it does not match. */
function endOfMatch(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

const backslash = 92;

/** The offset after the closing quote of the string that begins at `start`. Without a closing quote (invalid JSON): the end of the text. */
export function endOfString(text: string, start: number): number {
  // `indexOf` is many times faster than a loop over the characters, and most of a large contract is strings.
  let at = text.indexOf('"', start + 1);
  while (at !== -1 && isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at === -1 ? text.length : at + 1;
}

/** A character is escaped if an odd number of backslashes precedes it. */
function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === backslash) backslashes += 1;
  return backslashes % 2 === 1;
}

/** The value of a quoted JSON string. */
export function unquote(quoted: string): string {
  return quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
}

/** A key that has already occurred in the same map. */
export interface RepeatedKey {
  readonly offset: number;
  /** The keys and indexes from the root down to the key. */
  readonly path: readonly (string | number)[];
}

/** An open map or list. */
interface Level {
  /** Undefined for a list. */
  readonly keys: Set<string> | undefined;
  /** The current key or index. */
  key: string | number;
  expectsKey: boolean;
}

/** Finds the keys that `JSON.parse` silently overwrites. The text must be valid JSON. */
export function findRepeatedKeys(text: string): RepeatedKey[] {
  const repeated: RepeatedKey[] = [];
  const levels: Level[] = [];
  const marks = /["{}[\],]/g;
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    const level = levels.at(-1);
    const [character] = mark;
    if (character === '{') levels.push({ keys: new Set(), key: '', expectsKey: true });
    else if (character === '[') levels.push({ keys: undefined, key: 0, expectsKey: false });
    else if (character === '}' || character === ']') levels.pop();
    else if (character === ',' && level) {
      level.expectsKey = level.keys !== undefined;
      if (typeof level.key === 'number') level.key += 1;
    } else if (character === '"') {
      const end = endOfString(text, mark.index);
      // Brackets within strings do not count.
      marks.lastIndex = end;
      if (!level?.expectsKey || !level.keys) continue;
      level.expectsKey = false;
      level.key = unquote(text.slice(mark.index, end));
      if (level.keys.has(level.key)) repeated.push({ offset: mark.index, path: levels.map(({ key }) => key) });
      level.keys.add(level.key);
    }
  }
  return repeated;
}
