import { empty } from './dom.js';
import { brief } from './format.js';
import { color, fade, font, hatch } from './shades.js';

/** @typedef {{ label: string, color: string, fill?: boolean, dashed?: boolean, stepped?: boolean }} Series */

/**
 * A chart over UTC time that follows the width of its place and the colours of the page.
 * @param {HTMLElement} target
 * @param {{ data: (number|null)[][], series: Series[], height: number, hover?: (index: number|null) => void, pale?: readonly (readonly [from: number, to: number])[], unknown?: { until: number, text: string } | undefined }} what
 *   `data`: instants in seconds first, then one list a series; `pale`: spans that are not counted to their end;
 *   `unknown`: until when nothing is known, in seconds, and what to say of it
 * @returns {() => void} takes it away
 */
export function chart(target, { data, series, height, hover = () => {}, pale = [], unknown }) {
  const uPlot = /** @type {any} */ (globalThis).uPlot;
  if (!uPlot) {
    target.append(empty('This browser could not draw the chart.'));
    return () => {};
  }
  /** @type {any} */
  let plot;
  const draw = () => {
    plot?.destroy();
    const soft = color('--soft');
    const axis = { stroke: soft, font, ticks: { show: false }, border: { show: false } };
    plot = new uPlot(
      {
        width: target.clientWidth,
        height,
        tzDate: (/** @type {number} */ seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'UTC'),
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
        scales: {
          y: {
            range: (/** @type {unknown} */ _plot, /** @type {number} */ _min, /** @type {number} */ max) => [
              0,
              niceTop(max),
            ],
          },
        },
        axes: [
          { ...axis, grid: { show: false }, size: 30, space: 70, values: labels },
          {
            ...axis,
            grid: { stroke: color('--line'), width: 1 },
            size: 48,
            space: 36,
            incrs: [1, 2, 5].flatMap((one) => powers.map((ten) => one * ten)).sort((a, b) => a - b),
            values: (/** @type {unknown} */ _plot, /** @type {number[]} */ all) => all.map(brief),
          },
        ],
        series: [{}, ...series.map((one) => line(one, uPlot))],
        hooks: {
          draw: [
            (/** @type {any} */ drawn) => unknown && hatch(drawn, unknown),
            (/** @type {any} */ drawn) => fade(drawn, pale),
          ],
          setCursor: [(/** @type {{ cursor: { idx: number|null } }} */ { cursor }) => hover(cursor.idx ?? null)],
        },
      },
      data,
      target,
    );
  };
  draw();
  const dark = matchMedia('(prefers-color-scheme: dark)');
  dark.addEventListener('change', draw);
  const sized = new ResizeObserver(() => {
    if (target.clientWidth > 0 && target.clientWidth !== plot.width)
      plot.setSize({ width: target.clientWidth, height });
  });
  sized.observe(target);
  return () => {
    sized.disconnect();
    dark.removeEventListener('change', draw);
    plot.destroy();
  };
}

const powers = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/**
 * @param {Series} series
 * @param {any} uPlot
 */
function line({ label, color: name, fill, dashed, stepped }, uPlot) {
  const paint = color(name);
  return {
    label,
    stroke: paint,
    width: fill ? 1 : 2,
    points: { show: false },
    ...(fill && { fill: paint }),
    ...(dashed && { dash: [5, 5] }),
    ...(stepped && { paths: uPlot.paths.stepped({ align: 1 }) }),
  };
}

/** @param {number} max */
function niceTop(max) {
  return Math.max(4, max * 1.08);
}

const days = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const months = new Intl.DateTimeFormat('en-GB', { month: 'short', year: 'numeric', timeZone: 'UTC' });
const hours = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' });

/**
 * One line an instant: an hour, a day or a month, whichever the distance of two labels is.
 * @param {unknown} _plot
 * @param {number[]} all
 */
function labels(_plot, all) {
  const step = (all[1] ?? 0) - (all[0] ?? 0);
  const spelled = step < 86_400 ? hours : step < 28 * 86_400 ? days : months;
  return all.map((seconds) => (step < 86_400 && seconds % 86_400 === 0 ? days : spelled).format(seconds * 1_000));
}
