import { svg } from './dom.js';
import { colorOf } from './versionColor.js';

/**
 * The colour of a version in the charts.
 * @param {string} version
 */
export function swatch(version) {
  return svg(
    'svg',
    { class: `swatch version-${colorOf(version)}`, 'aria-hidden': true },
    svg('rect', { width: '100%', height: '100%', rx: 2 }),
  );
}
