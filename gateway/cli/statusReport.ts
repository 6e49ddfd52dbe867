import { printable } from '../config/fault.ts';
import { ago } from './ago.ts';
import type { Paint } from './paint.ts';
import { type RunningStatus, type RunningTarget, type RunningVersion, unresponsiveWorkers } from './runningStatus.ts';
import { date, table } from './table.ts';

const triggers: Readonly<Record<string, string>> = {
  start: 'at the start',
  file: 'by an edit of the file',
  signal: 'by SIGHUP',
  admin: 'through the admin listener',
};

/** For people. */
export function statusAsText(
  status: RunningStatus,
  now: number,
  paint: Paint,
  width = Number.POSITIVE_INFINITY,
): string {
  const { config, versions, usage } = status;
  const lines = [
    ...configLines(config, now, paint),
    ...unresponsiveWorkers(status).map((line) => paint('yellow', `${printable(line)}: its counts are those of then`)),
    ...usageLines(usage, paint),
    '',
    ...versionLines(versions, now, width),
  ];
  return `${[...lines, ...alarms(versions, paint)].join('\n')}\n`;
}

function configLines(config: RunningStatus['config'], now: number, paint: Paint): string[] {
  const { fingerprint, generation, loaded_at: loaded, trigger, last_failure: failure } = config;
  const id = printable(fingerprint.slice(0, 12));
  const lines = [`configuration ${id}, generation ${generation}, loaded ${ago(loaded, now)} ${how(trigger)}`];
  if (!failure) return lines;
  const heading = `an edit was not taken over ${ago(failure.at, now)}, tried ${how(failure.trigger)}:`;
  const reasons = failure.reasons.flatMap((reason) => reason.split('\n').map((line) => `  ${printable(line)}`));
  return [...lines, paint('yellow', heading), ...reasons];
}

/** Only when something is wrong. */
function usageLines(usage: RunningStatus['usage'], paint: Paint): string[] {
  if (!usage || (usage.problem === null && usage.held_rows === 0)) return [];
  const { problem, held_rows: held } = usage;
  const waiting = held === 0 ? '' : `  ${held} row${held === 1 ? ' waits' : 's wait'} in memory.`;
  return [paint('yellow', `usage ledger: ${printable(problem ?? 'what waited is being written.')}${waiting}`)];
}

function how(trigger: string): string {
  return triggers[trigger] ?? `by ${printable(trigger)}`;
}

function versionLines(versions: readonly RunningVersion[], now: number, width: number): string[] {
  if (versions.length === 0) return ['  no versions'];
  const heading = ['version', 'stage', 'deprecation', 'sunset', 'in flight', 'waiting', 'last served'];
  const rows = versions.map((one) => [
    printable(`/${one.version}`),
    printable(one.stage),
    one.deprecation === null ? '-' : date(Date.parse(one.deprecation)),
    one.sunset === null ? '-' : date(Date.parse(one.sunset)),
    String(one.in_flight),
    String(one.waiting),
    one.last_served === null ? 'not since the start' : ago(one.last_served, now),
  ]);
  const [head = '', ...lines] = table([heading, ...rows], width);
  const targets = versions.map((one) =>
    table(
      one.targets.map((target) => targetCells(target, now)),
      width - 4,
    ),
  );
  return [head, ...lines.flatMap((line, index) => [line, ...(targets[index] ?? []).map((target) => `    ${target}`)])];
}

function targetCells(target: RunningTarget, now: number): string[] {
  const until = target.ejected_until === null ? '' : ` until ${printable(target.ejected_until)}`;
  const isUnreached = target.reachable === false && target.health !== 'unreachable';
  return [
    printable(target.url),
    `${printable(target.health)}${until}${isUnreached ? ', unreachable' : ''}`,
    `${target.in_flight} in flight`,
    `${target.connections} connection${target.connections === 1 ? '' : 's'}`,
    lastError(target, now),
  ];
}

/** Only of a target that is down. */
function lastError({ health, last_error: message, last_error_at: at }: RunningTarget, now: number): string {
  if (!message || health === 'healthy') return '';
  return `${printable(message)}${at ? `, ${ago(at, now)}` : ''}`;
}

function alarms(versions: readonly RunningVersion[], paint: Paint): string[] {
  const lines = versions.filter((one) => one.unreachable).map((one) => paint('red', printable(alarm(one))));
  return lines.length > 0 ? ['', ...lines] : [];
}

function alarm({ version, stopped_before_retired: stopped }: RunningVersion): string {
  if (!stopped) return `no target of /${version} can be reached: its clients get errors.`;
  const remedy = `Start it again, or set retired: true for /${version} in routes.yaml.`;
  return `/${version} was stopped before it was retired: its clients get errors.  ${remedy}`;
}
