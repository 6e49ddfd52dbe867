import { type Fault, formatFault } from '../config/fault.ts';
import type { Snapshot } from '../config/snapshot.ts';
import type { ConfigResult } from '../config/validate.ts';
import { stageOf } from '../lifecycle/stage.ts';
import { successorOf } from '../lifecycle/successor.ts';
import type { ReloadOutcome } from '../runtime/reload.ts';
import { plural } from '../shared/text.ts';
import { frame } from './frame.ts';
import type { Paint } from './paint.ts';
import { date, table } from './table.ts';

export interface CheckReport {
  readonly file: string;
  readonly text: string;
  readonly verdict: ConfigResult;
  readonly now: number;
}

/** The Compose project that a file was held against; null for what is not known. */
export interface ComposeFacts {
  readonly files: readonly string[];
  readonly project: string;
  readonly gateway: string | null;
  readonly running: readonly string[] | null;
}

/** For people. */
export function asText({ file, text, verdict, now }: CheckReport, paint: Paint): string {
  const { snapshot, faults, warnings } = verdict;
  const blocks = [
    ...faults.map((fault) => block(fault, text, paint, 'red').join('\n')),
    ...warnings.map((warning) => block(warning, text, paint, 'yellow').join('\n')),
  ];
  if (!snapshot) {
    const heading = paint('red', `${file} cannot be served: ${plural(faults.length, 'fault')}.`);
    return `${blocks.join('\n\n')}\n\n${heading}\n`;
  }
  const heading =
    warnings.length === 0
      ? paint('green', `${file} is fine.`)
      : paint('yellow', `${file}: ${plural(warnings.length, 'warning')}.`);
  return `${[...blocks, [heading, ...overview(snapshot, now)].join('\n')].join('\n\n')}\n`;
}

/** For programs; `running` is what the gateway that was asked would do. */
export function asJson({ file, verdict, now }: CheckReport, running?: ReloadOutcome, compose?: ComposeFacts): string {
  const { snapshot, faults, warnings } = verdict;
  const versions = snapshot ? summaries(snapshot, now) : [];
  const ok = faults.length === 0;
  return `${JSON.stringify({ file, ok, faults, warnings, versions, compose, running }, null, 2)}\n`;
}

export function block(fault: Fault, text: string, paint: Paint, style: 'red' | 'yellow'): string[] {
  const [head = '', ...body] = formatFault(fault).split('\n');
  const lines = fault.line === undefined ? [] : frame(text, fault.line, fault.column ?? 1);
  const label = style === 'yellow' ? `${paint(style, head)}  warning` : paint(style, head);
  return [label, ...body, ...lines.map((line) => paint('dim', line))];
}

interface Summary {
  readonly version: string;
  readonly stage: string;
  readonly deprecation?: string;
  readonly sunset?: string;
  readonly targets: number;
  readonly successor?: string;
}

export function summaries(snapshot: Snapshot, now: number): Summary[] {
  return snapshot.byMajor.map((version) => {
    const successor = successorOf(version, snapshot, now);
    return {
      version: `/${version.name}`,
      stage: stageOf(version, now),
      ...(version.deprecation === undefined ? {} : { deprecation: date(version.deprecation) }),
      ...(version.sunset === undefined ? {} : { sunset: date(version.sunset) }),
      targets: version.targets.length,
      ...(successor ? { successor: `/${successor.name}` } : {}),
    };
  });
}

export function overview(snapshot: Snapshot, now: number): string[] {
  return table(
    summaries(snapshot, now).map((summary) => [
      summary.version,
      summary.stage,
      `${summary.targets} target${summary.targets === 1 ? '' : 's'}`,
      summary.deprecation ? `deprecation ${summary.deprecation}` : '',
      summary.sunset ? `sunset ${summary.sunset}` : '',
      summary.successor ? `successor ${summary.successor}` : '',
    ]),
  );
}
