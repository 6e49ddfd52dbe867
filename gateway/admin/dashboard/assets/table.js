import { el } from './dom.js';

/** @import { Child } from './dom.js' */

// On a phone each row is a block of its own, and CSS takes the roles of table elements away: so they are spelled out.

/**
 * A table that scrolls sideways where it is too wide, and is stacked on a phone.
 * @param {string} caption
 * @param {readonly HTMLTableCellElement[]} heads
 * @param {HTMLElement} body
 */
export function table(caption, heads, body) {
  body.setAttribute('role', 'rowgroup');
  return el(
    'div',
    { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Table: ${caption}` },
    el(
      'table',
      { role: 'table', 'aria-label': caption },
      el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...heads)),
      body,
    ),
  );
}

/**
 * @param {Child} content
 * @param {{ number?: boolean | undefined }} [options]
 */
export function head(content, { number } = {}) {
  return el('th', { scope: 'col', role: 'columnheader', class: number ? 'number' : null }, content);
}

/**
 * @param {string} key what the row is recognised by when it is drawn anew
 * @param {readonly { title: string, number?: boolean | undefined, content: Child | readonly Child[] }[]} cells the first one names the row
 */
export function row(key, cells) {
  return el(
    'tr',
    { 'data-key': key, role: 'row' },
    ...cells.map(({ title, number, content }, index) => {
      const children = Array.isArray(content) ? content : [content];
      if (index === 0) return el('th', { scope: 'row', role: 'rowheader' }, ...children);
      return el(
        'td',
        { role: 'cell', class: number ? 'number' : null, 'data-title': title },
        el('div', {}, ...children),
      );
    }),
  );
}
