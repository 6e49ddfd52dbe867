export const quote = 34;
const backslash = 92;

/** The offset behind the closing quote. */
export function endOfString(text: string, start: number): number {
  // Many times as quick as to look at each character, and a large contract is mostly texts.
  let at = text.indexOf('"', start + 1);
  while (at !== -1 && isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at === -1 ? text.length + 1 : at + 1;
}

/** Behind an odd number of backslashes. */
function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === backslash) before -= 1;
  return (at - before) % 2 === 0;
}

/** What a text of JSON means. */
export function unquoted(quoted: string): string {
  return quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
}
