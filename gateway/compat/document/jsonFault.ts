/** Where a text stops being JSON, and what is wrong there. */
export interface JsonFault {
  readonly offset: number;
  readonly message: string;
}

type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | 'colon' | 'more' | 'end';

const blank = /[ \t\r\n]*/y;
const scalar = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;
const plain = /[^"\\\u0000-\u001f]*/y;
const escaped = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y;

const missing: Record<Expected, string> = {
  value: 'a value is missing here',
  'value or ]': 'a value or a closing bracket is missing here',
  key: 'a key in double quotes is missing here',
  'key or }': 'a key in double quotes or a closing brace is missing here',
  colon: 'a colon is missing here',
  more: 'a comma or a closing bracket is missing here',
  end: 'it goes on behind its last bracket',
};

/** Undefined if the text is JSON. `JSON.parse` is quicker, but does not always say where it stopped. */
export function jsonFault(text: string): JsonFault | undefined {
  const open: string[] = [];
  let expected: Expected = 'value';
  for (let at = after(blank, text, 0); ; at = after(blank, text, at)) {
    if (at >= text.length) {
      return expected === 'end'
        ? undefined
        : { offset: text.length, message: 'it ends before its brackets are closed' };
    }
    const character = text[at] ?? '';
    const next = step(character, expected, open);
    if (next !== undefined) {
      expected = next;
      at += 1;
    } else if (character === '"' && expected !== 'colon' && expected !== 'more' && expected !== 'end') {
      const end = endOfString(text, at);
      if (typeof end !== 'number') return end;
      at = end;
      expected = expected.startsWith('key') ? 'colon' : afterValue(open);
    } else {
      const end = expected.startsWith('value') ? after(scalar, text, at) : at;
      if (end === at) return { offset: at, message: missing[expected] };
      at = end;
      expected = afterValue(open);
    }
  }
}

/** What is expected behind a bracket, comma or colon; undefined if it may not stand here. */
function step(character: string, expected: Expected, open: string[]): Expected | undefined {
  const inList = open.at(-1) === '[';
  if ((character === '{' || character === '[') && expected.startsWith('value')) {
    open.push(character);
    return character === '{' ? 'key or }' : 'value or ]';
  }
  if (character === ',' && expected === 'more') return inList ? 'value' : 'key';
  if (character === ':' && expected === 'colon') return 'value';
  const closes = inList ? character === ']' : character === '}';
  if (!closes || (expected !== 'more' && expected !== (inList ? 'value or ]' : 'key or }'))) return undefined;
  open.pop();
  return afterValue(open);
}

function afterValue(open: readonly string[]): Expected {
  return open.length === 0 ? 'end' : 'more';
}

function endOfString(text: string, start: number): number | JsonFault {
  for (let at = after(plain, text, start + 1); ; at = after(plain, text, at)) {
    if (text[at] === '"') return at + 1;
    const character = text[at];
    if (character === undefined || character === '\n' || character === '\r') {
      return { offset: at, message: 'a text is not closed with a quote' };
    }
    const end = after(escaped, text, at);
    if (end === at) {
      return {
        offset: at,
        message: character === '\\' ? 'this escape is unknown' : 'a control character is not escaped',
      };
    }
    at = end;
  }
}

/** The end of what the sticky `pattern` takes from `at` on; `at` if it takes nothing. */
function after(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
