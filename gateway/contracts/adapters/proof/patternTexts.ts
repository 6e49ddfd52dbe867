import { regExpOf } from '../../../contract/schema/patterns.ts';

/** A source of numbers from 0 up to 1. The same seed gives the same numbers. */
export type Random = () => number;

/** The generator mulberry32. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A part of a regular expression: a choice between sequences, a set of characters, or a part that is repeated. */
type Part =
  | { readonly kind: 'choice'; readonly sequences: readonly (readonly Part[])[] }
  | { readonly kind: 'set'; readonly characters: readonly string[] }
  | { readonly kind: 'repeat'; readonly part: Part; readonly min: number; readonly max: number };

const printableCharacters = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index));
const digits = printableCharacters.filter((character) => /\d/.test(character));
const wordCharacters = printableCharacters.filter((character) => /\w/.test(character));
const printableExcept = (set: readonly string[]): string[] =>
  printableCharacters.filter((character) => !set.includes(character));
/** Key: the letter after the backslash. Value: the characters that the class contains. */
const characterClasses: Readonly<Record<string, readonly string[]>> = {
  d: digits,
  D: printableExcept(digits),
  w: wordCharacters,
  W: printableExcept(wordCharacters),
  s: [' '],
  S: printableExcept([' ']),
};
/** Key: the letter after the backslash. */
const controlCharacters: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v', 0: '\0' };
// How often `*`, `+` and `{2,}` repeat a part at most, in addition to the required times.
const maxExtraRepeats = 3;

class UnsupportedPattern extends Error {}

/** Parses the common part of regular expressions. Look-around, back references and properties are not supported. */
class PatternParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): Part {
    const part = this.#choice();
    if (this.#at < this.#text.length) throw new UnsupportedPattern();
    return part;
  }

  #choice(): Part {
    const sequences: Part[][] = [[]];
    for (;;) {
      const next = this.#text[this.#at];
      if (next === undefined || next === ')') return { kind: 'choice', sequences };
      this.#at += 1;
      if (next === '|') sequences.push([]);
      else if (next !== '^' && next !== '$') sequences.at(-1)?.push(this.#repeated(this.#atom(next)));
    }
  }

