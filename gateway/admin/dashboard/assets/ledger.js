import { el } from './dom.js';
import { several } from './format.js';

/**
 * What limits an answer about clients. A ledger that cannot be written is reported at the top of the page.
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
            `${several(folded, 'request comes', 'requests come')} from clients beyond `,
            el('code', {}, 'usage.max_clients'),
            ', which are counted together.',
          ),
        ]
      : []),
  ];
}
