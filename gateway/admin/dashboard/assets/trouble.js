import { Refused } from './api.js';
import { el, empty } from './dom.js';

/**
 * What stands in place of something that could not be had.
 * @param {unknown} error an error, or what is wrong in words
 */
export function trouble(error) {
  if (error instanceof Refused && error.code === 'NO_LEDGER')
    return empty('Usage is not recorded.', 'This gateway runs without a usage ledger.');
  if (error instanceof Refused && error.status === 404) return empty('Not available.', error.message);
  if (error instanceof Refused || typeof error === 'string')
    return el('p', { class: 'problem' }, typeof error === 'string' ? error : error.message);
  return el('p', { class: 'problem' }, 'The gateway does not answer. This page keeps trying.');
}