  #atom(first: string): Part {
    if (first === '(') {
      if (this.#text.startsWith('?:', this.#at)) this.#at += 2;
      else if (this.#text[this.#at] === '?') throw new UnsupportedPattern();
      const part = this.#choice();
      if (this.#text[this.#at] !== ')') throw new UnsupportedPattern();
      this.#at += 1;
      return part;
    }
    if (first === '[') return { kind: 'set', characters: this.#set() };
    if (first === '.') return { kind: 'set', characters: printableCharacters };
    if (first === '\\') return { kind: 'set', characters: this.#escaped() };
    if ('*+?{'.includes(first)) throw new UnsupportedPattern();
    return { kind: 'set', characters: [first] };
  }

  #escaped(): readonly string[] {
    const name = this.#text[this.#at] ?? '';
    this.#at += 1;
    const characters =
      characterClasses[name] ?? (controlCharacters[name] === undefined ? undefined : [controlCharacters[name]]);
    if (characters) return characters;
    if (name === '' || /[\w]/.test(name)) throw new UnsupportedPattern();
    return [name];
  }

  #set(): readonly string[] {
    const isNegated = this.#text[this.#at] === '^';
    if (isNegated) this.#at += 1;
    const characters: string[] = [];
    for (;;) {
      const next = this.#text[this.#at];
      if (next === undefined) throw new UnsupportedPattern();
      this.#at += 1;
      if (next === ']') break;
      const from = next === '\\' ? this.#escaped() : [next];
      // Beside a class such as \w, a hyphen stands for itself.
      const isRange =
        from.length === 1 && this.#text[this.#at] === '-' && !/^(?:\]|\\[dDwWsS])/.test(this.#text.slice(this.#at + 1));
      if (isRange) {
        this.#at += 1;
        const end = this.#text[this.#at] ?? '';
        this.#at += 1;
        const to = end === '\\' ? this.#escaped() : [end];
        const [low, high] = [from[0]?.codePointAt(0) ?? 0, to[0]?.codePointAt(0) ?? 0];
        // At most 128 characters of a range.
        for (let code = low; code <= Math.min(high, low + 127); code += 1) characters.push(String.fromCodePoint(code));
      } else characters.push(...from);
    }
    const set = isNegated ? printableExcept(characters) : characters;
    if (set.length === 0) throw new UnsupportedPattern();
    return set;
  }

  #repeated(part: Part): Part {
    // `*`, `+`, `?`, `{2}`, `{2,}` or `{2,5}`, perhaps with the `?` of a lazy repeat.
    const [whole = '', symbol, least, comma, most] =
      /^(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/.exec(this.#text.slice(this.#at)) ?? [];
    if (whole === '') return part;
    this.#at += whole.length;
    const min = symbol === undefined ? Number(least) : symbol === '+' ? 1 : 0;
    const hasNoMaximum = symbol === undefined ? comma !== undefined && most === '' : symbol !== '?';
    const max = hasNoMaximum ? min + maxExtraRepeats : symbol === '?' ? 1 : Number(comma === undefined ? least : most);
    return { kind: 'repeat', part, min, max };
  }
}

function textOf(part: Part, random: Random): string {
  switch (part.kind) {
    case 'set':
      return pick(part.characters, random);
    case 'choice':
      return pick(part.sequences, random)
        .map((one) => textOf(one, random))
        .join('');
    case 'repeat': {
      const count = part.min + Math.floor(random() * (part.max - part.min + 1));
      return Array.from({ length: count }, () => textOf(part.part, random)).join('');
    }
  }
}

export function pick<Value>(values: readonly Value[], random: Random): Value {
  const value = values[Math.floor(random() * values.length)];
  if (value === undefined) throw new RangeError('nothing to pick from');
  return value;
}

const parsedPatterns = new Map<string, Part | undefined>();

/** A random text that matches a pattern. Undefined: the pattern is not supported, or the generated text does not match. */
export function textFor(pattern: string, random: Random): string | undefined {
  if (!parsedPatterns.has(pattern)) {
    if (parsedPatterns.size > 1000) parsedPatterns.clear();
    parsedPatterns.set(pattern, parsed(pattern));
  }
  const part = parsedPatterns.get(pattern);
  const text = part && textOf(part, random);
  // The parser ignores anchors, so the text may not match.
  return text !== undefined && regExpOf(pattern)?.test(text) ? text : undefined;
}

function parsed(pattern: string): Part | undefined {
  try {
    return regExpOf(pattern) && new PatternParser(pattern).parse();
  } catch (error) {
    if (error instanceof UnsupportedPattern) return undefined;
    throw error;
  }
}

/**
 * Short and long texts that match a pattern, also with other characters around them if the pattern is not anchored. The same for
 * each call.
 */
export function sampleTextsFor(pattern: string): string[] | undefined {
  const random = randomFrom(1);
  // The first and the last of all choices usually give the shortest and the longest text.
  const ends = [textFor(pattern, () => 0), textFor(pattern, () => 0.999_999)];
  const others = Array.from({ length: 60 }, () => textFor(pattern, random));
  const texts = [...ends, ...others].filter((text) => text !== undefined);
  if (texts.length === 0) return undefined;
  const [first = ''] = texts;
  const surrounded = [`x${first}`, `${first}x`].filter((text) => regExpOf(pattern)?.test(text));
  return [...new Set([...texts, ...surrounded])];
}

/** Whether a pattern limits the length of its texts. */
export function limitsLength(pattern: string): boolean {
  // A full stop replaces each escape, set and group.
  let text = pattern.replace(/\\./g, '.').replace(/\[[^\]]*\]/g, '.');
  // `*`, `+` and `{2,}` have no upper limit.
  if (/[*+]|,\}/.test(text)) return false;
  for (let before = ''; before !== text; ) {
    before = text;
    text = text.replace(/\([^()]*\)/g, '.');
  }
  // Anchors apply to a single alternative.
  return text.split('|').every((alternative) => alternative.startsWith('^') && alternative.endsWith('$'));
}
