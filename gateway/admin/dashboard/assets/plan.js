import { el, fact } from './dom.js';
import { percent, plural, withCommas } from './format.js';

/** @import { Plan } from './types.js' */

/**
 * What clients would lose if a version were retired now.
 * @param {Plan} plan
 */
export function planSummary(plan) {
  const { summary, total, losing_count: losing, client_count: clients, notes } = plan;
  const { served: answeredByBackends, lost, answers } = total;
  const share = answeredByBackends === 0 ? '' : `${percent(lost / answeredByBackends)} of all`;
  const [tone, answer] = headline(plan);
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
        fact('Lost', plural(lost, 'request'), share),
        fact('Clients', withCommas(losing), `of ${withCommas(clients)}`),
        fact('Stay served', plural(answers.served, 'request'), ''),
      ),
  );
}

/**
 * @param {Plan} plan
 * @returns {readonly [tone: string, answer: string]} '' if the ledger is empty
 */
function headline({ total, covered_since: covered, losing_count: losing, others_lose: othersLose }) {
  if (covered === null) return ['not-yet', ''];
  if (total.lost === 0) return ['yes', 'No client would lose a request.'];
  // `losing` is 0 if only requests of `other clients` would be lost: the ledger counts these clients together.
  const clients = plural(Math.max(1, losing), 'client');
  return ['no', `${othersLose ? `At least ${clients}` : clients} would lose requests.`];
}
