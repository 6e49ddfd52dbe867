import { Expanded } from './expand.ts';

export type Path = readonly (string | number)[];

const secretKey = /token|secret|passw/i;
const userinfo = /\/\/[^\s"']*@|[^\s"'/:]+:(?!\/\/)[^\s"']*@/g;

/** Text fit for a log: whatever stands before the `@` of a URL is hidden. */
export function mask(text: string): string {
  return text.replace(userinfo, (hit) => (hit.startsWith('//') ? '//***@' : '***@'));
}

export function isSecret(path: Path): boolean {
  return path.some((key) => typeof key === 'string' && secretKey.test(key));
}

/** A line of a file fit for a terminal: what follows a key such as `admin_token:` is hidden, as are the users in URLs. */
export function maskLine(line: string): string {
  const quotedMasked = line.replace(/"[^"]*"|'[^']*'/g, (quoted) => quoted.replace(/\/\/.*@/, '//***@'));
  return mask(quotedMasked).replace(/^(.*?(?:token|secret|passw)[\w-]*["']?\s*:\s*)\S.*$/i, '$1***');
}

/** A value as a fault quotes it; undefined for maps, lists and nothing. */
export function show(value: unknown, path: Path): string | undefined {
  const plain = value instanceof Expanded ? value.text : value;
  if (plain === undefined || plain === null || typeof plain === 'object') return undefined;
  if (isSecret(path)) return '***';
  const text = String(plain);
  const shown = /^[^\s"]+$/.test(text) ? text : JSON.stringify(text);
  // A password may hold any character, a blank too, so a whole value is cut at its last @.
  const masked = mask(shown.replace(/\/\/.*@/, '//***@'));
  return masked.length > 80 ? `${masked.slice(0, 79)}…` : masked;
}
