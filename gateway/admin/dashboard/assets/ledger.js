import { el } from './dom.js';
import { several } from './format.js';

/** @import { Ledger } from './shapes.js' */

/**
 * What makes every figure of this page doubtful: a ledger that cannot be written or read.
 * @param {Ledger|null|undefined} ledger
 */
export function ledgerNotice(ledger) {
  const { problem = null, held_rows: held = 0 } = ledger ?? {};
  if (problem === null && held === 0) return '';
  const kept = `${several(held, 'row waits', 'rows wait')} in memory to be written, and would be lost with the process.`;
  return el(
    'div',
    { class: problem === null ? 'problem mild' : 'problem' },
    el('p', {}, el('strong', {}, problem === null ? 'The usage ledger is behind.' : 'The usage ledger has a problem.')),
    problem !== null && el('p', {}, el('code', {}, problem)),
    held > 0 && el('p', {}, kept),
  );
}

/**
 * What an answer about clients says of itself; what keeps the ledger from being written stands above all of them.
 * @param {{ problem: string|null, folded?: number, problems?: readonly string[] }} usage
 */
export function remarks({ problem, folded = 0, problems = [] }) {
  return [
    ...problems.filter((text) => text !== problem).map((text) => el('p', { class: 'problem mild' }, text)),
    ...(folded > 0
      ? [
          el(
            'p',
            { class: 'problem mild' },
            `${several(folded, 'request is', 'requests are')} of clients beyond `,
            el('code', {}, 'usage.max_clients'),
            ', and nobody can say whose.',
          ),
        ]
      : []),
  ];
}
