import { printable, safeText } from './text.ts';

// Untrusted text in Markdown and HTML.

/** A piece of a text: plain, or a name that was in backticks. */
interface TextPart {
  readonly isCode: boolean;
  readonly text: string;
}

/** Splits a text at its backticks. A last one without a partner is part of the text. */
function textParts(text: string): TextPart[] {
  const pieces = text.split('`');
  return pieces
    .map((piece, index) => {
      const isPlain = index % 2 === 0;
      const isUnpaired = !isPlain && index === pieces.length - 1;
      return { isCode: !isPlain && !isUnpaired, text: isUnpaired ? `\`${piece}` : piece };
    })
    .filter((part) => part.text !== '');
}

/**
 * Escapes text for GitHub's Markdown. A character reference is never read as syntax (CommonMark §2.5). GitHub also links
 * mentions and issue numbers in the rendered text; a zero-width space after `@`, `#` and `GH-` prevents that.
 */
export function plainAsMarkdown(text: string, maxLength?: number): string {
  // A zero-width space in front of `-` or `1.`, so that the text does not become an item of a list.
  return cellAsMarkdown(text, maxLength).replace(/^(?:-|\d+(?=[.)]))/, (start) => `&#8203;${start}`);
}

/** Like `plainAsMarkdown`, for a cell of a table, which cannot begin a list. */
export function cellAsMarkdown(text: string, maxLength?: number): string {
  // `@` and `#`, which are character references now, and `GH-` in front of a number.
  return asReferences(safeText(text, maxLength)).replace(/&#(?:64|35);|GH-(?=\d)/gi, '$&&#8203;');
}

/** Text as code, in which GitHub links nothing. */
export function codeAsMarkdown(text: string, maxLength?: number): string {
  const shown = safeText(text, maxLength);
  if (shown.trim() === '') return plainAsMarkdown(shown);
  // A code span cannot escape these characters. An element can, with character references.
  return /[`|\\]/.test(shown) ? `<code>${asReferences(shown)}</code>` : `\`${shown}\``;
}

/** A sentence with names in backticks. */
export function sentenceAsMarkdown(text: string, maxLength?: number): string {
  // The whole text is cut already. The lengths keep its parts whole: the default maximum might cut them.
  return textParts(safeText(text, maxLength))
    .map(({ isCode, text: part }) => (isCode ? codeAsMarkdown : plainAsMarkdown)(part, part.length))
    .join('');
}

/** `head` and `rows`: the cells, escaped. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)];
}

/**
 * Replaces each character that may be Markdown syntax. The other punctuation is replaced only where GitHub would recognize a
 * URL: the `:` of `://` and the `.` of `www.`.
 */
function asReferences(text: string): string {
  return text.replace(
    /[^\p{L}\p{N} ,;?./:(){}'"→…·%▁-█-]|:(?=\/\/)|(?<=www)\./giu,
    (character) => `&#${character.codePointAt(0)};`,
  );
}

/** Escaped markup. Create it with `html`, which escapes what it inserts; the constructor does not. */
export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

type HtmlPart = Html | string | number | undefined | readonly HtmlPart[];

/** A template that escapes its parts, for text and quoted attributes. Undefined inserts nothing. */
export function html(strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  return new Html(strings.reduce((text, string, index) => text + render(parts[index - 1]) + string));
}

function render(part: HtmlPart): string {
  if (part === undefined) return '';
  if (part instanceof Html) return part.toString();
  if (typeof part === 'object') return part.map(render).join('');
  return String(part).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A sentence with names in backticks. */
export function sentenceAsHtml(text: string): Html {
  return html`${textParts(printable(text)).map((part) => (part.isCode ? html`<code>${part.text}</code>` : part.text))}`;
}
