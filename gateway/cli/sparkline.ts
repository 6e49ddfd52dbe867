const bars = '▁▂▃▄▅▆▇█';
const dayMs = 86_400_000;
// A month, and today.
const widest = 31;

/**
 * Requests day by day in one line, as high as the busiest; a dot is a day without any. Days that are missing had
 * none. More than 31 days share their bars evenly. `since` and `until` in epoch ms.
 */
export function sparkline(
  days: readonly { readonly at: string; readonly requests: number }[],
  since: number,
  until: number,
): string {
  const first = Math.floor(since / dayMs);
  const length = Math.floor(until / dayMs) - first + 1;
  const width = Math.min(length, widest);
  const sums = new Array<number>(Math.max(0, width)).fill(0);
  for (const { at, requests } of days) {
    const place = Math.floor(((Math.floor(Date.parse(at) / dayMs) - first) * width) / length);
    if (place >= 0 && place < width) sums[place] = (sums[place] ?? 0) + requests;
  }
  const most = Math.max(...sums, 1);
  return sums.map((sum) => (sum === 0 ? '·' : bars[Math.ceil((sum / most) * bars.length) - 1])).join('');
}
