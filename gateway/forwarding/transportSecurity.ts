/** Strict-Transport-Security for a year: of this host alone, since those below it are not ours to speak for (RFC 6797 §6.1). */
export const transportSecurity = 'max-age=31536000';
