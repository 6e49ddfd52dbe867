import { Refusal } from './refusal.ts';

const strict = new TextDecoder('utf-8', { fatal: true });
const newline = 0x0a;

/** The text of a file without its byte order mark. @throws Refusal unless it is UTF-8 */
export function textOf(bytes: Uint8Array): string {
  if (isUtf16(bytes)) throw new Refusal('is UTF-16, not UTF-8', 'Save it as UTF-8.');
  try {
    return strict.decode(bytes);
  } catch {
    throw new Refusal(
      `is not UTF-8: the first bytes that are not stand in line ${badLine(bytes)}`,
      'Save it as UTF-8.',
    );
  }
}

/** By its byte order mark, or, where it has none, by the zeros of its first two characters. */
function isUtf16([a, b, c, d]: Uint8Array): boolean {
  if ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff)) return true;
  return (a === 0 && c === 0) || (b === 0 && d === 0);
}

function badLine(bytes: Uint8Array): number {
  let line = 1;
  for (let start = 0; start < bytes.length; line += 1) {
    const end = bytes.indexOf(newline, start);
    const stop = end === -1 ? bytes.length : end + 1;
    try {
      strict.decode(bytes.subarray(start, stop));
    } catch {
      return line;
    }
    start = stop;
  }
  return line;
}
