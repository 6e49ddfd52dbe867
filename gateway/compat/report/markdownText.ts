import { safeText } from './words.ts';

/**
 * Escapes text for GitHub's Markdown. A character reference is never read as syntax (CommonMark §2.5). GitHub also links
 * mentions and issue numbers in the rendered text; a zero-width space after `@`, `#` and `GH-` prevents that.
 */
export function plain(text: string, length?: number): string {
  return asReferences(safeText(text, length))
    .replace(/^(?:-|\d+(?=[.)]))/, (start) => `&#8203;${start}`)
    .replace(/&#(?:64|35);|GH-(?=\d)/gi, '$&&#8203;');
}

/** Text as code, in which GitHub links nothing. */
export function code(text: string, length?: number): string {
  const cut = safeText(text, length);
  if (cut.trim() === '') return plain(cut);
  return /[`|\\]/.test(cut) ? `<code>${asReferences(cut)}</code>` : `\`${cut}\``;
}

/** A sentence with names in backticks. */
export function sentence(text: string, length?: number): string {
  const pieces = safeText(text, length).split('`');
  const isPaired = pieces.length % 2 === 1;
  return pieces
    .map((piece, index) => {
      if (index % 2 === 0) return plain(piece, piece.length + 1);
      return isPaired || index < pieces.length - 1
        ? code(piece, piece.length + 1)
        : plain(`\`${piece}`, piece.length + 2);
    })
    .join('');
}

function asReferences(text: string): string {
  return text.replace(/[^\p{L}\p{N} ,;?./:(){}'"→…-]|:(?=\/\/)|(?<=www)\./giu, (one) => `&#${one.codePointAt(0)};`);
}
