import { getJson, LatestRequest, post, subscribeToStatus } from './api.js';
import { attention, attentionFacts } from './attention.js';
import { BrownoutWindows } from './brownoutWindows.js';
import { byId, el, emptyMessage, errorNotice } from './dom.js';
import { fleetTable } from './fleet.js';
import { GatewayFilter } from './gatewayFilter.js';
import { lifecycle } from './lifecycle.js';
import { notificationTable } from './notify.js';
import { PeriodChoice } from './periodChoice.js';
import { RetirementSection } from './retirement.js';
import { backends, gatewayFacts, rates } from './status.js';
import { TrafficSection } from './traffic.js';

/** @import { Status } from './types.js' */

const gatewayFilter = new GatewayFilter((gateway) => {
  periodChoice.setGateway(gateway);
  retirementSection.setPeriod(periodChoice.period);
  trafficSection.setPeriod(periodChoice.period);
  retirementSection.setGateway(gateway);
  trafficSection.setGateway(gateway);
});
const periodChoice = new PeriodChoice(gatewayFilter.chosen, (period) => {
  retirementSection.setPeriod(period);
  trafficSection.setPeriod(period);
  void retirementSection.refresh();
  void trafficSection.refresh();
});
const retirementSection = new RetirementSection(gatewayFilter.chosen, periodChoice.period, (quietMs) =>
  periodChoice.setQuiet(quietMs),
);
const trafficSection = new TrafficSection(gatewayFilter.chosen, periodChoice.period);
const backendTable = backends();
const ratesTable = rates();
const gatewayTable = fleetTable();
const notificationsTable = notificationTable();
const brownoutWindows = new BrownoutWindows();
const connection = byId('connection');
/** The data that each part shows, as JSON, by the id of the part. A part is redrawn only when its data changes. @type {Map<string, string>} */
const drawn = new Map();
/** Passed as the data of a part that updates itself. It never changes, so the part is drawn once. */
const constantData = '';
/** Usage is polled, because the event stream does not contain it. */
const pollIntervalMs = 30_000;
const statusRequest = new LatestRequest();
/** The generation of the configuration in the last status; 0: there was none. */
let lastGeneration = 0;
let refreshedAt = Date.now();

byId('host').textContent = `version-gateway · ${location.host}`;
setUpReload(/** @type {HTMLButtonElement} */ (byId('reload')), byId('outcome'));
byId('logout').addEventListener('click', async () => {
  const { status } = await post('/logout').catch(() => ({ status: 0 }));
  // 403: the session had expired.
  if (status === 204 || status === 403) location.replace('/login');
  else
    byId('outcome').replaceChildren(
      el('p', { class: 'problem' }, 'The gateway does not answer, so you are still logged in.'),
    );
});

subscribeToStatus({
  access(admittedBy) {
    // A browser that was admitted by its address has no session.
    byId('logout').hidden = admittedBy !== 'session';
    retirementSection.setAccess(admittedBy);
    brownoutWindows.setAccess(admittedBy);
  },
  status(status) {
    // Aborts a request of `pollStatus`, because its response may be older than this event.
    statusRequest.start();
    if (connection.className.includes('lost')) refresh();
    showConnection('live', 'Live');
    show(status);
  },
  lost: () => void pollStatus(),
});

void trafficSection.refresh();
setInterval(refresh, pollIntervalMs);
document.addEventListener('visibilitychange', () => Date.now() - refreshedAt > pollIntervalMs && refresh());

/**
 * Requests the status once, because the stream may be refused while other requests succeed. If the session has expired,
 * `getJson` opens the login form.
 */
async function pollStatus() {
  const request = statusRequest.start();
  if (!connection.className.includes('polled')) showConnection('lost', 'Connection lost, retrying…');
  try {
    /** @type {Status} */
    const status = await getJson('/api/status', request.signal);
    if (request.isOutdated) return;
    showConnection('polled', 'Updating by polling');
    show(status);
  } catch (error) {
    if (request.isOutdated) return;
    showConnection('lost', 'Connection lost, retrying…');
    if (drawn.size > 0) return;
    for (const id of ['lifecycle', 'rates', 'backends', 'gateway', 'verdict', 'trend', 'plan', 'clients', 'routes'])
      byId(id).replaceChildren(id === 'lifecycle' ? errorNotice(error) : emptyMessage('Not available.'));
  }
}

