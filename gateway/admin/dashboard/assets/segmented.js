import { el } from './dom.js';

/**
 * A choice of one among few: radio buttons that look like a row of buttons.
 * @param {string} name
 * @param {string} legend
 * @param {readonly (readonly [value: string, label: string])[]} options
 * @param {string} chosen
 * @param {(value: string) => void} choose
 */
export function segmented(name, legend, options, chosen, choose) {
  return el(
    'fieldset',
    { class: 'segmented' },
    el('legend', { class: 'quiet' }, legend),
    ...options.map(([value, label]) =>
      el(
        'label',
        {},
        el('input', { type: 'radio', name, value, checked: value === chosen, change: () => choose(value) }),
        el('span', {}, label),
      ),
    ),
  );
}
