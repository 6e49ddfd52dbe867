// Beyond control characters: what turns or hides text (bidirectional overrides, zero widths), lone surrogates, and
// separators that some programs take for the end of a line.
const dangerous = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/**
 * What a client calls itself, fit to be printed: whatever could move a cursor, end a line or turn the text around is
 * written as an escape.
 */
export function harmless(text: string): string {
  return text.replace(dangerous, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
  });
}

/** The same, and no longer than `length` characters, so that one client cannot fill a page. */
export function harmlessly(text: string, length = 60): string {
  // Cut before it is escaped as well: a User-Agent may be as long as a request's head.
  const characters = [...harmless(text.slice(0, 4 * length))];
  return characters.length > length ? `${characters.slice(0, length - 1).join('')}…` : characters.join('');
}
