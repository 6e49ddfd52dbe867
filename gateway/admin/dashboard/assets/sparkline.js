import { svg } from './dom.js';
import { day } from './format.js';
import { colorOf } from './versionColor.js';

const [width, height] = [96, 24];

/**
 * Thirty days as one small line; it repeats what the table says, so screen readers skip it.
 * @param {string} version
 * @param {readonly { at: string, requests: number }[]} days
 * @param {number} now
 */
export function sparkline(version, days, now) {
  const today = Math.floor(now / day);
  const counts = Array.from({ length: 30 }, () => 0);
  for (const { at, requests } of days) {
    const index = 29 - (today - Math.floor(Date.parse(at) / day));
    if (index in counts) counts[index] = requests;
  }
  const most = Math.max(1, ...counts);
  const points = counts.map(
    (one, at) => `${((at / 29) * (width - 4) + 2).toFixed(1)},${(height - 3 - (one / most) * (height - 6)).toFixed(1)}`,
  );
  return svg(
    'svg',
    {
      class: `spark version-${colorOf(version)}`,
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      'aria-hidden': true,
      focusable: 'false',
    },
    svg('polygon', { points: `2,${height - 3} ${points.join(' ')} ${width - 2},${height - 3}` }),
    svg('polyline', { points: points.join(' ') }),
  );
}
