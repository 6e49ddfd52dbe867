import { el } from './dom.js';
import { dateTime, plural } from './format.js';

/** @import { EditWatch, Failure, Freeze, Ledger, Status, VersionStatus } from './types.js' */

/** The trigger of a reload → its words. @type {Record<string, string>} */
export const triggerTexts = {
  start: 'at the start',
  file: 'after an edit of the file',
  signal: 'after a signal',
  admin: 'after a call to the admin API',
};

/**
 * The problems that an operator has to solve, the most urgent first: a configuration that the fleet refuses, edits since which requests are lost,
 * rejected edits, unresponsive workers, unavailable backends, adapters that fail, ledger problems, inactive freezes and overridden guards.
 * @param {Status} status
 */
export function attention({ config, usage, versions, workers, freezes = [], fleet, edit_watch: watches = [] }) {
  return [
    fleet?.refusal && refusedConfig(fleet.refusal),
    ...watches.flatMap(lossSinceEdit),
    config.last_failure && rejectedEdit(config.last_failure),
    ...workers.flatMap(unresponsiveWorker),
    ...versions.flatMap(unavailableBackends),
    ...versions.flatMap(failedAdapter),
    ledgerProblem(usage),
    ...freezes.flatMap(inactiveFreeze),
    config.forced.length > 0 && overriddenGuard(config.forced),
  ].filter((part) => part !== null && part !== undefined && part !== false);
}

/**
 * The data that `attention` depends on, without counts that change all the time: a screen reader reads a live region
 * aloud whenever it changes.
 * @param {Status} status
 * @param {number} now
 */
export function attentionFacts(
  { config, usage, versions, workers, freezes = [], fleet, edit_watch: watches = [] },
  now,
) {
  const waitingRows = usage?.held_rows ?? 0;
  // The number of waiting rows changes all the time, so it is updated once a minute.
  const minuteOfWaiting = waitingRows > 0 && Math.floor(now / 60_000);
  return [
    fleet?.refusal,
    watches.map(({ version, jumped, state, edits }) => [version, jumped, state, edits]),
    config.last_failure,
    config.forced,
    workers.map(({ pid, unresponsive_since: since }) => [pid, since]),
    freezes.map(({ version, state, reason }) => [version, state, reason]),
    [usage?.problem ?? null, minuteOfWaiting],
    versions.map(({ version, stage, waivers, targets, stopped_before_retired: wasStopped, adapter }) => [
      version,
      [stage, waivers.length, wasStopped],
      adapter?.failures.map(({ route }) => route),
      targets.map(({ url, health, reachable, last_error: error }) => [url, health, reachable, error]),
    ]),
  ];
}

/** @param {EditWatch} watch */
function lossSinceEdit({ version, jumped, state, text, edits, undo, undo_lines: undoLines }) {
  if (jumped !== 'yes' || state === 'recovered') return [];
  const more = undoLines - undo.length;
  const changes = edits.flatMap((edit) => edit.changes);
  return [
    el(
      'div',
      { class: 'problem' },
      el('p', {}, el('strong', {}, `/${version} loses requests since an edit of routes.yaml`)),
      el('p', {}, text, '.'),
      changes.length > 0 && el('p', {}, 'The edit changed:'),
      changes.length > 0 && el('ul', {}, ...changes.map((change) => el('li', {}, change))),
      undo.length > 0 && el('p', {}, 'To undo it:'),
      undo.length > 0 && el('ul', {}, ...undo.map((line) => el('li', {}, el('code', {}, line.text)))),
      more > 0 && el('p', {}, `And ${plural(more, 'more line')}.`),
    ),
  ];
}

/** @param {VersionStatus} version */
function failedAdapter({ version, adapter }) {
  if (!adapter || adapter.failures.length === 0) return [];
  const title = el('strong', {}, `The adapter of /${version} has failed`);
  const rows = adapter.failures.map(({ route, count, pointer, at }) => {
    const place = pointer === '' ? 'the whole body' : pointer;
    const last = `: ${plural(count, 'response')} since the adapter was loaded, last at ${dateTime(Date.parse(at))}, `;
    return el('li', {}, el('code', {}, route), last, el('code', {}, place));
  });
  const what = ` with responses of /${adapter.from}. Clients of /${version} got 502.`;
  return [el('div', { class: 'problem' }, el('p', {}, title, what), el('ul', {}, ...rows))];
}

