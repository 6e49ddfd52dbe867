export const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Open Sans", sans-serif';

/**
 * @param {any} plot
 * @param {readonly (readonly [from: number, to: number])[]} spans
 */
export function fade({ ctx, bbox, valToPos }, spans) {
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
 * Stripes where nothing is known, unlike any value.
 * @param {any} plot
 * @param {{ until: number, text: string }} unknown
 */
export function hatch({ ctx, bbox, valToPos, pxRatio }, { until, text }) {
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
  const room = ctx.measureText(text).width + 16 * ratio;
  if (room < width) {
    ctx.fillStyle = color('--card');
    ctx.fillRect(bbox.left + (width - room) / 2, bbox.top + bbox.height / 2 - 12 * ratio, room, 24 * ratio);
    ctx.fillStyle = color('--soft');
    ctx.fillText(text, bbox.left + width / 2, bbox.top + bbox.height / 2);
  }
  ctx.restore();
}

/** @param {string} name */
export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
