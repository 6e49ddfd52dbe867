import type { StatusJson, TargetJson, VersionJson } from '../../../operate/admin/statusJson.ts';
import { type Paint, tableAsText } from '../../../shared/document.ts';
import { dateText } from '../../../shared/instant.ts';
import { ago, plural, printable } from '../../../shared/text.ts';
import { undoLines } from '../../../versions/editWatch/watchStatus.ts';
import { waiverWords } from '../../../versions/lifecycle/stage.ts';
import { fleetSummary } from './fleetText.ts';

/**
 * A line for each worker that does not respond: its current counts are unknown. A gateway of an earlier release lists no workers.
 */
export function unresponsiveWorkers({ workers = [] }: StatusJson): string[] {
  return workers
    .filter(({ unresponsive_since }) => typeof unresponsive_since === 'string')
    .map(({ pid, unresponsive_since }) => `worker ${pid} has not answered since ${unresponsive_since}`);
}

const triggerTexts: Readonly<Record<string, string>> = {
  start: 'at the start',
  file: 'after an edit of the file',
  signal: 'by SIGHUP',
  admin: 'by the admin API',
};

export function statusAsText(status: StatusJson, now: number, paint: Paint, width = Number.POSITIVE_INFINITY): string {
  const { config, versions, usage } = status;
  const lines = [
    ...configLines(config, now, paint),
    ...editWatchLines(status.edit_watch, paint),
    ...unresponsiveWorkers(status).map((line) => paint('yellow', `${printable(line)}: its counts are from that time`)),
    ...usageLines(usage, paint),
    ...fleetLines(status.fleet, paint),
    ...freezeLines(status.freezes, paint),
    '',
    ...versionLines(versions, now, width),
    ...waiverLines(versions),
    ...adapterLines(versions, now, paint),
  ];
  return `${[...lines, ...alarms(versions, paint)].join('\n')}\n`;
}

function configLines(config: StatusJson['config'], now: number, paint: Paint): string[] {
  const { fingerprint, generation, loaded_at: loaded, trigger, last_failure: failure } = config;
  const id = printable(fingerprint.slice(0, 12));
  const lines = [
    `configuration ${id}, generation ${generation}, loaded ${ago(Date.parse(loaded), now)} ${triggerText(trigger)}`,
  ];
  if (!failure) return lines;
  const heading = `the reload ${triggerText(failure.trigger)} was rejected ${ago(Date.parse(failure.at), now)}:`;
  const reasons = failure.reasons.flatMap((reason) => reason.split('\n').map((line) => `  ${printable(line)}`));
  return [...lines, paint('yellow', heading), ...reasons];
}

/** What became of the requests since the last edits: first the versions whose share of lost requests has jumped. */
function editWatchLines(watches: StatusJson['edit_watch'] = [], paint: Paint): string[] {
  const jumped = watches.filter((watch) => watch.jumped === 'yes');
  const others = watches.filter((watch) => watch.jumped !== 'yes');
  return [
    ...jumped.flatMap((watch) => {
      const text = printable(watch.text);
      if (watch.state === 'recovered') return [`${text}. It is as before again.`];
      return [paint('red', `${text}.`), ...undoLines(watch).map(printable)];
    }),
    ...others.map(({ text, known, state }) => {
      const line = `${printable(text)}.`;
      return known || state === 'watching' ? line : paint('yellow', line);
    }),
  ];
}

/** Empty while the ledger works. */
function usageLines(usage: StatusJson['usage'], paint: Paint): string[] {
  if (!usage || (usage.problem === null && usage.held_rows === 0)) return [];
  const { problem, held_rows: unwrittenRows } = usage;
  const waiting = unwrittenRows === 0 ? '' : `  ${plural(unwrittenRows, 'row')} in memory now.`;
  return [paint('yellow', `usage ledger: ${printable(problem ?? 'pending rows are being written.')}${waiting}`)];
}

function fleetLines(fleet: StatusJson['fleet'], paint: Paint): string[] {
  if (!fleet) return [];
  const isInAgreement = fleet.problem === null && fleet.config_skew === 0;
  const areAllHeard = fleet.gateways.every(({ state }) => state !== 'silent');
  const summary = fleetSummary(fleet);
  const lines = [isInAgreement && areAllHeard ? summary : paint('yellow', summary)];
  if (fleet.refusal === null) return lines;
  const heading = 'not ready, because routes.yaml breaks what the fleet has announced:';
  return [...lines, paint('red', heading), ...fleet.refusal.map((line) => `  ${printable(line)}`)];
}