/** @param {readonly string[]} lines */
function refusedConfig(lines) {
  return el(
    'div',
    { class: 'problem' },
    el('p', {}, el('strong', {}, 'This gateway is not ready'), ': routes.yaml breaks what the fleet has announced.'),
    el('ul', {}, ...lines.map((line) => el('li', {}, line))),
  );
}

/** @param {Failure} failed */
function rejectedEdit({ at, trigger, reasons }) {
  const when = `${dateTime(Date.parse(at))}, ${triggerTexts[trigger] ?? trigger}`;
  return el(
    'div',
    { class: 'problem' },
    el(
      'p',
      {},
      el('strong', {}, 'The last edit of routes.yaml was rejected'),
      ` (${when}). The previous configuration is still in effect.`,
    ),
    el('ul', {}, ...reasons.map((reason) => el('li', {}, el('code', {}, reason)))),
  );
}

/** @param {Freeze} freeze */
function inactiveFreeze({ version, state, reason }) {
  if (state !== 'inactive') return [];
  const what = el('strong', {}, `The freeze of /${version} is inactive`);
  return [el('div', { class: 'problem' }, el('p', {}, what, ` and refuses nobody: ${reason ?? ''}`))];
}

/** @param {Status['workers'][number]} worker */
function unresponsiveWorker({ pid, unresponsive_since: since = null }) {
  if (since === null) return [];
  const title = `Worker ${pid} has not answered since ${dateTime(Date.parse(since))}`;
  return [
    el(
      'div',
      { class: 'problem' },
      el('p', {}, el('strong', {}, title), '. Its requests in flight are not known, so no version is safe to stop.'),
    ),
  ];
}

/** @param {VersionStatus} version */
function unavailableBackends({ version, stage, waivers, targets, stopped_before_retired: wasStopped }) {
  // The backend of a retired version may be stopped, unless a waived client still uses it.
  if (stage === 'retired' && waivers.length === 0) return [];
  const current = targets.filter(({ health }) => health !== 'removed');
  const down = current.filter(({ health }) => health === 'failing' || health === 'ejected');
  if (down.length === 0) return [];
  const areAllDown = down.length === current.length;
  const title = areAllDown
    ? `${version} has no healthy backend`
    : `${version}: ${down.length} of ${current.length} backends are down now`;
  return [
    el(
      'div',
      { class: areAllDown ? 'problem' : 'problem mild' },
      el('p', {}, el('strong', {}, title)),
      el(
        'ul',
        {},
        ...down.map(({ url, health, reachable, last_error: error }) =>
          el('li', {}, el('code', {}, url), ` ${reachable === false ? 'unreachable' : health}`, error && `: ${error}`),
        ),
      ),
      wasStopped &&
        el(
          'p',
          {},
          'If the backend was stopped on purpose, set ',
          el('code', {}, 'retired: true'),
          ` for /${version} in routes.yaml.`,
        ),
    ),
  ];
}

/** @param {Ledger|null|undefined} ledger */
function ledgerProblem(ledger) {
  const { problem = null, held_rows: waitingRows = 0 } = ledger ?? {};
  if (problem === null && waitingRows === 0) return null;
  const waiting = `${plural(waitingRows, 'row is', 'rows are')} waiting in memory now. A crash would lose them.`;
  return el(
    'div',
    { class: problem === null ? 'problem mild' : 'problem' },
    el(
      'p',
      {},
      el('strong', {}, problem === null ? 'The usage ledger is behind' : 'The usage ledger has a problem'),
      '. The figures on this page may be incomplete.',
    ),
    problem !== null && el('p', {}, el('code', {}, problem)),
    waitingRows > 0 && el('p', {}, waiting),
  );
}

/** @param {readonly string[]} reasons */
function overriddenGuard(reasons) {
  return el(
    'div',
    { class: 'problem mild' },
    el('p', {}, el('strong', {}, 'The guard was overridden'), ' by ', el('code', {}, 'guard.force'), ':'),
    el('ul', {}, ...reasons.map((reason) => el('li', {}, reason))),
  );
}
