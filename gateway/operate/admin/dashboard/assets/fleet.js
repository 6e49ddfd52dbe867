import { el } from './dom.js';
import { period, withCommas } from './format.js';
import { head, row, table, updateRows } from './table.js';

/** @import { Fleet, FleetGateway } from './types.js' */

const titles = ['Gateway', 'State', 'Release', 'Configuration', 'In flight', 'Spooled'];
const numericTitles = new Set(['In flight', 'Spooled']);

/** The table of the gateways of a fleet. `fill` updates the rows. */
export function fleetTable() {
  const body = el('tbody');
  const problem = el('p', { class: 'problem', hidden: true });
  const frame = table(
    'Gateways',
    titles.map((title) => head(title, { number: numericTitles.has(title) })),
    body,
  );
  return {
    root: el('div', {}, problem, frame),
    /** @param {Fleet} fleet */
    fill({ problem: reason, now, gateways }) {
      problem.hidden = reason === null;
      problem.textContent = `The shared store does not answer, so this is the state at its last answer: ${reason}`;
      frame.hidden = gateways.length === 0;
      const storeTime = now === null ? 0 : Date.parse(now);
      updateRows(
        body,
        gateways.map((one, index) => gatewayRow(one, index, storeTime)),
      );
    },
  };
}

/**
 * @param {FleetGateway} gateway
 * @param {number} index
 * @param {number} now the time of the store
 */
function gatewayRow(gateway, index, now) {
  const { name, state, release, config, config_differs: differs, in_flight: inFlight, spooled } = gateway;
  const cells = [
    name,
    [stateOf(gateway, now), remarks(gateway)],
    release ?? '–',
    [config === null ? '–' : el('code', {}, config), differs && el('small', {}, ' differs from most')],
    state === 'heard' ? withCommas(inFlight) : '–',
    config === null ? '–' : withCommas(spooled),
  ];
  return row(
    `${name} ${index}`,
    cells.map((content, column) => {
      const title = titles[column] ?? '';
      return { title, number: numericTitles.has(title), content };
    }),
  );
}

/**
 * @param {FleetGateway} gateway
 * @param {number} now
 */
function stateOf({ state, heard, ready }, now) {
  if (state === 'heard' && !ready) return el('span', { class: 'state between' }, 'Not ready');
  if (state === 'heard') return el('span', { class: 'state good' }, 'Heard');
  if (state === 'left') return 'Left';
  if (state === 'gone') return 'Gone';
  const silence = heard === null ? 'Never heard' : `Not heard for ${period(Math.max(0, now - Date.parse(heard)))}`;
  return el('span', { class: 'state bad' }, silence);
}

/** @param {FleetGateway} gateway */
function remarks({ state, problem, clock_differs: differs, clock_skew_ms: skew, gone_reason: reason }) {
  const clock = differs ? `its clock is ${period(Math.abs(skew))} ${skew > 0 ? 'ahead' : 'behind'}` : null;
  const texts = [state === 'left' ? null : problem, clock, reason].filter((text) => text !== null);
  return texts.length > 0 && el('small', {}, texts.join(' · '));
}
