/**
 * JSON for a terminal as well as for a program: JSON itself lets the control characters above ASCII stand (RFC 8259 §7),
 * and those that turn text around.
 */
export function printedJson(value: unknown): string {
  const text = JSON.stringify(value, null, 2);
  const safe = text.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from({ length: character.length }, (_unit, at) => escapeOf(character.charCodeAt(at))).join(''),
  );
  return `${safe}\n`;
}

function escapeOf(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}
