import { el, fact } from './dom.js';
import { percent, plural, withCommas } from './format.js';

/** @import { Plan } from './types.js' */

/**
 * What clients would lose if a version were retired now.
 * @param {Plan} plan
 * @param {string} period `last 7 days`
 */
export function planSummary(plan, period) {
  const { summary, total, losing_count: losing, client_count: clients, notes } = plan;
  const { served: answeredByBackends, lost, answers } = total;
  const share = answeredByBackends === 0 ? '' : `${percent(lost / answeredByBackends)} of all, `;
  const [tone, answer] = headline(plan, period);
  return el(
    'div',
    { class: 'plan' },
    answer !== '' && el('p', { class: `answer ${tone}` }, answer),
    el('p', { class: 'summary' }, summary),
    notes.length > 0 && el('ul', { class: 'notes' }, ...notes.map(({ text }) => el('li', {}, text))),
    lost > 0 &&
      el(
        'dl',
        { class: 'facts' },
        fact('Lost', plural(lost, 'request'), `${share}${period}`),
        fact('Clients', withCommas(losing), `of ${withCommas(clients)}, ${period}`),
        fact('Stay served', plural(answers.served, 'request'), period),
      ),
  );
}

/**
 * @param {Plan} plan
 * @param {string} period
 * @returns {readonly [tone: string, answer: string]} '' if it is not known: the summary says why
 */
function headline({ total, known, may_lose: mayLose, losing_count: losing, others_lose: othersLose }, period) {
  if (total.lost === 0 && (!known || mayLose > 0)) return ['not-yet', ''];
  if (total.lost === 0) return ['yes', 'No client would lose a request.'];
  // `losing` is 0 if only requests of `other clients` would be lost: the ledger counts these clients together.
  const clients = plural(Math.max(1, losing), 'client');
  return ['no', `${othersLose ? `At least ${clients}` : clients} of the ${period} would lose requests.`];
}
