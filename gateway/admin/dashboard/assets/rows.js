/**
 * Puts `fresh` rows in place of those that are drawn, and leaves alone what says the same: a reader's focus, selection
 * and unfolded details are not to go because a figure elsewhere has changed.
 * @param {HTMLElement} body
 * @param {readonly HTMLTableRowElement[]} fresh each with a `data-key`
 */
export function redraw(body, fresh) {
  const old = new Map([...body.querySelectorAll('tr')].map((row) => [row.dataset['key'], row]));
  fresh.forEach((row, at) => {
    const kept = old.get(row.dataset['key']);
    if (kept) update(kept, row);
    const next = kept ?? row;
    // A row that is moved loses its focus, even when it lands where it was.
    if (body.children[at] !== next) body.insertBefore(next, body.children[at] ?? null);
    old.delete(row.dataset['key']);
  });
  for (const row of old.values()) row.remove();
}

/**
 * @param {HTMLTableRowElement} kept
 * @param {HTMLTableRowElement} fresh
 */
function update(kept, fresh) {
  const cells = [...fresh.children];
  [...kept.children].forEach((cell, at) => {
    const next = cells[at];
    if (next && !cell.isEqualNode(next)) cell.replaceWith(next);
  });
}
