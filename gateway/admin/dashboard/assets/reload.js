import { tell } from './api.js';
import { el } from './dom.js';

/**
 * Makes `button` reload routes.yaml, and says in `outcome` what became of it.
 * @param {HTMLButtonElement} button
 * @param {HTMLElement} outcome
 */
export function reloadWith(button, outcome) {
  button.addEventListener('click', async () => {
    button.disabled = true;
    outcome.replaceChildren(el('p', { class: 'soft' }, 'Reading routes.yaml…'));
    try {
      const { body } = await tell('/api/reload');
      outcome.replaceChildren(said(body));
    } catch {
      outcome.replaceChildren(
        el('p', { class: 'problem' }, 'The gateway does not answer. The result of the reload is unknown.'),
      );
    }
    button.disabled = false;
  });
}

/** @param {{ kind?: string, changes?: string[], unconfirmed?: string[], faults?: string[], refusals?: { version: string, message: string }[], detail?: string }} outcome */
function said(outcome) {
  const { kind } = outcome;
  if (kind === 'unchanged')
    return el(
      'p',
      { class: 'notice' },
      'routes.yaml has the same meaning as the active configuration. Nothing changed.',
    );
  if (kind === 'reloaded')
    return el(
      'div',
      { class: 'notice' },
      el('p', {}, 'Reloaded. The new configuration is in effect.'),
      lines(outcome.changes),
    );
  if (kind === 'incomplete')
    return el(
      'div',
      { class: 'problem' },
      el('p', {}, 'The new configuration is active, but not in every worker yet:'),
      lines(outcome.unconfirmed),
      lines(outcome.changes),
    );
  const why =
    kind === 'refused'
      ? 'Rejected by the guard:'
      : kind === 'faulty'
        ? 'Rejected, because the file has faults:'
        : (outcome.detail ?? 'The reload failed.');
  return el(
    'div',
    { class: 'problem' },
    el('p', {}, why),
    lines(outcome.faults ?? outcome.refusals?.map(({ version, message }) => `${version}: ${message}`)),
  );
}

/** @param {readonly string[]|undefined} many */
function lines(many) {
  if (many === undefined || many.length === 0) return null;
  return el('ul', {}, ...many.map((one) => el('li', {}, one)));
}
