import { Expanded } from './expand.ts';

export type Path = readonly (string | number)[];

// Misspelt keys too: `admin_tokn: …` is a fault whose line is shown.
const secretKey = /t[a-z]{0,2}k[a-z]{0,2}n|secr|passw|pwd|credent|admin_?t/i;
const userinfo = /\/\/[^\s"']*@|[^\s"'/:]+:(?!\/\/)[^\s"']*@/g;

/** Text fit for a log: whatever stands before the `@` of a URL is hidden. */
export function mask(text: string): string {
  return text.replace(userinfo, (hit) => (hit.startsWith('//') ? '//***@' : '***@'));
}

export function isSecret(path: Path): boolean {
  return path.some((key) => typeof key === 'string' && !key.includes('/') && secretKey.test(key));
}

/** A line of a file fit for a terminal: what follows a key such as `admin_token:` is hidden, as are the users in URLs. */
export function maskLine(line: string): string {
  const quotedMasked = line.replace(/"[^"]*"|'[^']*'/g, (quoted) => quoted.replace(/\/\/.*@/, '//***@'));
  const masked = mask(quotedMasked);
  const keys = [...masked.matchAll(/(?<![\w/-])([\w-]+)["']?\s*:\s*(?=\S)/g)];
  const secret = keys.find(([, key]) => isSecret([key ?? '']));
  return secret ? `${masked.slice(0, secret.index + secret[0].length)}***` : masked;
}

/** A value as a fault quotes it; undefined for maps, lists and nothing. */
export function show(value: unknown, path: Path): string | undefined {
  const plain = value instanceof Expanded ? value.text : value;
  if (plain === undefined || plain === null || typeof plain === 'object') return undefined;
  if (isSecret(path)) return '***';
  const text = String(plain);
  const shown = /^[^\s"\p{C}]+$/u.test(text) ? text : JSON.stringify(text);
  // A password may hold any character, a blank too, so a whole value is cut at its last @.
  const masked = printable(mask(shown.replace(/\/\/.*@/, '//***@')));
  return masked.length > 80 ? `${masked.slice(0, 79)}…` : masked;
}

/** Text without anything that could move a terminal's cursor. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