function freezeLines(freezes: StatusJson['freezes'] = [], paint: Paint): string[] {
  return freezes.map(({ version, from, mode, state, reason, known_clients: known, new_clients: newClients }) => {
    const name = printable(`/${version}`);
    if (state === 'inactive')
      return paint('yellow', `the freeze of ${name} is inactive and refuses nobody: ${printable(reason ?? '')}`);
    if (state === 'reading') return `the freeze of ${name} is not active yet: its known clients are being read`;
    if (state !== 'active') return `${name} will be frozen from ${printable(from)} on`;
    const action = mode === 'refuse' ? 'refused' : 'reported';
    const counts = `${plural(known ?? 0, 'known client')}, ${plural(newClients, 'new client')} ${action}`;
    return `${name} is frozen since ${printable(from)}: ${counts}`;
  });
}

function triggerText(trigger: string): string {
  return triggerTexts[trigger] ?? `by ${printable(trigger)}`;
}

function versionLines(versions: readonly VersionJson[], now: number, width: number): string[] {
  if (versions.length === 0) return ['  no versions'];
  const heading = ['version', 'stage', 'deprecation', 'sunset', 'in flight now', 'waiting now', 'last served'];
  const rows = versions.map((one) => [
    printable(`/${one.version}`),
    printable(one.stage),
    one.deprecation === null ? '-' : dateText(Date.parse(one.deprecation)),
    one.sunset === null ? '-' : dateText(Date.parse(one.sunset)),
    String(one.in_flight),
    String(one.waiting),
    one.last_served === null ? 'not since start' : ago(Date.parse(one.last_served), now),
  ]);
  const [head = '', ...lines] = tableAsText([heading, ...rows], width);
  const targets = versions.map((one) =>
    tableAsText(
      one.targets.map((target) => targetCells(target, now)),
      width - 4,
    ),
  );
  return [head, ...lines.flatMap((line, index) => [line, ...(targets[index] ?? []).map((target) => `    ${target}`)])];
}

/** `/v1 is retired, and still served for 1 waived client: acme until 2027-09-01` */
function waiverLines(versions: readonly VersionJson[]): string[] {
  const lines = versions.flatMap((one) => {
    const words = waivedClientsText(one);
    return words === undefined ? [] : [`/${printable(one.version)} is retired, and still served for ${words}`];
  });
  return lines.length > 0 ? ['', ...lines] : [];
}

/** `/v1 is served by an adapter from /v2`, and its failures. */
function adapterLines(versions: readonly VersionJson[], now: number, paint: Paint): string[] {
  const lines = versions.flatMap(({ version, adapter }) => {
    if (adapter?.mode !== 'serve') return [];
    const name = printable(`/${version}`);
    const failures = adapter.failures.map(({ route, count, pointer, at }) => {
      const place = pointer === '' ? 'the whole body' : printable(pointer);
      const responses = `${plural(count, 'response')} of ${printable(route)}`;
      return paint(
        'red',
        `  ${responses} could not be adapted since the adapter was loaded: ${place}, last ${ago(Date.parse(at), now)}`,
      );
    });
    const { not_adapted: notAdaptedCount = 0 } = adapter;
    const notAdaptedLines =
      notAdaptedCount === 0
        ? []
        : [
            `  ${plural(notAdaptedCount, 'request')} to routes that the adapter does not serve since it was loaded: 410`,
          ];
    return [`${name} is served by an adapter from /${printable(adapter.from)}`, ...failures, ...notAdaptedLines];
  });
  return lines.length > 0 ? ['', ...lines] : [];
}

/** Undefined: the version serves no waived client. */
export function waivedClientsText({ waivers = [] }: VersionJson): string | undefined {
  return waiverWords(waivers.map(({ client, until }) => ({ client, until: Date.parse(until) })));
}

function targetCells(target: TargetJson, now: number): string[] {
  return [
    printable(target.url),
    printable(healthInWords(target)),
    `${target.in_flight} in flight now`,
    `${plural(target.connections, 'connection')} now`,
    lastError(target, now),
  ];
}

function healthInWords({ health, failing_since: since, ejected_until: until, reachable }: TargetJson): string {
  if (health === 'not tried') return 'not tried yet';
  if (health === 'healthy') return health;
  const sinceText = health === 'failing' && since ? ` since ${since}` : '';
  const untilText = health === 'ejected' && until !== null ? ` until ${until}` : '';
  return `${health}${sinceText}${untilText}${reachable === false ? ', unreachable' : ''}`;
}

/** Empty for a healthy target. */
function lastError({ health, last_error: message, last_error_at: at }: TargetJson, now: number): string {
  if (!message || health === 'healthy') return '';
  return `${printable(message)}${at ? `, ${ago(Date.parse(at), now)}` : ''}`;
}

function alarms(versions: readonly VersionJson[], paint: Paint): string[] {
  const lines = versions.filter((one) => one.unreachable).map((one) => paint('red', printable(alarm(one))));
  return lines.length > 0 ? ['', ...lines] : [];
}

function alarm({ version, stopped_before_retired: stopped }: VersionJson): string {
  if (!stopped) return `no target of /${version} can be reached: its clients get errors.`;
  const remedy = `Start it again, or set retired: true for /${version} in routes.yaml.`;
  return `/${version} was stopped before it was retired: its clients get errors.  ${remedy}`;
}
