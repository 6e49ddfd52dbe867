import { el } from './dom.js';
import { count } from './format.js';
import { redraw } from './rows.js';
import { head, row, table } from './table.js';

/**
 * @template Row
 * @typedef {{ title: string, name?: string, number?: boolean, sort?: (row: Row) => string|number, cell(row: Row): import('./dom.js').Child }} Column
 *   `name`: what the gateway calls it
 */

/** How many rows are drawn until more are asked for. */
const page = 50;

/**
 * A table that is sorted by its column heads. It keeps its order when rows are given anew.
 * @template Row
 * @param {string} caption
 * @param {readonly Column<Row>[]} columns
 * @param {number} sortedBy index of the column that is sorted by at first, largest first
 * @param {(row: Row) => string} key what a row is known by when it comes anew
 * @param {() => void} [changed] other rows are wanted, of somebody who sorts them: those that are given are drawn as they come
 */
export function sortable(caption, columns, sortedBy, key, changed) {
  let [by, upwards, shown] = [sortedBy, false, page];
  /** @type {readonly Row[]} */
  let rows = [];
  let total = 0;
  const body = el('tbody');
  const heads = columns.map(({ title, number, sort }, index) =>
    head(sort ? el('button', { type: 'button', click: () => sortBy(index) }, title) : title, { number }),
  );
  const more = el('button', { type: 'button', class: 'more', hidden: true, click: () => extend() }, 'Show more');
  const root = el('div', {}, table(caption, heads, body), more);
  const extend = () => {
    shown += page;
    want();
  };
  /** @param {number} index */
  const sortBy = (index) => {
    upwards = by === index ? !upwards : columns[index]?.number !== true;
    by = index;
    want();
  };
  const want = () => {
    draw();
    changed?.();
  };
  const draw = () => {
    heads.forEach((one, index) => {
      if (index === by) one.setAttribute('aria-sort', upwards ? 'ascending' : 'descending');
      else one.removeAttribute('aria-sort');
    });
    const value = columns[by]?.sort ?? (() => 0);
    const sorted = changed ? rows : rows.toSorted((a, b) => (upwards ? 1 : -1) * compare(value(a), value(b)));
    redraw(
      body,
      sorted.slice(0, shown).map((one) =>
        row(
          key(one),
          columns.map(({ title, number, cell }) => ({ title, number, content: cell(one) })),
        ),
      ),
    );
    more.hidden = total <= shown;
    more.textContent = `Show more (${count(Math.min(shown, rows.length))} of ${count(total)})`;
  };
  return {
    root,
    draw,
    /** What the reader wants to see, for who is to answer that. */
    get wanted() {
      return { sort: `${upwards ? '' : '-'}${columns[by]?.name ?? ''}`, limit: shown };
    },
    /** Other rows follow: from the first one on. */
    begin() {
      shown = page;
    },
    /**
     * @param {readonly Row[]} next
     * @param {number} [all] how many there are
     */
    fill(next, all = next.length) {
      [rows, total] = [next, all];
      draw();
    },
  };
}

// Made once: thousands of rows are compared many thousand times.
const words = new Intl.Collator('en', { numeric: true });

/**
 * @param {string|number} a
 * @param {string|number} b
 */
function compare(a, b) {
  return typeof a === 'number' && typeof b === 'number' ? a - b : words.compare(String(a), String(b));
}
