import { type Fault, formatFault, isSecret, maskLine } from '../../../config/fault.ts';
import type { Snapshot } from '../../../config/snapshot.ts';
import type { ConfigResult } from '../../../config/validate.ts';
import type { ReloadOutcome } from '../../../operate/admin/adminApi.ts';
import { type Paint, tableAsText } from '../../../shared/document.ts';
import { dateText } from '../../../shared/instant.ts';
import { plural, printable, shortened } from '../../../shared/text.ts';
import { refusalLines } from '../../../versions/lifecycle/reloadGuard.ts';
import { stageOf, successorOf } from '../../../versions/lifecycle/stage.ts';
import { hasLoss, type Plan } from '../../../versions/plan/plan.ts';
import { printedJson } from './terminal.ts';

export interface CheckReport {
  readonly file: string;
  readonly text: string;
  readonly result: ConfigResult;
  readonly now: number;
}

/** The Compose project that the file was compared with. Unknown values are null. */
export interface ComposeFacts {
  readonly files: readonly string[];
  readonly project: string;
  readonly gateway: string | null;
  readonly running: readonly string[] | null;
  /** Facts that are correct, but that the operator may not expect. */
  readonly notes: readonly Fault[];
}

/** The result of a comparison with Compose files. */
export interface ComposeCheck {
  readonly result: ConfigResult;
  readonly facts: ComposeFacts;
  /** `Fault.file` → the text of the Compose file. */
  readonly texts: ReadonlyMap<string, string>;
}

export function checkAsText(report: CheckReport, paint: Paint, compose?: ComposeCheck): string {
  const { file, text, result, now } = report;
  const { snapshot, faults, warnings } = result;
  const blockOf =
    (style: FindingStyle) =>
    (fault: Fault): string => {
      const isInOther = compose !== undefined && fault.file !== file;
      const faultyText = isInOther ? withoutSecrets(compose.texts.get(fault.file ?? '') ?? '', fault.line) : text;
      return faultBlock(fault, faultyText, paint, style).join('\n');
    };
  const blocks = [
    ...faults.map(blockOf('red')),
    ...warnings.map(blockOf('yellow')),
    ...(compose?.facts.notes.map(blockOf('dim')) ?? []),
  ];
  const style = faults.length > 0 ? 'red' : warnings.length > 0 ? 'yellow' : 'green';
  const heading = paint(style, compose ? matchInWords(report, compose) : validityInWords(report));
  const gateway = compose?.facts.gateway ?? null;
  const service = gateway === null ? [] : [`  in the environment of the service \`${gateway}\``];
  return `${[...blocks, [heading, ...service, ...(snapshot ? overview(snapshot, now) : [])].join('\n')].join('\n\n')}\n`;
}

function validityInWords({ file, result: { faults, warnings } }: CheckReport): string {
  if (faults.length > 0) return `${file} is not valid: ${plural(faults.length, 'fault')}.`;
  return warnings.length === 0 ? `${file} is valid.` : `${file}: ${plural(warnings.length, 'warning')}.`;
}

function matchInWords({ file, result: { faults, warnings } }: CheckReport, { facts }: ComposeCheck): string {
  const counts = [
    ...(faults.length > 0 ? [plural(faults.length, 'fault')] : []),
    ...(warnings.length > 0 ? [plural(warnings.length, 'warning')] : []),
  ].join(', ');
  const match = faults.length > 0 ? 'do not match' : 'match';
  return `${file} and ${facts.files.join(', ')} ${match}${counts === '' ? '' : `: ${counts}`}.`;
}

/** Empty if the line may contain a secret. `maskLine` would not hide a secret in a list item such as `- ADMIN_TOKEN=…`. */
function withoutSecrets(text: string, line = 1): string {
  const lines = text.split(/\r\n?|\n/);
  // `isSecret` takes a key with a slash for a URL path, which is no secret.
  return isSecret([(lines[line - 1] ?? '').replaceAll('/', '')]) ? '' : text;
}

