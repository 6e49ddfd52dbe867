import type { FleetJson, GatewayJson } from '../../../operate/fleet/fleetJson.ts';
import { type Paint, tableAsText } from '../../../shared/document.ts';
import { ago, inLargestUnit, printable, withCommas } from '../../../shared/text.ts';

const colours = { heard: 'green', silent: 'red' } as const;

export function fleetAsText({ problem, now, gateways }: FleetJson, paint: Paint, width?: number): string {
  const storeTime = now === null ? 0 : Date.parse(now);
  const lines: string[] = [];
  if (problem !== null) {
    lines.push(paint('red', `the shared store does not answer: ${printable(problem)}`));
    if (now !== null) lines.push(`  the states are those of its last answer, ${printable(now)}`);
    lines.push('');
  }
  return `${[...lines, ...gatewayLines(gateways, storeTime, paint, width)].join('\n')}\n`;
}

/** A table of the gateways, and remarks on some of them. `now`: the time of the store, epoch ms. */
function gatewayLines(gateways: readonly GatewayJson[], now: number, paint: Paint, width?: number): string[] {
  if (gateways.length === 0) return ['  no gateway was heard yet'];
  const heading = ['name', 'state', 'heard', 'release', 'configuration', 'in flight', 'spooled', 'clock'];
  const rows = gateways.map((one) => [
    printable(one.name),
    printable(one.state),
    one.heard === null ? 'never' : ago(Date.parse(one.heard), now),
    printable(one.release ?? ''),
    `${printable(one.config ?? '')}${one.config_differs ? ' differs' : ''}`,
    one.state === 'heard' ? withCommas(one.in_flight) : '-',
    one.heard === null ? '-' : withCommas(one.spooled),
    one.clock_differs ? clockInWords(one.clock_skew_ms) : '',
  ]);
  const [head = '', ...lines] = tableAsText([heading, ...rows], width);
  // A name may contain the word of a state, so only the text from this column on is searched.
  const stateColumn = head.indexOf('state');
  const coloured = lines.map((line, index) => {
    const state = gateways[index]?.state;
    if (state !== 'heard' && state !== 'silent') return line;
    return line.slice(0, stateColumn) + line.slice(stateColumn).replace(state, paint(colours[state], state));
  });
  const remarks = gateways.flatMap((one) => remarksOn(one, now)).map((line) => paint('yellow', line));
  return [head, ...coloured, ...(remarks.length > 0 ? ['', ...remarks] : [])];
}

function remarksOn(gateway: GatewayJson, now: number): string[] {
  const { state, problem, config_differs: differs, config_since: since } = gateway;
  const name = printable(gateway.name);
  const remarks: string[] = [];
  if (gateway.heard === null) remarks.push(`${name} is in fleet.members, but no gateway was heard from this address`);
  if (state === 'heard' && !gateway.ready) remarks.push(`${name} is not ready`);
  if (state !== 'left' && problem !== null) remarks.push(`${name}: ${printable(problem)}`);
  if (differs)
    remarks.push(
      `${name} announces other versions, dates or successors than most gateways${since === null ? '' : `, for ${inLargestUnit(Math.max(0, now - Date.parse(since)))}`}`,
    );
  if (gateway.clock_differs) remarks.push(`${name}: its clock is ${clockInWords(gateway.clock_skew_ms)}`);
  if (gateway.gone_reason !== null) remarks.push(`${name} is gone: ${printable(gateway.gone_reason)}`);
  return remarks;
}

function clockInWords(skewMs: number): string {
  return `${inLargestUnit(Math.abs(skewMs))} ${skewMs > 0 ? 'ahead' : 'behind'}`;
}

/** One line for `status`: `fleet: 2 of 3 gateways are heard; gw-3 silent`. */
export function fleetSummary({ problem, gateways }: FleetJson): string {
  const current = gateways.filter(({ state }) => state === 'heard' || state === 'silent');
  const silent = current.filter(({ state }) => state === 'silent').map(({ name }) => `${printable(name)} silent`);
  const differing = current.filter((one) => one.config_differs).map(({ name }) => `${printable(name)} differs`);
  const spooled = current.reduce((sum, one) => sum + one.spooled, 0);
  const waiting = spooled === 0 ? '' : `, ${withCommas(spooled)} rows of counts wait for it`;
  const store = problem === null ? [] : [`the store does not answer (${printable(problem)})${waiting}`];
  const heard = `${current.length - silent.length} of ${current.length} gateways are heard`;
  return [`fleet: ${heard}`, ...silent, ...differing, ...store].join('; ');
}
