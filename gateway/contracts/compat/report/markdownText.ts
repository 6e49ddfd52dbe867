import { safeText } from './words.ts';

/**
 * Escapes text for GitHub's Markdown. A character reference is never read as syntax (CommonMark §2.5). GitHub also links
 * mentions and issue numbers in the rendered text; a zero-width space after `@`, `#` and `GH-` prevents that.
 */
export function plainAsMarkdown(text: string, maxLength?: number): string {
  return (
    asReferences(safeText(text, maxLength))
      // A zero-width space in front of `-` or `1.`, so that the text does not become an item of a list.
      .replace(/^(?:-|\d+(?=[.)]))/, (start) => `&#8203;${start}`)
      // `@` and `#`, which are character references now, and `GH-` in front of a number.
      .replace(/&#(?:64|35);|GH-(?=\d)/gi, '$&&#8203;')
  );
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
  const pieces = safeText(text, maxLength).split('`');
  const isPaired = pieces.length % 2 === 1;
  // The whole text is cut already. These maximums keep its pieces whole: the default maximum might cut them.
  return pieces
    .map((piece, index) => {
      if (index % 2 === 0) return plainAsMarkdown(piece, piece.length);
      return isPaired || index < pieces.length - 1
        ? codeAsMarkdown(piece, piece.length)
        : plainAsMarkdown(`\`${piece}`, piece.length + 1);
    })
    .join('');
}

/**
 * Replaces each character that may be Markdown syntax. The other punctuation is replaced only where GitHub would recognize a
 * URL: the `:` of `://` and the `.` of `www.`.
 */
function asReferences(text: string): string {
  return text.replace(
    /[^\p{L}\p{N} ,;?./:(){}'"→…-]|:(?=\/\/)|(?<=www)\./giu,
    (character) => `&#${character.codePointAt(0)};`,
  );
}