/** Which clients would lose requests, or why this is not known. */
export type CheckedPlan = Plan | { readonly problem: string };

/** Whether the guard refuses the edit only because calls may be missing. */
export function isOnlyUnknown(outcome: ReloadOutcome): boolean {
  return outcome.kind === 'refused' && outcome.refusals.every(({ known }) => known === false);
}

/** The summary of a plan, one item per line. */
export function planInWords(plan: CheckedPlan | undefined, paint: Paint): string[] {
  if (plan === undefined) return [];
  if ('problem' in plan) return [`It is not known which clients would lose requests: ${printable(plan.problem)}`];
  const summary = printable(plan.summary);
  const isLoss = hasLoss(plan);
  // Without a loss, the summary does not say why it is not known.
  const isUnknown = !isLoss && !plan.known;
  const warnings = plan.notes
    .filter(({ code }) => isUnknown || code === 'waiver_unseen' || code === 'freeze_inactive')
    .map(({ text }) => paint('yellow', printable(text)));
  return isLoss
    ? [paint('red', summary), 'version-gateway plan lists these clients and their routes.', ...warnings]
    : [isUnknown ? paint('yellow', summary) : summary, ...warnings];
}

/**
 * @param answer.ok whether the command exits 0 @param answer.known whether it does not exit 3; it may also name the gateway that was asked
 * @param running what a reload of the running gateway would do
 */
export function checkAsJson(
  { file, result, now }: CheckReport,
  answer: { readonly ok: boolean; readonly known: boolean },
  running?: ReloadOutcome,
  plan?: CheckedPlan,
  compose?: ComposeFacts,
): string {
  const { snapshot, faults, warnings } = result;
  const versions = snapshot ? summaries(snapshot, now) : [];
  return printedJson({ file, ...answer, faults, warnings, versions, compose, running, plan });
}

/** What a reload would do, one item per line. */
export function previewInWords(outcome: ReloadOutcome, paint: Paint): string[] {
  switch (outcome.kind) {
    case 'unchanged':
      return [paint('green', 'A reload of the running gateway would change nothing.')];
    case 'faulty': {
      const heading =
        'The running gateway would reject this file. With its environment and folder, the file has these faults:';
      return [paint('red', heading), ...indented(outcome.faults)];
    }
    case 'refused': {
      const [style, why] = isOnlyUnknown(outcome)
        ? (['yellow', 'it is not known whether clients would lose requests'] as const)
        : (['red', 'it would break clients'] as const);
      const heading = `The running gateway would refuse this edit, because ${why}:`;
      return [paint(style, heading), ...indented(refusalLines(outcome.refusals))];
    }
    case 'incomplete':
    case 'reloaded': {
      const changes = outcome.changes.map((change) => `would change: ${change}`);
      const forced = outcome.forced.map((reason) => `would be forced: ${reason}`);
      const lines = [...changes, ...forced];
      const warnings = indented((outcome.warnings ?? []).map((one) => `warning: ${one}`));
      const noChange = 'would change nothing that a client can see';
      return [
        paint('green', 'The running gateway would accept this file.'),
        ...indented(lines.length > 0 ? lines : [noChange]),
        ...warnings.map((line) => paint('yellow', line)),
      ];
    }
  }
}

/** Indents texts, each of one or several lines. They come from another process, so control characters are escaped. */
function indented(texts: readonly string[]): string[] {
  return texts.flatMap((text) => text.split('\n').map((line) => `  ${printable(line)}`));
}

/** The style of a fault, of a warning and of a note. */
type FindingStyle = 'red' | 'yellow' | 'dim';

function faultBlock(fault: Fault, text: string, paint: Paint, style: FindingStyle): string[] {
  const [head = '', ...body] = formatFault(fault).split('\n');
  const lines = fault.line === undefined ? [] : codeFrame(text, fault.line, fault.column ?? 1);
  const level = { red: '', yellow: '  warning', dim: '  note' }[style];
  const label = `${paint(style, head)}${level}`;
  return [label, ...body, ...lines.map((line) => paint('dim', line))];
}

