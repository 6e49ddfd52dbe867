import { ApiError } from './api.js';
import { ago, dateTime } from './format.js';

/** @typedef {Node|string|number|null|undefined|false} Child */

/**
 * Creates an element. Strings become text nodes: data from clients is never parsed as markup.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, string|number|boolean|null|undefined|((event: Event) => void)>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(key, value);
    else setAttribute(element, key, value);
  }
  element.append(...withoutEmpty(children));
  return element;
}

/**
 * @param {string} name
 * @param {Record<string, string|number|boolean|null|undefined>} [attributes]
 * @param {...Child} children
 */
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) setAttribute(element, key, value);
  element.append(...withoutEmpty(children));
  return element;
}

/**
 * An element of index.html.
 * @param {string} id
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no #${id}`);
  return found;
}

/**
 * The notice in a part of the page that has no data.
 * @param {string} text
 * @param {string} [hint]
 */
export function emptyMessage(text, hint) {
  return el('div', { class: 'empty' }, el('p', {}, text), hint && el('p', { class: 'soft' }, hint));
}

/**
 * @param {Element} element
 * @param {string} key
 * @param {string|number|boolean|null|undefined} value
 */
function setAttribute(element, key, value) {
  if (value === undefined || value === null || value === false) return;
  element.setAttribute(key, value === true ? '' : String(value));
}

/**
 * Drops null, undefined, false and empty strings, so that `condition && element` can be a child.
 * @param {readonly Child[]} children
 */
function withoutEmpty(children) {
  return children.flatMap((child) => {
    if (child === null || child === undefined || child === false || child === '') return [];
    return [typeof child === 'number' ? String(child) : child];
  });
}

/**
 * Radio buttons that look like a row of buttons.
 * @param {string} name
 * @param {string} legend
 * @param {readonly (readonly [value: string, label: string])[]} options
 * @param {string} chosen
 * @param {(value: string) => void} choose
 */
export function segmented(name, legend, options, chosen, choose) {
  return el(
    'fieldset',
    { class: 'segmented' },
    el('legend', { class: 'visually-hidden' }, legend),
    ...options.map(([value, label]) =>
      el(
        'label',
        {},
        el('input', { type: 'radio', name, value, checked: value === chosen, change: () => choose(value) }),
        el('span', {}, label),
      ),
    ),
  );
}

/**
 * How long ago something happened, with the exact time as a tooltip.
 * @param {string|null} iso
 * @param {number} now
 */
export function timeAgo(iso, now) {
  if (iso === null) return ago(iso, now);
  return el('time', { datetime: iso, title: `${dateTime(Date.parse(iso))} UTC` }, ago(iso, now));
}

/**
 * A sample of the colour that a version has in the charts.
 * @param {string} version
 */
export function swatch(version) {
  return svg(
    'svg',
    { class: `swatch version-${colorOf(version)}`, 'aria-hidden': true },
    svg('rect', { width: '100%', height: '100%', rx: 2 }),
  );
}

/**
 * The major of an id: 1 of `v1` and of `orders/v1`.
 * @param {string} version
 */
const majorOf = (version) => Number(version.slice(version.lastIndexOf('/') + 2));

/**
 * Sorts versions by API, the API at the root first, then by major. '', for requests without a version, comes first.
 * @param {string} a
 * @param {string} b
 */
export function compareVersions(a, b) {
  const [baseOfA = '', baseOfB = ''] = [a, b].map((version) => version.slice(0, Math.max(0, version.lastIndexOf('/'))));
  if (baseOfA !== baseOfB) return baseOfA < baseOfB ? -1 : 1;
  return (a === '' ? -1 : majorOf(a)) - (b === '' ? -1 : majorOf(b));
}

/**
 * The number of a version's colour, 1 to 6, or 0 for requests without a version. It depends on the version alone, so a
 * version has the same colour in every chart. v7 has the same colour as v1.
 * @param {string} version
 */
export function colorOf(version) {
  const major = majorOf(version);
  return version === '' || !Number.isInteger(major) ? 0 : ((major + 5) % 6) + 1;
}

/**
 * An entry of a `dl.facts`.
 * @param {string} name
 * @param {string} value
 * @param {string} detail
 */
export function fact(name, value, detail) {
  return el('div', {}, el('dt', {}, name), el('dd', {}, value, ' ', el('small', {}, detail)));
}

/**
 * The notice in a part of the page that could not be loaded.
 * @param {unknown} error
 */
export function errorNotice(error) {
  if (error instanceof ApiError && error.code === 'NO_LEDGER')
    return emptyMessage('Usage is not recorded.', 'This gateway runs without a usage ledger.');
  if (error instanceof ApiError && error.status === 404) return emptyMessage('Not available.', error.message);
  const text = error instanceof ApiError ? error.message : 'The gateway does not answer. This page tries again.';
  return el('p', { class: 'problem' }, text);
}
