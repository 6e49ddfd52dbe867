import { el } from './dom.js';
import { count, dayMonth, percent } from './format.js';

/** @import { Remark, Retirement } from './shapes.js' */

/**
 * Whether a version can be retired, and what is missing.
 * @param {Retirement} retirement
 */
export function verdict({ version, answer, reasons, notes, facts }) {
  const retired = facts.stage === 'retired';
  return el(
    'div',
    {},
    el(
      'p',
      { class: `answer ${tones[answer] ?? 'no'}` },
      retired ? `${version} is retired.` : (answers[answer]?.(version) ?? answer),
    ),
    list('reasons', reasons),
    notes.length > 0 && el('h4', {}, 'To know besides'),
    notes.length > 0 && list('notes', notes),
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
    fact('Share of all', percent(facts.share), 'of all requests'),
    fact('Clients', count(facts.client_count), `${count(facts.in_flight)} in flight`),
    facts.successor &&
      fact('Successor', facts.successor.version, `${facts.successor.healthy} of ${facts.successor.targets} healthy`),
  );
}

/** @type {Record<string, (version: string) => string>} */
const answers = {
  yes: (version) => `Yes, ${version} can be retired.`,
  'not yet': (version) => `Not yet: ${version} has to stay.`,
  no: (version) => `No: ${version} is still needed.`,
};

/** @type {Record<string, string>} */
const tones = { yes: 'yes', 'not yet': 'not-yet', no: 'no' };

/**
 * @param {string} name
 * @param {readonly Remark[]} remarks
 */
function list(name, remarks) {
  return el('ul', { class: name }, ...remarks.map(({ text }) => el('li', {}, text)));
}

/**
 * @param {string} name
 * @param {string} value
 * @param {string} detail
 */
function fact(name, value, detail) {
  return el('div', {}, el('dt', {}, name), el('dd', {}, value, ' ', el('small', {}, detail)));
}
