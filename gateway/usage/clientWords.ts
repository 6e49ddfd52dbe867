import { hash } from 'node:crypto';

const longest = 64;
const secretName = /key|token|auth|secret|cookie|session|credential|password|signature|jwt/;
const plainName =
  /(?:^|-)(?:id|client|agent|app|application|name|service|consumer|caller|product|partner|tenant|team|from|origin|by|with)(?:-|$)/;
// An id is no secret, but people do put secrets where an id belongs.
const secretValue = /^(?:bearer|basic|digest|negotiate)\s|^eyJ[\w-]*\.[\w-]+\.|^(?:sk|pk|rk|gh[opsu]|xox[abps])[-_]/i;

/** Whether the values of a header may be written down. A name that says nothing about them counts as a secret. */
export function isPlain(header: string): boolean {
  return !secretName.test(header) && plainName.test(header);
}

// In hexadecimal digits: 64 bits, so that no two of a million secrets are likely to meet.
const tagLength = 16;

/** `#4f2a91c07be05d3a`: tells secrets apart without saying them. */
export function tag(salt: string, value: string): string {
  return `#${hash('sha256', salt + value).slice(0, tagLength)}`;
}

/**
 * A client's own word for itself in letters that mean nothing to a terminal, a browser or a spreadsheet; '' for one that
 * is blank. A word that had to be changed or cut ends in `~` and a tag, so that two of them stay two.
 */
export function plainWord(salt: string, word: string): string {
  const trimmed = word.trim();
  if (trimmed === '') return '';
  if (secretValue.test(trimmed)) return tag(salt, trimmed);
  const clean = cleaned(trimmed);
  if (clean === trimmed) return clean;
  return `${clean.slice(0, longest - tagLength - 1)}~${tag(salt, trimmed).slice(1)}`;
}

/** The first product of a User-Agent (RFC 9110 §10.1.5) without its version, as a plain word; '' where there is none. */
export function productOf(salt: string, userAgent: string): string {
  const product = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)/.exec(userAgent)?.[1] ?? '';
  return secretValue.test(product) || cleaned(product) === '' ? '' : plainWord(salt, product);
}

/** At most 64 characters, the first of them a letter or digit: `=`, `+`, `-` and `@` begin a formula. */
function cleaned(word: string): string {
  return word
    .slice(0, 4 * longest)
    .replace(/^[^0-9A-Za-z]+/, '')
    .replace(/[^0-9A-Za-z ._:/@+-]/g, '_')
    .slice(0, longest)
    .trimEnd();
}
