import { el } from './dom.js';
import { count, date, dateTime, dayMonth, distance, percent, period, several } from './format.js';
import { fact } from './gateway.js';

/** @import { Remark, Retirement } from './shapes.js' */

/**
 * Whether a version can be retired and why. Clients, routes and the trend have tables and a chart of their own, so the
 * sentences here only point to them.
 * @param {Retirement} retirement
 */
export function verdict(retirement) {
  const { reasons, notes } = retirement;
  const [tone, words] = headline(retirement);
  const why = reasons.flatMap((reason) => sentence(reason, retirement));
  // The figures have what is in flight; only a reason needs a sentence.
  const besides = notes.filter(({ code }) => code !== 'in_flight').flatMap((note) => sentence(note, retirement));
  return el(
    'div',
    {},
    el('p', { class: `answer ${tone}` }, words),
    why.length > 0 && list('reasons', why),
    besides.length > 0 && list('notes', besides),
  );
}

/**
 * The figures behind the verdict.
 * @param {Retirement} retirement
 */
export function figures({ facts }) {
  return el(
    'dl',
    { class: 'facts' },
    fact('Requests', count(facts.requests), `since ${dayMonth(Date.parse(facts.since))}`),
    fact('Share', percent(facts.share), 'of all requests'),
    fact('Clients', count(facts.client_count), `${count(facts.in_flight)} in flight`),
    facts.successor &&
      fact('Successor', facts.successor.version, `${facts.successor.healthy} of ${facts.successor.targets} healthy`),
  );
}

/**
 * @param {Retirement} retirement
 * @returns {readonly [tone: string, words: string]}
 */
function headline({ version, answer, facts }) {
  if (facts.stage === 'retired') {
    if (facts.refused === 0) return ['yes', `${version} is retired, and no client calls it.`];
    return [
      'not-yet',
      `${version} is retired, and ${several(facts.refused_count, 'client still calls', 'clients still call')} it.`,
    ];
  }
  if (answer === 'yes') return ['yes', `Yes, ${version} can be retired.`];
  if (answer === 'not yet') return ['not-yet', `Not yet: keep ${version} running.`];
  return ['no', `No: ${version} is still in use.`];
}

/**
 * In the words of this page, by the code of the remark. A code that is not known here is shown as the gateway words it.
 * @param {Remark} remark
 * @param {Retirement} retirement
 * @returns {readonly string[]} empty: another part of the page shows it
 */
function sentence({ code, text }, { version, facts, asked_at: now }) {
  const quiet = `the last ${period(facts.quiet)}`;
  const clients = several(facts.client_count, 'client');
  switch (code) {
    case 'retired_already':
    case 'trend':
    case 'no_counterpart':
      return [];
    case 'in_flight':
      return [`${several(facts.in_flight, 'request is', 'requests are')} in flight.`];
    case 'no_sunset':
      return [`No sunset date is set, so clients do not know when ${version} ends.`];
    case 'sunset_ahead': {
      const at = Date.parse(facts.sunset ?? now);
      return [`The sunset is ${date(at)}: ${distance(at, Date.parse(now))}.`];
    }
    case 'ledger_empty':
      return ['The usage ledger is empty.'];
    case 'ledger_short':
      return [
        `Usage has been recorded only since ${dateTime(Date.parse(facts.covered_since ?? now))}; the quiet period (retire.quiet) is ${period(facts.quiet)}.`,
      ];
    case 'clients_left':
      return [
        `${clients} made ${several(facts.requests, 'request')} in ${quiet}, ${percent(facts.share)} of all requests. They are listed below.`,
      ];
    case 'below_max_share':
      return [
        `${clients} made ${percent(facts.share)} of all requests in ${quiet}, which retire.max_share allows. Retiring ${version} cuts them off; they are listed below.`,
      ];
    case 'nobody_left':
      return [`No client has called ${version} in ${quiet}.`];
    case 'still_knocking':
      if (facts.refused === 0) return [`No request was refused in ${quiet}.`];
      return [`${several(facts.refused, 'request was', 'requests were')} answered with 410 in ${quiet}.`];
    case 'own_ledger':
      return ['Only requests through this gateway are counted.'];
    default:
      return [text];
  }
}

/**
 * @param {string} name
 * @param {readonly string[]} sentences
 */
function list(name, sentences) {
  return el('ul', { class: name }, ...sentences.map((text) => el('li', {}, text)));
}
