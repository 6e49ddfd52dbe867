import { el } from './dom.js';
import { withCommas } from './format.js';

/** @import { Child } from './dom.js' */

// On a phone, CSS makes each row a block. This removes the implicit roles of table elements, so the roles are set explicitly.

/**
 * A table that scrolls sideways when it is too wide, and becomes a list of blocks on a phone.
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
 * @param {string} key identifies the row across updates
 * @param {readonly { title: string, number?: boolean | undefined, content: Child | readonly Child[] }[]} cells the first cell is the row's header
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

/**
 * Replaces the rows of a table, and keeps elements that have not changed: the focus, the selection and open details
 * must survive an update.
 * @param {HTMLElement} body
 * @param {readonly HTMLTableRowElement[]} newRows each with a `data-key`
 */
export function updateRows(body, newRows) {
  /** The key of a row → the row that is shown. */
  const shownRows = new Map([...body.querySelectorAll('tr')].map((row) => [row.dataset['key'], row]));
  newRows.forEach((row, index) => {
    const kept = shownRows.get(row.dataset['key']);
    if (kept) updateCells(kept, row);
    const next = kept ?? row;
    // Inserting a row again removes its focus, even at the same place.
    if (body.children[index] !== next) body.insertBefore(next, body.children[index] ?? null);
    shownRows.delete(row.dataset['key']);
  });
  for (const row of shownRows.values()) row.remove();
}

/**
 * @param {HTMLTableRowElement} kept
 * @param {HTMLTableRowElement} newRow
 */
function updateCells(kept, newRow) {
  const newCells = [...newRow.children];
  [...kept.children].forEach((cell, index) => {
    const next = newCells[index];
    if (next && !cell.isEqualNode(next)) cell.replaceWith(next);
  });
}

/**
 * @template Row
 * @typedef {{ title: string, name?: string, number?: boolean, sort?: (row: Row) => string|number, cell(row: Row): import('./dom.js').Child }} Column
 *   `name`: the value of the API's parameter `sort` for this column; `sort`: the value of a row to sort by in the browser
 */

const rowsPerPage = 50;

/**
 * A table that is sorted by clicking its column headers. The order stays the same when the rows are replaced.
 * @template Row
 * @param {string} caption
 * @param {readonly Column<Row>[]} columns
 * @param {{ sortedBy: string, keyOf: (row: Row) => string }} options `sortedBy`: the title of the column that the table is first
 *   sorted by, descending; `keyOf`: identifies a row across updates
 * @param {() => void} [onQueryChange] if given, the table does not sort: the caller reads `query`, and calls `fill` with the rows to show
 */
export function sortable(caption, columns, { sortedBy, keyOf }, onQueryChange) {
  let sortIndex = columns.findIndex(({ title }) => title === sortedBy);
  let [isAscending, rowLimit] = [false, rowsPerPage];
  /** @type {readonly Row[]} */
  let rows = [];
  let total = 0;
  const body = el('tbody');
  const heads = columns.map(({ title, number, sort }, index) =>
    head(sort ? el('button', { type: 'button', click: () => sortBy(index) }, title) : title, { number }),
  );
  const moreButton = el(
    'button',
    { type: 'button', class: 'more', hidden: true, click: () => showMore() },
    'Show more',
  );
  const root = el('div', {}, table(caption, heads, body), moreButton);
  const showMore = () => {
    rowLimit += rowsPerPage;
    redraw();
  };
  /** @param {number} index */
  const sortBy = (index) => {
    isAscending = sortIndex === index ? !isAscending : columns[index]?.number !== true;
    sortIndex = index;
    redraw();
  };
  const redraw = () => {
    draw();
    onQueryChange?.();
  };
  const draw = () => {
    heads.forEach((one, index) => {
      if (index === sortIndex) one.setAttribute('aria-sort', isAscending ? 'ascending' : 'descending');
      else one.removeAttribute('aria-sort');
    });
    const sortValue = columns[sortIndex]?.sort ?? (() => 0);
    const sorted = onQueryChange
      ? rows
      : rows.toSorted((a, b) => (isAscending ? 1 : -1) * compare(sortValue(a), sortValue(b)));
    updateRows(
      body,
      sorted.slice(0, rowLimit).map((one) =>
        row(
          keyOf(one),
          columns.map(({ title, number, cell }) => ({ title, number, content: cell(one) })),
        ),
      ),
    );
    moreButton.hidden = total <= rowLimit;
    moreButton.textContent = `Show more (${withCommas(Math.min(rowLimit, rows.length))} of ${withCommas(total)})`;
  };
  return {
    root,
    draw,
    /** The order and number of rows to show, for a caller that sorts. */
    get query() {
      return { sort: `${isAscending ? '' : '-'}${columns[sortIndex]?.name ?? ''}`, limit: rowLimit };
    },
    resetRowLimit() {
      rowLimit = rowsPerPage;
    },
    /**
     * @param {readonly Row[]} newRows
     * @param {number} [newTotal] the number of rows on all pages
     */
    fill(newRows, newTotal = newRows.length) {
      [rows, total] = [newRows, newTotal];
      draw();
    },
  };
}

// Created once: sorting thousands of rows calls it very often.
const collator = new Intl.Collator('en', { numeric: true });

/**
 * @param {string|number} a
 * @param {string|number} b
 */
function compare(a, b) {
  return typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b));
}
