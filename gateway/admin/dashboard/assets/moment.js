import { el } from './dom.js';
import { ago, dateTime } from './format.js';

/**
 * How long ago something was; when exactly, for whoever points at it.
 * @param {string|null} iso
 * @param {number} now
 */
export function moment(iso, now) {
  if (iso === null) return ago(iso, now);
  return el('time', { datetime: iso, title: `${dateTime(Date.parse(iso))} UTC` }, ago(iso, now));
}
