import { endOfString, quote, unquoted } from './jsonText.ts';
import type { Wanted } from './wanted.ts';

const [openBrace, closeBrace, openBracket, closeBracket] = [123, 125, 91, 93];
const comma = 44;

/** Notes where what is wanted stands in a text that is known to be JSON. Whatever else is there is passed over. */
export function findInJson(text: string, wanted: Wanted): void {
  new JsonWalk(text).find(wanted);
}

class JsonWalk {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Walks over one value. */
  find(wanted: Wanted): void {
    this.#passBlanks();
    wanted.offset ??= this.#at;
    const first = this.#text.charCodeAt(this.#at);
    if (wanted.inner.size === 0) this.#passValue();
    else if (first === openBrace) this.#map(wanted);
    else if (first === openBracket) this.#list(wanted);
    else this.#passValue();
  }

  #map({ inner }: Wanted): void {
    this.#at += 1;
    while (this.#next() !== closeBrace) {
      const start = this.#at;
      this.#passString();
      const found = inner.get(unquoted(this.#text.slice(start, this.#at)));
      this.#passBlanks();
      this.#at += 1; // the colon
      if (found) {
        found.offset = start;
        this.find(found);
      } else this.#passValue();
    }
    this.#at += 1;
  }

  #list({ inner }: Wanted): void {
    this.#at += 1;
    for (let index = 0; this.#next() !== closeBracket; index += 1) {
      const found = inner.get(String(index));
      if (found) this.find(found);
      else this.#passValue();
    }
    this.#at += 1;
  }

  /** The first character of what comes next in a map or list; at the end of a text, what would close it. */
  #next(): number {
    this.#passBlanks();
    if (this.#text.charCodeAt(this.#at) === comma) this.#at += 1;
    this.#passBlanks();
    return this.#text.charCodeAt(this.#at);
  }

  #passBlanks(): void {
    while (this.#text.charCodeAt(this.#at) <= 32) this.#at += 1;
  }

  /** Counts brackets only; what is between them need not be looked at. */
  #passValue(): void {
    const text = this.#text;
    let depth = 0;
    let at = this.#at;
    for (; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === quote) at = endOfString(text, at) - 1;
      else if (code === openBrace || code === openBracket) depth += 1;
      else if (code === closeBrace || code === closeBracket) depth -= 1;
      else if (code !== comma) continue;
      // A number ends where its map or list goes on; all else has an end of its own.
      if (depth < 0 || (depth === 0 && code === comma)) break;
      if (depth === 0) {
        at += 1;
        break;
      }
    }
    this.#at = at;
  }

  #passString(): void {
    this.#at = endOfString(this.#text, this.#at);
  }
}
