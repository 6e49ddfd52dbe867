import { emptyMessage } from './dom.js';
import { compact } from './format.js';

/** `color`: the name of a property of the style sheet. @typedef {{ label: string, color: string, fill?: boolean, dashed?: boolean, stepped?: boolean }} Series */

/**
 * A chart over UTC time that follows the width of its container and the colours of the page.
 * @param {HTMLElement} container
 * @param {{ data: (number|null)[][], series: Series[], height: number, hover?: (index: number|null) => void, incomplete?: readonly (readonly [from: number, to: number])[], unrecorded?: { until: number, text: string } | undefined }} options
 *   `data`: times in seconds, then one list per series; `incomplete`: spans whose counts are not final;
 *   `unrecorded`: the end of the time without records, in seconds, and its label
 * @returns {() => void} removes the chart
 */
export function chart(container, { data, series, height, hover = () => {}, incomplete = [], unrecorded }) {
  const uPlot = /** @type {any} */ (globalThis).uPlot;
  if (!uPlot) {
    container.append(emptyMessage('This browser could not draw the chart.'));
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
        width: container.clientWidth,
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
          { ...axis, grid: { show: false }, size: 30, space: 70, values: timeLabels },
          {
            ...axis,
            grid: { stroke: color('--line'), width: 1 },
            size: 48,
            space: 36,
            // The possible distances between two labels.
            incrs: [1, 2, 5].flatMap((one) => powersOfTen.map((ten) => one * ten)).sort((a, b) => a - b),
            values: (/** @type {unknown} */ _plot, /** @type {number[]} */ ticks) => ticks.map(compact),
          },
        ],
        series: [{}, ...series.map((one) => seriesOptions(one, uPlot))],
        hooks: {
          draw: [
            (/** @type {any} */ drawn) => unrecorded && hatch(drawn, unrecorded),
            (/** @type {any} */ drawn) => fade(drawn, incomplete),
          ],
          setCursor: [(/** @type {{ cursor: { idx: number|null } }} */ { cursor }) => hover(cursor.idx ?? null)],
        },
      },
      data,
      container,
    );
  };
  draw();
  const darkScheme = matchMedia('(prefers-color-scheme: dark)');
  darkScheme.addEventListener('change', draw);
  const resizeObserver = new ResizeObserver(() => {
    if (container.clientWidth > 0 && container.clientWidth !== plot.width)
      plot.setSize({ width: container.clientWidth, height });
  });
  resizeObserver.observe(container);
  return () => {
    resizeObserver.disconnect();
    darkScheme.removeEventListener('change', draw);
    plot.destroy();
  };
}

const powersOfTen = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/**
 * @param {Series} series
 * @param {any} uPlot
 */
function seriesOptions({ label, color: name, fill, dashed, stepped }, uPlot) {
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

/** The top of the axis: a little above the highest value, and never below 4. @param {number} max */
function niceTop(max) {
  return Math.max(4, max * 1.08);
}

const dayFormat = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const monthFormat = new Intl.DateTimeFormat('en-GB', { month: 'short', year: 'numeric', timeZone: 'UTC' });
const hourFormat = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' });

/**
 * Labels as hours, days or months, depending on the distance between two labels. Among hours, midnight is shown as its day.
 * @param {unknown} _plot
 * @param {number[]} ticks in seconds
 */
function timeLabels(_plot, ticks) {
  const step = (ticks[1] ?? 0) - (ticks[0] ?? 0);
  const format = step < 86_400 ? hourFormat : step < 28 * 86_400 ? dayFormat : monthFormat;
  return ticks.map((seconds) => (step < 86_400 && seconds % 86_400 === 0 ? dayFormat : format).format(seconds * 1_000));
}

const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Open Sans", sans-serif';

/**
 * Fades spans of time.
 * @param {any} plot
 * @param {readonly (readonly [from: number, to: number])[]} spans
 */
function fade({ ctx, bbox, valToPos }, spans) {
  ctx.save();
  ctx.fillStyle = color('--card');
  ctx.globalAlpha = 0.6;
  for (const [from, to] of spans) {
    const left = Math.max(bbox.left, valToPos(from, 'x', true));
    ctx.fillRect(left, bbox.top, Math.min(bbox.left + bbox.width, valToPos(to, 'x', true)) - left + 1, bbox.height);
  }
  ctx.restore();
}

/**
 * Draws stripes over the time without records.
 * @param {any} plot
 * @param {{ until: number, text: string }} unrecorded
 */
function hatch({ ctx, bbox, valToPos, pxRatio }, { until, text }) {
  const ratio = pxRatio ?? devicePixelRatio;
  const width = Math.min(bbox.width, valToPos(until, 'x', true) - bbox.left);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, width, bbox.height);
  ctx.clip();
  ctx.strokeStyle = color('--line');
  ctx.lineWidth = ratio;
  ctx.beginPath();
  for (let x = -bbox.height; x < width; x += 10 * ratio) {
    ctx.moveTo(bbox.left + x, bbox.top + bbox.height);
    ctx.lineTo(bbox.left + x + bbox.height, bbox.top);
  }
  ctx.stroke();
  ctx.font = font.replace('12', String(12 * ratio));
  ctx.textAlign = 'center';
  ctx.textBaseline = 'middle';
  const labelWidth = ctx.measureText(text).width + 16 * ratio;
  if (labelWidth < width) {
    ctx.fillStyle = color('--card');
    ctx.fillRect(bbox.left + (width - labelWidth) / 2, bbox.top + bbox.height / 2 - 12 * ratio, labelWidth, 24 * ratio);
    ctx.fillStyle = color('--soft');
    ctx.fillText(text, bbox.left + width / 2, bbox.top + bbox.height / 2);
  }
  ctx.restore();
}

/** A colour of the page's style sheet. @param {string} name */
function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
