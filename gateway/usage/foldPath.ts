const maxSegments = 10;
const longestSegment = 40;

/** What varies from call to call: numbers, dates, UUIDs, and keys made of letters and many digits. */
const ids: readonly RegExp[] = [
  /^[+-]?\d+(?:[.,:]\d+)*$/,
  /^\d{4}-\d{2}(?:-\d{2})?(?:T[\d:.+Z-]*)?$/,
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  /^(?=.*\d)[0-9a-f]{8,}$/i,
  /^[A-Za-z]+[-_.:]\d+$/,
  /\d\D*\d\D*\d\D*\d/,
  // No word is that long without a break, and no name mixes its capitals so.
  /[A-Za-z0-9]{24,}/,
  /^(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9_-]{10,}$/,
];

/**
 * A path with `{}` in the place of each id: `/drinks/17` is `/drinks/{}`. What is no plain word, such as an e-mail address
 * or anything with a percent sign, is taken for an id, so that the result is short and harmless wherever it is shown.
 */
export function foldPath(path: string): string {
  const segments = path.slice(path.startsWith('/') ? 1 : 0).split('/', maxSegments + 1);
  const folded = segments.slice(0, maxSegments).map(foldSegment);
  return `/${folded.join('/')}${segments.length > maxSegments ? '/*' : ''}`;
}

function foldSegment(segment: string): string {
  if (segment.length > 4 * longestSegment) return '{}';
  const [, stem = segment, extension = ''] = /^(.+)(\.[A-Za-z]{2,5})$/.exec(segment) ?? [];
  if (!/^[\w.~:+$-]*$/.test(segment) || segment.length > longestSegment) return '{}';
  return ids.some((id) => id.test(stem)) ? `{}${extension}` : segment;
}
