const bars = '▁▂▃▄▅▆▇█';
const dayMs = 86_400_000;
// A month, and today.
const widest = 31;

/**
 * Requests day by day in one line, as high as the busiest; a dot is a day without any. Days that are missing had
 * none; those before `covered` are not known, and blank. More than 31 days share their bars evenly. Epoch ms.
 */
export function sparkline(
  days: readonly { readonly at: string; readonly requests: number }[],
  since: number,
  until: number,
  covered = since,
): string {
  const first = Math.floor(since / dayMs);
  const length = Math.floor(until / dayMs) - first + 1;
  const width = Math.min(length, widest);
  const sums = new Array<number>(Math.max(0, width)).fill(0);
  const placeOf = (instant: number): number => Math.floor(((Math.floor(instant / dayMs) - first) * width) / length);
  const known = placeOf(covered);
  for (const { at, requests } of days) {
    const place = placeOf(Date.parse(at));
    if (place >= 0 && place < width) sums[place] = (sums[place] ?? 0) + requests;
  }
  const most = Math.max(...sums, 1);
  const without = (place: number): string => (place < known ? ' ' : '·');
  return sums
    .map((sum, place) => (sum === 0 ? without(place) : bars[Math.ceil((sum / most) * bars.length) - 1]))
    .join('');
}