function refresh() {
  if (document.hidden) return;
  refreshedAt = Date.now();
  void retirementSection.refresh();
  void trafficSection.refresh();
}

/** @param {Status} status */
function show(status) {
  const now = Date.now();
  const { versions, config } = status;
  document.title = `${versions.length} versions · version-gateway`;
  const today = Math.floor(now / 86_400_000);
  draw(
    'lifecycle',
    [
      today,
      versions.map(({ version, stage, deprecation, sunset }) => [version, stage, deprecation, sunset]),
      versions.map(({ adapter }) => adapter && [adapter.from, adapter.mode, adapter.not_adapted]),
      status.brownouts,
    ],
    () => [lifecycle(versions, status.brownouts ?? [], now)],
  );
  draw('backends', constantData, () => [backendTable.root]);
  backendTable.fill(versions, now);
  draw('attention', attentionFacts(status, now), () => attention(status));
  draw('rates', constantData, () => [ratesTable.root]);
  ratesTable.fill(status.traffic);
  gatewayFilter.setFleet(status.fleet);
  byId('fleet-section').hidden = !status.fleet;
  draw('fleet', constantData, () => [gatewayTable.root]);
  if (status.fleet) gatewayTable.fill(status.fleet);
  byId('windows-section').hidden = !status.brownouts?.length;
  draw('windows', constantData, () => [brownoutWindows.root]);
  brownoutWindows.fill(status.brownouts ?? []);
  byId('notify-section').hidden = !status.notify;
  draw('notify', constantData, () => [notificationsTable.root]);
  if (status.notify) notificationsTable.fill(status.notify, now);
  draw('gateway', [Math.floor(now / 60_000), config, status.edit_watch, status.workers], () => [
    gatewayFacts(status, now),
  ]);
  if (lastGeneration !== 0 && lastGeneration !== config.generation) refresh();
  lastGeneration = config.generation;
  void retirementSection.setVersions(versions);
}

/**
 * @param {string} id
 * @param {unknown} data the data that the part shows
 * @param {() => readonly Node[]} make
 */
function draw(id, data, make) {
  const json = JSON.stringify(data);
  if (drawn.get(id) === json) return;
  drawn.set(id, json);
  byId(id).replaceChildren(...make());
}

/**
 * @param {'live'|'polled'|'lost'} state
 * @param {string} text
 */
function showConnection(state, text) {
  if (connection.textContent === text) return;
  connection.className = `connection ${state}`;
  connection.textContent = text;
  document.body.classList.toggle('stale', state === 'lost');
}

/**
 * Lets `button` reload routes.yaml and shows the result in `outcome`.
 * @param {HTMLButtonElement} button
 * @param {HTMLElement} outcome
 */
function setUpReload(button, outcome) {
  button.addEventListener('click', async () => {
    button.disabled = true;
    outcome.replaceChildren(el('p', { class: 'soft' }, 'Reading routes.yaml…'));
    try {
      const { body } = await post('/api/reload');
      outcome.replaceChildren(reloadResult(body));
    } catch {
      outcome.replaceChildren(
        el('p', { class: 'problem' }, 'The gateway does not answer. The result of the reload is unknown.'),
      );
    }
    button.disabled = false;
  });
}

/** @param {{ kind?: string, changes?: string[], unconfirmed?: string[], faults?: string[], refusals?: { version: string, message: string }[], detail?: string }} outcome */
function reloadResult(outcome) {
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
      list(outcome.changes),
    );
  if (kind === 'incomplete')
    return el(
      'div',
      { class: 'problem' },
      el('p', {}, 'The new configuration is active, but not everywhere yet:'),
      list(outcome.unconfirmed),
      list(outcome.changes),
    );
  const title =
    kind === 'refused'
      ? 'Rejected by the guard:'
      : kind === 'faulty'
        ? 'Rejected, because the file has faults:'
        : (outcome.detail ?? 'The reload failed.');
  return el(
    'div',
    { class: 'problem' },
    el('p', {}, title),
    list(outcome.faults ?? outcome.refusals?.map(({ version, message }) => `${version}: ${message}`)),
  );
}

/** @param {readonly string[]|undefined} items */
function list(items) {
  if (items === undefined || items.length === 0) return null;
  return el('ul', {}, ...items.map((one) => el('li', {}, one)));
}
