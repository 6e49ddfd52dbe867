/** @typedef {Node|string|number|null|undefined|false} Child */

/**
 * An element. Whatever is said in it is text: nothing that a client sent is ever read as markup.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, string|number|boolean|null|undefined|((event: Event) => void)>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(key, value);
    else set(made, key, value);
  }
  made.append(...parts(children));
  return made;
}

/**
 * @param {string} name
 * @param {Record<string, string|number|boolean|null|undefined>} [attributes]
 * @param {...Child} children
 */
export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) set(made, key, value);
  made.append(...parts(children));
  return made;
}

/**
 * The place that index.html has for a part of the page.
 * @param {string} id
 */
export function place(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no #${id}`);
  return found;
}

/**
 * @param {string} text
 * @param {string} [hint]
 */
export function empty(text, hint) {
  return el('div', { class: 'empty' }, el('p', {}, text), hint && el('p', { class: 'soft' }, hint));
}

/**
 * @param {Element} made
 * @param {string} key
 * @param {string|number|boolean|null|undefined} value
 */
function set(made, key, value) {
  if (value === undefined || value === null || value === false) return;
  made.setAttribute(key, value === true ? '' : String(value));
}

/**
 * What is not there is left out, so that a condition can stand for its part.
 * @param {readonly Child[]} children
 */
function parts(children) {
  return children.flatMap((child) => {
    if (child === null || child === undefined || child === false || child === '') return [];
    return [typeof child === 'number' ? String(child) : child];
  });
}