interface Summary {
  readonly version: string;
  readonly stage: string;
  readonly deprecation?: string;
  readonly sunset?: string;
  readonly targets: number;
  /** The version whose backend answers through an adapter. */
  readonly served_from?: string;
  readonly successor?: string;
}

function summaries(snapshot: Snapshot, now: number): Summary[] {
  return snapshot.sortedVersions.map((version) => {
    const successor = successorOf(version, snapshot, now);
    return {
      version: `/${version.name}`,
      stage: stageOf(version, now),
      ...(version.deprecation === undefined ? {} : { deprecation: dateText(version.deprecation) }),
      ...(version.sunset === undefined ? {} : { sunset: dateText(version.sunset) }),
      targets: version.targets.length,
      ...(version.adapter?.mode === 'serve' ? { served_from: `/${version.adapter.from}` } : {}),
      ...(successor ? { successor: `/${successor.name}` } : {}),
    };
  });
}

function overview(snapshot: Snapshot, now: number): string[] {
  return tableAsText(
    summaries(snapshot, now).map((summary) => [
      summary.version,
      summary.stage,
      summary.served_from
        ? `adapter from ${summary.served_from}`
        : `${summary.targets} target${summary.targets === 1 ? '' : 's'}`,
      summary.deprecation ? `deprecation ${summary.deprecation}` : '',
      summary.sunset ? `sunset ${summary.sunset}` : '',
      summary.successor ? `successor ${summary.successor}` : '',
    ]),
  );
}

// The most characters of a line of code that are shown.
const longestLine = 160;

/**
 * The line of a fault, with a caret under its column. Secrets are masked, also if they span several lines. The caret
 * is omitted if masking has changed the text before its column.
 */
export function codeFrame(text: string, line: number, column: number): string[] {
  const lines = text.split(/\r\n?|\n/);
  const raw = lines[line - 1];
  if (raw === undefined || raw.trim() === '') return [];
  const shown = continuesSecret(lines, line - 1) ? '***' : printableLine(maskLine(raw, isBelowNotify(lines, line - 1)));
  const before = raw.slice(0, column - 1);
  const lineNumber = String(line);
  const codeLine = `  ${lineNumber} | ${shortened(shown, longestLine)}`;
  if (!shown.startsWith(printableLine(before)) || column > longestLine) return [codeLine];
  return [codeLine, `  ${' '.repeat(lineNumber.length)} | ${' '.repeat(printableLine(before).length)}^`];
}

function printableLine(line: string): string {
  return printable(line.replaceAll('\t', ' '));
}

/** Whether the line belongs to the value of a secret key on an earlier line, such as `admin_token:`. */
function continuesSecret(lines: readonly string[], index: number): boolean {
  const indent = indentOf(lines[index] ?? '');
  const parentLine = lines.slice(0, index).findLast((line) => line.trim() !== '' && indentOf(line) < indent);
  if (parentLine === undefined) return false;
  const [, beforeKey = '', key = ''] = /^([\s-]*)["']?([\w-]+)["']?\s*:/.exec(parentLine) ?? [];
  const isWebhookKey = key !== '' && key !== 'notify' && beforeKey.length < indent && isBelowNotify(lines, index);
  return isSecret([/^[^:]*/.exec(parentLine)?.[0] ?? '']) || (isWebhookKey && isSecret(['notify', 0, key]));
}

/** Whether the line is below `notify`: every key between the two is indented more than `notify`. */
function isBelowNotify(lines: readonly string[], index: number): boolean {
  const before = lines.slice(0, index + 1);
  const notifyIndex = before.findLastIndex((line) => /(?<![\w-])notify["']?\s*:/.test(line));
  const indent = indentOf(before[notifyIndex] ?? '');
  return (
    notifyIndex >= 0 &&
    !before.slice(notifyIndex + 1).some((line) => indentOf(line) <= indent && /^\s*["']?\w/.test(line))
  );
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
